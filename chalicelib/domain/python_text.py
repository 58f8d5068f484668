"""A script as far as it can be known without running it."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from chalicelib.domain.errors import BadPlace

GRAMMAR = (3, 11)
"""The Python the workers run."""


@dataclass(frozen=True)
class Module:
    """The names a module defines at its top level; ``open`` when it may define more (a star import, ``__getattr__``)."""

    names: frozenset[str]
    coroutines: Mapping[str, int]
    """Names defined by ``async def`` → line."""
    open: bool

    def may_have(self, name: str) -> bool:
        """False only when the name is certainly not there."""
        return self.open or name in self.names

    def nearest(self, name: str) -> str | None:
        """The defined name that is spelled most like it."""
        return next(iter(get_close_matches(name, sorted(self.names), 1)), None)


def read_module(source: bytes, path: str) -> Module:
    """What the module defines. Not Python 3.11: BadPlace with line and column."""
    names, coroutines, more = set[str](), dict[str, int](), False
    for node in _top_level(_parse(source, path)):
        if isinstance(node, ast.AsyncFunctionDef):
            coroutines[node.name] = node.lineno
        found = set(_defined(node))
        names |= found
        more = more or bool(found & {"*", "__getattr__"}) or _writes_globals(node)
    return Module(frozenset(names - {"*"}), coroutines, more)


def constructor_arguments(source: bytes, name: str) -> frozenset[str]:
    """The names that a class of the module declares in its own ``__init__``; none when that cannot be read."""
    try:
        tree = _parse(source, "")
    except BadPlace:
        return frozenset()
    classes = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    makers = (each for node in classes for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__")
    return frozenset(argument.arg for maker in makers for argument in (*maker.args.args, *maker.args.kwonlyargs))


def _parse(source: bytes, path: str) -> ast.Module:
    try:
        return ast.parse(source, path, feature_version=GRAMMAR)
    except SyntaxError as error:
        at = f" (line {error.lineno})" if error.lineno else ""
        message = f"{path} is not Python 3.11: {error.msg}{at}"
        raise BadPlace(message, path=path, line=error.lineno, column=error.offset or None) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise BadPlace(f"{path} is not Python: {error or 'it is nested too deeply'}", path=path, line=1) from error


def _top_level(node: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs when the module is imported, in order: not what lies inside functions and classes."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _top_level(child)


def _defined(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store()):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in aliases)
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
            yield name
        case _:
            pass


def _writes_globals(node: ast.AST) -> bool:
    """``globals()[…] = …`` and ``globals().update(…)`` define what only running can tell."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("globals", "exec")
