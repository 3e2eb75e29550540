"""A command line that is not understood: one line about it, as for other errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from dssfn.cli.outcome import end_with
from dssfn.errors import TransportError
from dssfn.exit_codes import WRONG_INPUT


class PlainUsage(TyperGroup):
    """A group of commands that says in one line what it does not understand."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the options of the group itself."""
        with _in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Parse the command with its options, and run it."""
        with _in_one_line():
            return super().invoke(ctx)


class OneVoice(TyperGroup):
    """A group of commands that all ranks were given alike: the first one complains."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; wrong usage is shown by the first rank alone."""
        try:
            return super().invoke(ctx)
        except Exception as exc:
            if is_usage_error(exc) and _is_another_rank():
                raise typer.Exit(WRONG_INPUT) from None
            raise


def _is_another_rank() -> bool:
    from dssfn.mpi.job import Job  # what it imports takes time

    try:
        return not Job().is_first
    except TransportError:  # there is no MPI
        return False


@contextmanager
def _in_one_line() -> Iterator[None]:
    try:
        yield
    except Exception as exc:
        if not is_usage_error(exc) or type(exc).__name__ == "NoArgsIsHelpError":
            raise
        context = getattr(exc, "ctx", None)
        command = context.command_path if context else "dssfn"
        said = exc.format_message().rstrip(".")  # type: ignore[attr-defined]
        stop = "" if said.endswith("?") else "."
        raise end_with(
            f"Error: {said}{stop} `{command} --help` shows what there is.", WRONG_INPUT
        ) from exc


def is_usage_error(exc: Exception) -> bool:
    """Return whether typer did not understand the command line.

    It may have a click of its own, so the classes cannot be named.
    """
    return hasattr(exc, "format_message")
