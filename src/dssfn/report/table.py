"""A table of words and numbers, for a page or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """A table of words and numbers.

    Parameters
    ----------
    caption : str
        What it shows.
    head : sequence of str
        The name of each column.
    rows : sequence of sequences of str
        The first cell names the row.
    numeric_from : int
        The first of the columns that hold numbers.
    note : str
        What must be known to read it.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric_from: int = 1
    note: str = ""

    def markdown(self, *, is_bare: bool = False) -> str:
        """Return the table as Markdown, with its caption and its note unless bare."""
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
        if is_bare:
            return body
        parts = [f"### {self.caption}\n", body, self.note and f"{self.note}\n"]
        return "\n".join(part for part in parts if part)
