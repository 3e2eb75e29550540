"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, content: bytes, *, private: bool = False) -> None:
    """Replace a file by new content, or leave it as it was.

    Nobody but the owner can read a private file, at no time.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    mode = 0o600 if private else 0o666

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, mode)

    try:
        temporary.unlink(missing_ok=True)  # of a process with our number that died
        with open(temporary, "xb", opener=opener) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_writable(folder: Path, *, n_bytes: int = 0) -> None:
    """Write a file in a folder and remove it; an `OSError` says why it cannot be done.

    Its name is new and cannot be foreseen, so that nobody who may write there too can
    put a link in its place.
    """
    descriptor, name = tempfile.mkstemp(prefix=".dssfn-probe-", dir=folder)
    try:
        os.write(descriptor, bytes(n_bytes))
    finally:
        os.close(descriptor)
        Path(name).unlink()


def _sync_folder(folder: Path) -> None:
    """Make sure that the new name survives a loss of power."""
    if os.name != "posix":  # others have no such call
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
