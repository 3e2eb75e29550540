"""Docstrings that come from scikit-learn, without links into its own manual."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_ROLE = re.compile(r":(?:ref|term):`([^`<]+?)(?:\s*<[^>]*>)?`")


def _words_only(
    app: Sphinx, what: str, name: str, of: Any, options: Any, lines: list[str]
) -> None:
    lines[:] = [_ROLE.sub(r"\1", line) for line in lines]


def setup(app: Sphinx) -> dict[str, bool]:
    """Change docstrings before they are read as reStructuredText."""
    app.setup_extension("sphinx.ext.autodoc")
    # Before numpydoc, whose priority is 500.
    app.connect("autodoc-process-docstring", _words_only, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
