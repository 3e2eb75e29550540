"""Large files while they are read: how far that has come, on a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from rich.progress import BarColumn, Progress, TextColumn

from dssfn._plain_text import printable
from dssfn.cli.console import notes
from dssfn.datasets.watching import LETTERS, TYPES, VALUES, Reading, watch

PATIENCE = 1.0  # seconds of reading before anything is shown
_WORDS = {
    LETTERS: "detecting the encoding",
    TYPES: "detecting column types",
    VALUES: "reading values",
}


@contextmanager
def reading_progress(
    *, quiet: bool = False, patience: float = PATIENCE
) -> Iterator[None]:
    """Show on a terminal how far files are read inside, unless it is soon done.

    Parameters
    ----------
    quiet : bool
        Show nothing.
    patience : float
        Seconds before anything is shown.
    """
    if quiet or not notes.is_terminal:
        yield
        return
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        console=notes,
        transient=True,
        redirect_stdout=False,  # where results go
    )
    task = bar.add_task("", total=None)
    start = time.monotonic()

    def show(reading: Reading) -> None:
        if not bar.live.is_started:
            if time.monotonic() - start < patience:
                return
            shown.enter_context(bar)
        total = None if reading.share is None else 1.0
        words = f"{shown_reading(reading)}, {_WORDS[reading.what]}"
        bar.update(task, description=words, total=total, completed=reading.share or 0)

    with ExitStack() as shown, watch(show):
        yield


def shown_reading(reading: Reading) -> str:
    """Return in a few words how far a file has been read.

    >>> from pathlib import Path
    >>> shown_reading(Reading(Path("t.csv"), VALUES, 1_200_000, 0.451))
    't.csv: 1,200,000 rows (45 %)'
    """
    name, rows = printable(reading.path.name), f"{reading.n_rows:,} rows"
    return f"{name}: {rows}{'' if reading.share is None else f' ({how_far(reading)})'}"


def how_far(reading: Reading) -> str:
    """Return how much of a file has been read: a share, or rows if it has no end."""
    if reading.share is None:
        return f"{reading.n_rows:,} rows"
    return f"{100 * reading.share:.0f} %"
