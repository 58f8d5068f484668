"""JSON of the API → the frozen dataclasses of shapes.py. Fields this version does not know are ignored."""

import types
import typing
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

from tutti_fl.errors import TuttiError

T = TypeVar("T")


def decode(shape: type[T], value: object) -> T:
    """The value as this shape; a TuttiError ``bad_answer`` names the field that is missing or of another type."""
    try:
        return typing.cast(T, _decode(shape, value, shape.__name__))
    except (TypeError, ValueError, ArithmeticError) as error:
        hint = "The API and this client are of different versions: upgrade tutti-fl."
        raise TuttiError("bad_answer", f"the API's answer is not what was expected: {error}", hint) from error


def _decode(shape: Any, value: Any, where: str) -> Any:
    origin = typing.get_origin(shape)
    if origin in (types.UnionType, typing.Union):
        return _union(typing.get_args(shape), value, where)
    if origin is tuple:
        return tuple(_decode(typing.get_args(shape)[0], item, where) for item in _of(list, value, where))
    if origin is dict:
        items = _of(dict, value, where).items()
        return {key: _decode(typing.get_args(shape)[1], item, f"{where}.{key}") for key, item in items}
    if is_dataclass(shape):
        return _record(shape, _of(dict, value, where), where)
    return _scalar(shape, value, where)


def _union(options: tuple[Any, ...], value: Any, where: str) -> Any:
    """``X | None`` by None, a union of records by their ``kind``; a kind this version does not know is the last option."""
    some = [option for option in options if option is not types.NoneType]
    if value is None and len(some) < len(options):
        return None
    if len(some) == 1:
        return _decode(some[0], value, where)
    kind = _of(dict, value, where).get("kind")
    return _decode(next((o for o in some if getattr(o, "kind", None) == kind), some[-1]), value, where)


def _record(shape: Any, value: dict[str, Any], where: str) -> Any:
    hints = typing.get_type_hints(shape)
    return shape(
        **{
            field.name: _decode(hints[field.name], value[field.name], f"{where}.{field.name}")
            for field in fields(shape)
            if field.init and _is_there(field, value, where)
        }
    )


def _is_there(field: Field[Any], value: dict[str, Any], where: str) -> bool:
    if field.name in value:
        return True
    if field.default is MISSING and field.default_factory is MISSING:
        raise ValueError(f"{where}.{field.name} is missing")
    return False


def _scalar(shape: Any, value: Any, where: str) -> Any:
    if shape is datetime:
        return datetime.fromisoformat(_of(str, value, where))
    if shape is Decimal:
        return Decimal(str(value))
    if shape is float:
        return float(_of((int, float), value, where))
    return value if shape is object else _of(shape, value, where)


def _of(kinds: Any, value: Any, where: str) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise ValueError(f"{where} is a {type(value).__name__}")
    return value
