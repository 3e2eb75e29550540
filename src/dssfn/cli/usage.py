"""A command line that is not understood: one line about it, as for other errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from dssfn.cli.outcome import end_with
from dssfn.errors import TransportError
from dssfn.exit_codes import WRONG_INPUT

# Options that have another name than the setting or argument they stand for.
_ARGUMENTS = {
    "kind": "topology",
    "n_nodes": "nodes",
    "n_layers": "layers",
    "n_rounds": "rounds",
    "n_iter": "iterations",
    "n_repeats": "repeats",
    "most_samples": "rows",
}
# The argument that an error is about stands first; others are told from the names of
# columns, which may be any, by what only an argument's name has.
_FIRST = re.compile(r"^`(\w+)`(?= must|:| = | x )")
_ANOTHER = re.compile(r"`([a-z]+_[a-z]+)`")
_OF_A_FILE = re.compile(r"^`[^`]*\.toml`")  # its settings keep the names that it has


def by_option(message: str, options: Mapping[str, str]) -> str:
    """Return an error's text with options in place of the arguments of functions.

    Parameters
    ----------
    message : str
        The text.
    options : mapping
        The options of the command by the names of its function's arguments.

    Examples
    --------
    >>> by_option("`n_nodes` must be positive, got 0.", {"nodes": "--nodes"})
    '`--nodes` must be positive, got 0.'
    """

    if _OF_A_FILE.match(message):
        return message

    def option(found: re.Match[str]) -> str:
        name = _ARGUMENTS.get(found[1], found[1])
        return f"`{options[name]}`" if name in options else found[0]

    return _ANOTHER.sub(option, _FIRST.sub(option, message))


class PlainFlags:
    """A command whose help says nothing of the type of a flag, which has no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all parameters; the help shows a flag by its names alone."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for one in params:
            if getattr(one, "is_flag", False):
                one.metavar = ""
        return params


class PlainCommand(PlainFlags, TyperCommand):
    """A command as it is shown and parsed once its function is known."""


class PlainGroup(PlainFlags, TyperGroup):
    """A group of commands."""


class PlainUsage(PlainGroup):
    """A group of commands that says in one line what it does not understand."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the options of the group itself."""
        with _in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Parse the command with its options, and run it."""
        with _in_one_line():
            return super().invoke(ctx)


class OneVoice(PlainGroup):
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
            f"Error: {said}{stop} See `{command} --help`.", WRONG_INPUT
        ) from exc


def is_usage_error(exc: Exception) -> bool:
    """Return whether typer did not understand the command line.

    It may have a click of its own, so the classes cannot be named.
    """
    return hasattr(exc, "format_message")
