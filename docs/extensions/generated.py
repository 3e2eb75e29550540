"""Pages that are written before the site is built, from something else."""

from __future__ import annotations

from pathlib import Path


def write_page(path: Path, text: str) -> None:
    """Write a page if it has changed: otherwise it need not be built again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
