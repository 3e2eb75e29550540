"""The exit code that a command ends with."""

from __future__ import annotations

from dssfn.errors import InputError

FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130


def exit_code_of(exc: BaseException) -> int:
    """Return the exit code of a command that ends with an exception.

    >>> exit_code_of(InputError("no such file")), exit_code_of(MemoryError())
    (2, 1)
    """
    if isinstance(exc, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(exc, SystemExit) and isinstance(exc.code, int):
        return exc.code
    return WRONG_INPUT if isinstance(exc, InputError) else FAILED
