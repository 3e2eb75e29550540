"""A command line that is not understood: one line about it, as for other errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from dssfn.cli.outcome import end_with
from dssfn.errors import (
    DataError,
    DssfnError,
    IdentityError,
    ModelFileError,
    TransportError,
)
from dssfn.exit_codes import WRONG_INPUT

# Options that have another name than the setting or argument they stand for.
_ARGUMENTS = {
    "kind": "topology",
    "n_nodes": "nodes",
    "n_layers": "layers",
    "n_rounds": "rounds",
    "n_iter": "iterations",
    "n_repeats": "repeats",
    "n_features": "features",
    "most_samples": "rows",
    "test_file": "test",
}
# An argument's name, alone or with a value. What came is no argument.
_ARGUMENT = re.compile(r"(?<!got )`(?P<name>\w+)(?: = (?P<value>[^`]+))?`")
# The argument that an error is about stands first; others are told from the names of
# columns, which may be any, by what only an argument's name has.
_FIRST = re.compile(
    r"(?:^|(?<=Is )|(?<=which ))`(?P<name>\w+)`(?= must|:| = | x | the right| names)"
)
_ANOTHER = re.compile(r"`(?P<name>[a-z]+_[a-z]+)`")
_OF_OTHERS = re.compile(r"[Cc]olumn|Did you mean")
_QUOTED = re.compile(r"`([^`]*)`")
_SENTENCES = re.compile(r"(?<=[.?] )")
_KIND = re.compile(r"valid (integer|number|float)")
_ABOUT_FILES = (DataError, ModelFileError, IdentityError)
_OF_A_FILE = re.compile(r"^`[^`]*\.toml`")  # its settings keep the names that it has


def by_option(exc: DssfnError, options: Mapping[str, str]) -> str:
    """Return an error's text with options in place of the arguments of functions.

    Parameters
    ----------
    exc : DssfnError
        The error. One about a file may name columns, and one about a TOML file its
        keys, some of which are called like options.
    options : mapping
        The options of the command by the names of its function's arguments; also by
        those with " = true" or " = false" behind them, if an option says that alone.

    Examples
    --------
    >>> from dssfn.errors import PlanError
    >>> options = {"nodes": "--nodes", "units": "--units", "secure": "--secure"}
    >>> by_option(PlanError("`n_nodes` must be positive, got 0."), options)
    '`--nodes` must be positive, got 0.'
    >>> by_option(PlanError('Write `units = "dense"` or `secure = false`.'), options)
    'Write `--units dense` or no `--secure`.'
    """
    message = str(exc)
    if _OF_A_FILE.match(message):
        return message

    def option(found: re.Match[str]) -> str:
        name = _ARGUMENTS.get(found["name"], found["name"])
        value = found.groupdict().get("value") or ""
        return _option(name, value, options) or found[0]

    if isinstance(exc, _ABOUT_FILES) or ".toml`" in message:
        return _ANOTHER.sub(option, _FIRST.sub(option, message))
    return "".join(
        (_ANOTHER if _names_others(one) else _ARGUMENT).sub(
            option, _FIRST.sub(option, one)
        )
        for one in _SENTENCES.split(message)
    )


def _names_others(sentence: str) -> bool:
    """Return whether a name in a sentence may be that of a column, file or value."""
    names_file = any(set("./\\") & set(one) for one in _QUOTED.findall(sentence))
    return names_file or _OF_OTHERS.search(sentence) is not None


def _option(name: str, value: str, options: Mapping[str, str]) -> str:
    """Return what to write on the command line; nothing if there is no such option."""
    if name not in options:
        return ""
    if f"{name} = {value}" in options:
        return f"`{options[f'{name} = {value}']}`"
    if value == "false":
        return f"no `{options[name]}`"
    words = value.strip("\"'")
    return f"`{options[name]} {words}`" if words else f"`{options[name]}`"


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

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options; what is wrong is said with what came and the way out."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except Exception as exc:
            if not is_usage_error(exc):
                raise
            exc.ctx = exc.ctx or ctx  # type: ignore[attr-defined]
            said = self._no_number(exc, ctx, given) or self._extra(exc, ctx, given)
            if said:
                ctx.fail(said)
            raise

    def _no_number(self, exc: Exception, ctx: Any, given: list[str]) -> str:
        """Return what to say of a value that should be a number, if that is wrong."""
        kind, param = _KIND.search(str(exc)), getattr(exc, "param", None)
        if kind is None or param is None:
            return ""
        values, _, _ = self.make_parser(ctx).parse_args(given)
        what = "a whole number" if kind[1] == "integer" else "a number"
        return f"`{param.opts[0]}` must be {what}, got {values[param.name]!r}"

    def _extra(self, exc: Exception, ctx: Any, given: list[str]) -> str:
        """Return what to say of data that were named without their option."""
        takes_data = any("--data" in param.opts for param in self.get_params(ctx))
        if not takes_data or "unexpected extra argument" not in str(exc):
            return ""
        _, (extra, *_), _ = self.make_parser(ctx).parse_args(given)
        hint = f" Did you mean `--data {extra}`?" if _is_data(extra) else ""
        return str(exc).rstrip(".") + "." + hint


def _is_data(text: str) -> bool:
    from dssfn.datasets import KNOWN_NAMES  # takes time

    return text in KNOWN_NAMES or Path(text).is_file()


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
