"""What a release holds: its tests and documents; of the wheel, the package alone."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="needs the extra dssfn[dev]")

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "tests", "docs", "examples", "benchmarks", "scripts")
FILES = (
    "README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md",
    "CODE_OF_CONDUCT.md", "CITATION.cff", "Makefile", "pyproject.toml",
    ".pre-commit-config.yaml", ".ci/run",
)  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder],
        cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def generated():
    """Return the paths that git leaves alone, such as those of the built site."""
    path = ROOT / ".gitignore"
    lines = path.read_text().splitlines() if path.exists() else []
    return tuple(line.strip("/") for line in lines if line.startswith("/"))


def sources(folder):
    """Return the files of a folder, without what Python and Sphinx leave there."""
    found = (path for path in (ROOT / folder).rglob("*") if path.is_file())
    parts = ((path, path.relative_to(ROOT).parts) for path in found)
    return {
        path.relative_to(ROOT).as_posix()
        for path, names in parts
        if "__pycache__" not in names
        and not path.relative_to(ROOT).as_posix().startswith(generated())
        and not any(name.startswith(".") or name.endswith("egg-info") for name in names)
    }


def test_the_source_distribution_holds_all_that_its_tests_need(built):
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert names >= set(FILES)
    for folder in FOLDERS:
        assert sources(folder) <= names, folder
    assert not {name for name in names if name.startswith((".git/", ".venv"))}


def test_the_wheel_holds_the_package_alone(built):
    (archive,) = built.glob("*.whl")
    with zipfile.ZipFile(archive) as opened:
        names = set(opened.namelist())
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"dssfn"}
    package = {name for name in names if name.startswith("dssfn/")}
    assert {f"src/{name}" for name in package} == sources("src")
    assert "dssfn/py.typed" in package
