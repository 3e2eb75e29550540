"""How far a file has been read, for whoever wants to show it.

How this works. A large file is read deep below the command that knows of a terminal,
by functions that have nothing else to do with it. So the watcher is no argument of
theirs, but a variable of the context in which they run: `watch` sets it for what is
done inside, and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

LETTERS, TYPES, VALUES = "letters", "types", "values"


@dataclass(frozen=True, slots=True)
class Reading:
    """How far one pass over a file has come.

    Parameters
    ----------
    path : Path
        The file.
    what : {"letters", "types", "values"}
        What the pass looks for; a text file takes up to three passes.
    n_rows : int
        The rows so far; of letters, the lines before those that are looked at.
    share : float, optional
        How much of the file has been read, up to 1; None if its length is not known.
    """

    path: Path
    what: str
    n_rows: int
    share: float | None = None


OnReading: TypeAlias = Callable[[Reading], None]

_watcher: ContextVar[OnReading | None] = ContextVar("watcher", default=None)


@contextmanager
def watch(on_reading: OnReading) -> Iterator[None]:
    """Call a function every few megabytes that are read inside, in this thread.

    Examples
    --------
    >>> import tempfile
    >>> from dssfn.datasets import read_table
    >>> seen = []
    >>> with tempfile.TemporaryDirectory() as folder, watch(seen.append):
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_text("a,b\\n1,2\\n3,4\\n")
    ...     _ = read_table(path)
    >>> [one.what for one in seen], seen[-1].n_rows, seen[-1].share
    (['letters', 'types'], 2, 1.0)
    """
    before = _watcher.set(on_reading)
    try:
        yield
    finally:
        _watcher.reset(before)


def tell(path: Path, what: str, n_rows: int, share: float | None = None) -> None:
    """Tell the watcher, if there is one, how far a file has been read."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(Reading(path, what, n_rows, share))
