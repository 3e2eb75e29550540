"""Strict JSON that is easy to read."""

from __future__ import annotations

import json
import re
from typing import Any

# A line break is never part of a JSON string, so these are lists of numbers alone.
_NUMBERS = re.compile(r"\[\n\s*([-+.\deE]+(?:,\n\s*[-+.\deE]+)*)\n\s*\]")


def to_json(value: Any) -> str:
    """Return strict JSON, without NaN or infinity; a list of numbers takes one line.

    >>> print(to_json({"edges": [[0, 1]]}), end="")
    {
      "edges": [
        [0, 1]
      ]
    }
    """
    text = json.dumps(value, indent=2, allow_nan=False) + "\n"
    return _NUMBERS.sub(lambda found: f"[{' '.join(found[1].split())}]", text)
