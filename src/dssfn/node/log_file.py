"""The file of a node's log, which is rotated by size and which only its owner can read.

How this works. `node.log` is always the newest. Once the next line does not fit, it is
renamed to `node.log.1`, what had that name to `node.log.2`, and so on up to the first
name that is free; if none is, the oldest file makes room. Every step is one rename, so
a process that is killed in between loses nothing: the next one appends where it was.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path

MAX_BYTES = 10_000_000
BACKUPS = 5


class LogFile(logging.FileHandler):
    """Appends lines to a file, of which some older ones are kept.

    Parameters
    ----------
    path : Path
        The file.
    max_bytes : int
        How large it may become; a single line that is longer has a file of its own.
    backups : int
        How many older files are kept, at least one.
    """

    def __init__(
        self, path: Path, *, max_bytes: int = MAX_BYTES, backups: int = BACKUPS
    ) -> None:
        self._max_bytes, self._backups = max_bytes, backups
        super().__init__(path, encoding="utf-8", errors="replace")

    def _open(self) -> TextIOWrapper:
        def opener(name: str, flags: int) -> int:
            return os.open(name, flags, 0o600)

        # A "\n" stays one byte on every system.
        return open(
            self.baseFilename,
            "a",
            encoding="utf-8",
            errors="replace",
            newline="\n",
            opener=opener,
        )

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, in a new file if it no longer fits."""
        try:
            line = self.format(record) + self.terminator
            self._make_room(len(line.encode(errors="replace")))
            stream = self.stream = self.stream or self._open()
            stream.write(line)
            self.flush()
        except Exception:
            self.handleError(record)

    def _make_room(self, n_bytes: int) -> None:
        path = Path(self.baseFilename)
        held = path.stat().st_size if path.exists() else 0
        if not held or held + n_bytes <= self._max_bytes:
            return
        if self.stream is not None:
            self.stream.close()
            self.stream = None
        last = self._backups
        names = [path] + [path.with_name(f"{path.name}.{k + 1}") for k in range(last)]
        free = next((k for k, name in enumerate(names) if not name.exists()), last)
        # Where files cannot be renamed, lines are appended to the one there is.
        with suppress(OSError):
            for k in range(free, 0, -1):
                names[k - 1].replace(names[k])
