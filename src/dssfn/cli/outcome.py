"""How a command ends: its exit code, its one-line error, its JSON."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import typer
from rich.console import Console

from dssfn.errors import DssfnError, InputError

FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130

Params = ParamSpec("Params")
Result = TypeVar("Result")

screen = Console(highlight=False)  # results
notes = Console(stderr=True, highlight=False)  # progress and errors


def plain_errors(command: Callable[Params, Result]) -> Callable[Params, Result]:
    """Let a command end with a one-line error and its exit code, not a traceback."""

    @functools.wraps(command)
    def guarded(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        try:
            return command(*args, **kwargs)
        except KeyboardInterrupt:
            raise _end("Interrupted; no file was written.", INTERRUPTED) from None
        except InputError as exc:
            raise _end(f"Error: {exc}", WRONG_INPUT) from exc
        except BrokenPipeError:
            # The reader of our output has left, as `head` does; that is no error.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit from None
        except (DssfnError, OSError, MemoryError) as exc:
            what = str(exc) or type(exc).__name__
            raise _end(f"Error: {what}", FAILED) from exc

    return guarded


def _end(message: str, code: int) -> typer.Exit:
    print(message, file=sys.stderr)
    return typer.Exit(code)


def print_json(value: Any) -> None:
    """One JSON object on standard output, and nothing else there."""
    print(json.dumps(value, indent=2, allow_nan=False))
