"""A Markdown document that is given what was measured."""

from __future__ import annotations

from dssfn.errors import DataError


def marks(name: str) -> tuple[str, str]:
    """Return the marks between which a document has what bears this name."""
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def with_text(document: str, name: str, text: str) -> str:
    """Return a document with a text put between the two marks of this name.

    >>> print(with_text("<!-- a: begin --> old <!-- a: end -->", "a", "new"))
    <!-- a: begin -->
    <BLANKLINE>
    new
    <!-- a: end -->
    """
    begin, end = marks(name)
    if document.count(begin) != 1 or document.count(end) != 1:
        raise DataError(
            f"The document must have the marks `{begin}` and `{end}`, once each. Add "
            "them where the tables are to be."
        )
    before, rest = document.split(begin)
    return f"{before}{begin}\n\n{text}\n{end}{rest.split(end)[1]}"
