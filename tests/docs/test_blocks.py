"""What README and docs show must run as it stands.

Pages that are sessions run in `test_sessions.py`, as a whole.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from scripts.page_blocks import blocks_of, every_page, is_session, read, steps_of
from scripts.wildcards import matches

BLOCKS = [
    (page.name, block)
    for page in every_page()
    if not is_session(page)
    for block in blocks_of(read(page))
    if not block.words  # those with a name are run by tests of their own
]
PYTHON = [
    (page.name, step.run.code, step.shown and step.shown.code)
    for page in every_page()
    if not is_session(page)
    for step in steps_of(read(page))
    if step.run.language == "python" and not step.run.words
]
SHELL = [
    (page, line.removeprefix("dssfn "))
    for page, block in BLOCKS
    if block.language == "shell"
    for line in block.code.replace("\\\n", " ").splitlines()
    if line.startswith("dssfn ")
]


@pytest.mark.parametrize(("page", "code", "output"), PYTHON)
def test_python_blocks_run_and_print_what_the_page_says(page, code, output, tmp_path):
    shown = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    if output is not None:  # a block of text directly after it
        assert matches(output, shown.stdout), shown.stdout


def test_shell_blocks_run_one_after_the_other(tmp_path):
    for page, command in SHELL:  # some use the model of one before
        shown = subprocess.run(
            [sys.executable, "-m", "dssfn", *command.split("#")[0].split()],
            cwd=tmp_path, capture_output=True, text=True,
        )  # fmt: skip
        assert shown.returncode == 0, f"{page}: {command}\n{shown.stderr}"


def test_there_is_something_to_run():
    assert len(PYTHON) >= 2
    assert len(SHELL) >= 3
