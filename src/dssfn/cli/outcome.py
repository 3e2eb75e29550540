"""How a command ends: its exit code, its one-line error, its JSON."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import typer

from dssfn._plain_text import one_line, printable
from dssfn.errors import DssfnError, InputError
from dssfn.exit_codes import FAILED, INTERRUPTED, WRONG_INPUT
from dssfn.json_text import to_json

Params = ParamSpec("Params")
Result = TypeVar("Result")


def show_lines(text: str) -> None:
    """Print a text of several lines, of which a terminal obeys none."""
    print(*map(printable, text.split("\n")), sep="\n")


def plain_errors(
    command: Callable[Params, Result], told: Callable[[DssfnError], str] = str
) -> Callable[Params, Result]:
    """Let a command end with a one-line error and its exit code, not a traceback.

    `told` returns the text of an error in the words of the command line.
    """

    @functools.wraps(command)
    def guarded(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        try:
            result = command(*args, **kwargs)
            sys.stdout.flush()
            return result
        except KeyboardInterrupt:
            raise end_with("Interrupted.", INTERRUPTED) from None
        except InputError as exc:
            raise end_with(f"Error: {told(exc)}", WRONG_INPUT) from exc
        except BrokenPipeError:
            # The reader of our output has left, as `head` does; that is no error.
            _drop_output()
            raise typer.Exit from None
        except (DssfnError, OSError, MemoryError) as exc:
            _drop_output()
            what = told(exc) if isinstance(exc, DssfnError) else str(exc)
            raise end_with(f"Error: {what or type(exc).__name__}", FAILED) from exc

    return guarded


def end_with(message: str, code: int) -> typer.Exit:
    """Print a message as one line, and return what to raise for this exit code."""
    print(one_line(message), file=sys.stderr)
    return typer.Exit(code)


def _drop_output() -> None:
    """Keep Python from trying once more, at its end, to write what could not be."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(value: Any) -> None:
    """Print one JSON object on standard output, and nothing else there."""
    print(to_json(value), end="")
