"""The workspace's requirements."""

import hashlib
import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest
from tutti_worker.installer import TookTooLong, run_pip
from tutti_worker.platform_pins import platform_versions
from tutti_worker.requirements import install, missing, parse, top_levels
from tutti_worker.trouble import Failure

from tests.worker.builders import alive, eventually, zip_of


def wheel(folder: Path, name: str = "tinypkg", version: str = "1.0", needs: str = "") -> Path:
    """A wheel with one module."""
    info = f"{name}-{version}.dist-info"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    path.write_bytes(
        zip_of(
            {
                f"{name}.py": f"VERSION = '{version}'\n",
                f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
                f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
                f"{info}/RECORD": f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n",
            }
        )
    )
    return path


def test_comments_markers_and_continued_lines_are_understood() -> None:
    text = "# a comment\nnumpy>=1  # why\n\npandas \\\n  >=1\nwaitress; python_version < '3'\n"
    assert [(one.line, one.text) for one in parse(text)] == [
        (2, "numpy>=1"),
        (4, "pandas >=1"),
        (6, "waitress; python_version < '3'"),
    ]


def test_what_is_there_already_is_not_installed() -> None:
    numpy = importlib.metadata.version("numpy")
    text = f"numpy=={numpy}\ntorch>=2\nnvflare\nno-such-thing==1\nonly-old; python_version < '3'\n"
    assert [one.text for one in missing(parse(text))] == ["no-such-thing==1"]


def test_another_version_of_something_that_is_there_is_missing() -> None:
    assert [one.text for one in missing(parse("numpy==0.0.1\n"))] == ["numpy==0.0.1"]


def test_a_line_that_is_no_requirement_is_named() -> None:
    with pytest.raises(Failure) as refused:
        parse("numpy\nnot a requirement !!\n")
    assert (refused.value.cause.code, refused.value.cause.line) == ("requirements_failed", 2)


@pytest.mark.process
def test_the_rest_is_installed_into_the_overlay(tmp_path: Path) -> None:
    built = wheel(tmp_path)
    install(parse(f"{built}\n"), tmp_path / "overlay")
    assert "tinypkg" in top_levels(tmp_path / "overlay")
    program = f"import sys; sys.path.insert(0, {str(tmp_path / 'overlay')!r}); import tinypkg; print(tinypkg.VERSION)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1.0"


def test_another_torch_is_refused_before_anything_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(Failure, match=r"line 1 asks for torch==1\.0"):
        install(missing(parse("torch==1.0\n")), tmp_path / "overlay")


@pytest.mark.process
def test_a_failed_installation_shows_the_installers_own_words(tmp_path: Path) -> None:
    (tmp_path / "broken-1.0-py3-none-any.whl").write_bytes(b"no wheel")
    with pytest.raises(Failure) as refused:
        install(parse(f"{tmp_path / 'broken-1.0-py3-none-any.whl'}\n"), tmp_path / "overlay")
    assert refused.value.cause.code == "requirements_failed"
    assert any("ERROR" in line for line in refused.value.cause.evidence)


@pytest.mark.process
def test_dependencies_that_are_here_already_are_not_installed_again(tmp_path: Path) -> None:
    built = wheel(tmp_path, needs="Requires-Dist: numpy\nRequires-Dist: torch\n")
    install(parse(f"{built}\n"), tmp_path / "overlay")
    assert top_levels(tmp_path / "overlay") == {"tinypkg"}


@pytest.mark.process
def test_a_package_that_needs_another_torch_is_refused_in_the_installers_words(tmp_path: Path) -> None:
    built = wheel(tmp_path, needs="Requires-Dist: torch<1\n")
    with pytest.raises(Failure) as refused:
        install(parse(f"{built}\n"), tmp_path / "overlay")
    assert "torch" in "\n".join(refused.value.cause.evidence)


def test_options_alone_ask_for_nothing() -> None:
    text = "--extra-index-url https://example.org/simple\n-c pins.txt\nnumpy\n"
    assert missing(parse(text)) == []


def test_options_are_kept_with_what_is_missing() -> None:
    text = "--no-index\nnumpy\nno-such-thing==1 --hash=sha256:00\n"
    assert [one.text for one in missing(parse(text))] == ["--no-index", "no-such-thing==1 --hash=sha256:00"]


def test_what_the_platform_stands_on_is_pinned_with_all_it_needs() -> None:
    pinned = platform_versions()
    assert {"nvflare", "torch", "numpy", "pydantic-core", "protobuf", "grpcio", "cffi", "httpcore"} <= set(pinned)
    assert pinned["torch"] == importlib.metadata.version("torch").split("+")[0]
    assert "waitress" not in pinned


@pytest.mark.process
def test_a_package_comes_from_where_the_file_says(tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    wheel(tmp_path / "shelf", needs="Requires-Dist: tinydep\n")
    wheel(tmp_path / "shelf", name="tinydep")
    text = f"--no-index\n--find-links {tmp_path / 'shelf'}\ntinypkg\n"
    install(missing(parse(text)), tmp_path / "overlay")
    assert top_levels(tmp_path / "overlay") == {"tinypkg", "tinydep"}


@pytest.mark.process
def test_a_wrong_hash_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    wheel(tmp_path / "shelf")
    text = f"--no-index\n--find-links {tmp_path / 'shelf'}\ntinypkg==1.0 --hash=sha256:{'0' * 64}\n"
    with pytest.raises(Failure) as refused:
        install(missing(parse(text)), tmp_path / "overlay")
    assert any("HASHES" in line for line in refused.value.cause.evidence)


@pytest.mark.process
def test_a_right_hash_is_taken(tmp_path: Path) -> None:
    (tmp_path / "shelf").mkdir()
    digest = hashlib.sha256(wheel(tmp_path / "shelf").read_bytes()).hexdigest()
    text = f"--no-index\n--find-links {tmp_path / 'shelf'}\ntinypkg==1.0 --hash=sha256:{digest}\n"
    install(missing(parse(text)), tmp_path / "overlay")
    assert top_levels(tmp_path / "overlay") == {"tinypkg"}


@pytest.mark.process
@pytest.mark.parametrize("name", ["pydantic", "protobuf"])
def test_nothing_that_the_worker_itself_imports_is_replaced(name: str, tmp_path: Path) -> None:
    built = wheel(tmp_path, name=name, version="77")
    with pytest.raises(Failure) as refused:
        install(parse(f"--no-index\n{built}\n"), tmp_path / "overlay")
    assert refused.value.cause.code == "requirements_failed"
    assert name in "\n".join(refused.value.cause.evidence)
    assert top_levels(tmp_path / "overlay") == set()


@pytest.mark.process
def test_an_installer_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    package = tmp_path / "slow"
    package.mkdir()
    child = f"subprocess.Popen(['sleep', '600']); open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))"
    (package / "setup.py").write_text(f"import subprocess, time\nchild = {child}\ntime.sleep(600)\n")
    with pytest.raises(TookTooLong):
        run_pip(["--no-build-isolation", "--no-deps", "--target", str(tmp_path / "overlay"), str(package)], 6)
    assert eventually(lambda: not alive(int((tmp_path / "pid").read_text())))
