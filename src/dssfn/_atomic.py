"""Files that appear whole or not at all, and folders that can hold them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from dssfn.errors import InputError

_PROBE = 4096  # bytes; a full disk may still have room for a name


def write_atomically(path: Path, content: bytes, *, private: bool = False) -> None:
    """Replace a file by new content, or leave it as it was.

    A private file can never be read by anybody but its owner. What processes have left
    that were killed at this is removed.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    mode = 0o600 if private else 0o666

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, mode)

    try:
        temporary.unlink(missing_ok=True)  # left by a dead process with our number
        with open(temporary, "xb", opener=opener) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _remove_leftovers(path)
        _sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _remove_leftovers(path: Path) -> None:
    """Remove the beginnings of a file by processes that are no more."""
    if os.name != "posix":  # others cannot ask whether a process lives
        return
    for left in path.parent.glob(f".{escape(path.name)}.*.part"):
        number = left.name.removesuffix(".part").rpartition(".")[2]
        if number.isdecimal() and not _is_running(int(number)):
            left.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        pass
    return True


def make_writable(folder: Path, what: str, *, private: bool = False) -> None:
    """Make a folder if there is none, and make sure that files can be written there.

    Parameters
    ----------
    folder : Path
        The folder that files will be written to.
    what : str
        The setting or option that names the folder, for the error.
    private : bool
        Whether a new folder is for its owner alone.

    Raises
    ------
    InputError
        If the folder cannot be made, or a file cannot be written there.
    """
    try:
        folder.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
        _write_probe(folder)
    except OSError as exc:
        raise InputError(
            f"`{what}` must be a writable folder, got `{folder}`: {exc.strerror}. "
            "Choose another one."
        ) from exc


def _write_probe(folder: Path) -> None:
    """Write a file and remove it.

    Its name is new and cannot be foreseen, so that nobody who may write there too can
    put a link in its place.
    """
    descriptor, name = tempfile.mkstemp(prefix=".dssfn-probe-", dir=folder)
    try:
        os.write(descriptor, bytes(_PROBE))
    finally:
        os.close(descriptor)
        Path(name).unlink()


@contextmanager
def no_empty_folders(path: Path) -> Iterator[None]:
    """Remove the folders made on the way to a path if what follows fails.

    Folders that hold something stay.
    """
    missing = [one for one in (path, *path.parents) if not one.exists()]
    try:
        yield
    except BaseException:
        with suppress(OSError):  # not empty, or never made
            for one in missing:
                one.rmdir()
        raise


def _sync_folder(folder: Path) -> None:
    """Make sure that the new name survives a loss of power."""
    if os.name != "posix":  # others have no such call
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
