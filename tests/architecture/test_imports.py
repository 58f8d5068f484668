"""Who may import whom: ARCHITECTURE's table, enforced."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ALLOWED: dict[str, tuple[str, ...]] = {
    "chalicelib/contracts": ("chalicelib.contracts", "pydantic"),
    "chalicelib/domain": ("chalicelib.contracts", "chalicelib.domain", "pydantic", "packaging", "yaml"),
    "chalicelib/services": (
        "chalicelib.contracts",
        "chalicelib.domain",
        "chalicelib.ports",
        "chalicelib.services",
        "chalicelib.settings",
        "chalicelib.job_scripts.sources",
    ),
    "chalicelib/adapters": (
        "chalicelib.contracts",
        "chalicelib.domain",
        "chalicelib.ports",
        "chalicelib.adapters.errors",
        "chalicelib.adapters.s3_bucket",  # the second half of s3.py
        "boto3",
        "botocore",
        "joserfc",
        "mypy_boto3_s3",
        "mypy_boto3_stepfunctions",
    ),
    "chalicelib/entrypoints": (
        "chalicelib.contracts",
        "chalicelib.services",
        "chalicelib.bootstrap",
        "chalicelib.domain",
        "chalicelib.entrypoints",
        "chalicelib.ports",
        "chalicelib.version",
        "chalice",
        "aws_lambda_powertools",
        "pydantic",
    ),
    "worker_image/tutti_worker": (
        "tutti_worker",
        "chalicelib.contracts",
        "nvflare",
        "torch",
        "numpy",
        "safetensors",
        "httpx",
        "psutil",
        "cryptography",
        "packaging",
        "yaml",
        "pydantic",
    ),
    "client/tutti_fl": ("tutti_fl", "httpx", "rich"),
}
NEVER_IN_DOMAIN = ("os", "random", "time", "socket", "subprocess", "secrets", "uuid")


def python_files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Every module named by an import; a relative one is given its full name."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def is_standard(name: str) -> bool:
    import sys

    return name.split(".", maxsplit=1)[0] in sys.stdlib_module_names


def fits(name: str, allowed: tuple[str, ...]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in allowed)


@pytest.mark.parametrize("folder", list(ALLOWED))
def test_a_floor_imports_only_what_it_may(folder: str) -> None:
    wrong = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in python_files(folder)
        for name in imported(path)
        if not is_standard(name) and not fits(name, ALLOWED[folder])
    }
    assert wrong == set()


@pytest.mark.parametrize("folder", list(ALLOWED))
def test_the_rule_is_not_empty(folder: str) -> None:
    assert python_files(folder) != []


def test_the_domain_knows_no_clock_no_chance_and_no_environment() -> None:
    wrong = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in python_files("chalicelib/domain")
        for name in imported(path)
        if name.split(".")[0] in NEVER_IN_DOMAIN
    }
    assert wrong == set()


def test_the_backend_never_imports_the_laptop_or_the_worker() -> None:
    wrong = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in [ROOT / "app.py", *python_files("chalicelib")]
        for name in imported(path)
        if name.split(".")[0] in {"local_stack", "tutti_worker", "tutti_fl", "tests"}
    }
    assert wrong == set()


def test_only_settings_reads_the_environment() -> None:
    readers = {
        path.relative_to(ROOT).as_posix()
        for path in python_files("chalicelib")
        if "job_scripts" not in path.parts and "os.environ" in path.read_text(encoding="utf-8")
    }
    assert readers == {"chalicelib/settings.py"}


def test_the_app_module_only_registers_doors() -> None:
    names = imported(ROOT / "app.py")
    assert all(fits(name, ("chalice", "chalicelib.entrypoints")) for name in names)
