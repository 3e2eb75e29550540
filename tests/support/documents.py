"""Blocks of code that stand in the documents."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def block(page, name):
    """The code of a block that begins with ```python NAME."""
    text = (DOCS / page).read_text(encoding="utf-8")
    (found,) = re.findall(rf"^```python {name}\n(.*?)^```$", text, re.M | re.S)
    return found
