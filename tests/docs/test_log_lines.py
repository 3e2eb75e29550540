"""The lines of the log that docs/deploy.md explains are those that nodes write."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from scripts.page_blocks import ROOT, read

DEPLOY = ROOT / "docs" / "deploy.md"
# What is filled in, or left out here: all else are words of the program.
OPEN = re.compile(r"…|:|\b(?:north|south|east|[0-9a-f]*\d[0-9a-f]*)\b|(?<=a new) ")


def words_of_the_program() -> str:
    """Return all texts of the modules that log, with a line for what is filled in."""
    modules = [
        path
        for folder in ("node", "transports")
        for path in (ROOT / "src" / "dssfn" / folder).rglob("*.py")
    ]
    return "\n".join(text for path in modules for text in texts_of(path))


def texts_of(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = [one for one in ast.walk(tree) if isinstance(one, ast.Constant)]
    return [one.value for one in constants if isinstance(one.value, str)]


def documented_lines() -> list[str]:
    chapter = read(DEPLOY).partition("\n## The log\n")[2].partition("\n## ")[0]
    cells = [row.split("|")[1] for row in chapter.splitlines() if row.startswith("| `")]
    return [line for cell in cells for line in re.findall("`([^`]+)`", cell)]


def test_the_page_explains_lines():
    assert len(documented_lines()) > 25


@pytest.mark.parametrize("line", documented_lines())
def test_a_node_writes_the_words_of_every_line_that_is_explained(line):
    program = words_of_the_program()
    for part in OPEN.split(line):
        words = part.strip(" ;,()")
        assert words in program, words
