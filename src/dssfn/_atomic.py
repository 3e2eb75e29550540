"""Files that appear whole or not at all, and folders that can hold them."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from dssfn.errors import DataError, InputError

_PROBE = 4096  # bytes; a full disk may still have room for a name


def write_atomically(path: Path, content: bytes, *, private: bool = False) -> None:
    """Replace a file by new content, or leave it as it was.

    A link stays, and the file that it leads to is replaced. A file that exists keeps
    its permissions, but a private one can never be read by anybody but its owner. What
    is no file, such as a pipe or a device, is written to. What processes have left that
    were killed at this is removed.

    Raises
    ------
    InputError
        If something private would go to what is no file.
    OSError
        If it cannot be written; its name is that of `path`.
    """
    try:
        mode = _mode(path)
        target = Path(os.path.realpath(path)) if path.is_symlink() else path
        # A link of /proc may lead to a file that no longer has a name.
        is_file = mode is None or (stat.S_ISREG(mode) and target.exists())
        if is_file:
            _replace(target, content, None if private else mode, private=private)
        elif private:
            raise InputError(
                f"`{path}` must be a file, since what is written to it is for its "
                "owner alone. Remove it, or choose another name."
            )
        else:
            _write_to(path, content)
    except OSError as exc:
        if exc.errno is None:
            raise
        raise type(exc)(exc.errno, exc.strerror, str(path)) from exc


def check_place(path: Path, what: str) -> None:
    """Refuse a path at which no file can be written, before there is anything to write.

    Parameters
    ----------
    path : Path
        Where a file will be written; it may be a link.
    what : str
        The argument or option that names it, for the error.

    Raises
    ------
    DataError
        If it is a folder, its folder does not exist, or its links go round in circles.

    Examples
    --------
    >>> check_place(Path("none/m"), "path")
    Traceback (most recent call last):
    dssfn.errors.DataError: `path` must be a file in an existing folder, got `none/m`.
    """
    place = Path(os.path.realpath(path))
    if place.is_dir() or place.is_symlink() or not place.parent.is_dir():
        raise DataError(f"`{what}` must be a file in an existing folder, got `{path}`.")


def _mode(path: Path) -> int | None:
    """Return the kind and the permissions of what is there; None if nothing is."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _write_to(path: Path, content: bytes) -> None:
    """Write to what is there and must stay, such as a pipe."""
    with os.fdopen(os.open(path, os.O_WRONLY), "wb") as stream:
        stream.write(content)


def _replace(path: Path, content: bytes, mode: int | None, *, private: bool) -> None:
    """Write a file beside the old one and give it its name; `mode` is the old one's."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    new = 0o666 if mode is None and not private else 0o600

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, new)

    try:
        temporary.unlink(missing_ok=True)  # left by a dead process with our number
        with open(temporary, "xb", opener=opener) as file:
            if mode is not None and os.name == "posix":
                os.fchmod(file.fileno(), stat.S_IMODE(mode) & 0o777)
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
    if folder.exists() and not folder.is_dir():
        raise InputError(
            f"`{what}` must be a writable folder, got `{folder}`, which is a file. "
            "Choose another one."
        )
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
