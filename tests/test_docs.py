"""What README and docs show must run as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, language):
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


PYTHON = [(page.name, code) for page in PAGES for code in blocks(page, "python")]
SHELL = [
    (page.name, line.removeprefix("dssfn "))
    for page in PAGES
    for block in blocks(page, "shell")
    for line in block.replace("\\\n", " ").splitlines()
    if line.startswith("dssfn ")
]


@pytest.mark.parametrize(("page", "code"), PYTHON)
def test_python_blocks_run(page, code, tmp_path):
    shown = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("shell")


@pytest.mark.parametrize(("page", "command"), SHELL)
def test_shell_blocks_run_one_after_the_other(page, command, folder):
    shown = subprocess.run(
        [sys.executable, "-m", "dssfn", *command.split("#")[0].split()],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_project_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_test_that_the_security_page_names_exists():
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    files = re.findall(r"`([\w/]*test_\w+\.py)`", page)
    assert len(files) > 10
    for file in files:
        assert (ROOT / "tests" / file).is_file(), file


def test_there_is_something_to_run():
    assert len(PYTHON) >= 2
    assert len(SHELL) >= 3
