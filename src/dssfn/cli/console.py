"""The terminal: results on standard output, progress on standard error."""

from __future__ import annotations

from typing import Any, NoReturn

from rich.console import Console
from rich.text import Text

from dssfn._plain_text import printable
from dssfn.datasets.dialect import USUAL


class _Console(Console):
    """Shows labels and file names as they are: no markup, and nothing to obey.

    Every string passes `render_str`, also those in a table. They may come from
    anywhere, so none may hold a line break either: see `outcome.show_lines`.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)


class _Screen(_Console):
    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


screen = _Screen()  # results
notes = _Console(stderr=True)  # progress


def say_dialect(file: str, dialect: str, *, quiet: bool = False) -> None:
    """Say how a file was read, unless it is written as most are."""
    if dialect not in USUAL and not quiet:
        notes.print(f"{file}: {dialect}.", soft_wrap=True)
