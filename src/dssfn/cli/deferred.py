"""Commands whose modules are imported when they are wanted.

How this works. `dssfn --help` shows a line about every command. That line stands in
`main.py`, so nothing that trains must be imported to show it. Once a command is named,
its module is imported, and its function takes over with its own options.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar

import typer
import typer.main
from typer.core import TyperCommand

from dssfn.cli.outcome import plain_errors
from dssfn.cli.usage import PlainCommand, by_option


class DeferredCommand(TyperCommand):
    """A command that is known by name and imported when it is used."""

    source: ClassVar[str]  # "module:function"

    def load(self) -> TyperCommand:
        """Import the function, with its options."""
        module, _, name = self.source.partition(":")
        function = getattr(import_module(module), name)
        options: dict[str, str] = {}
        alone = typer.Typer(add_completion=False)
        alone.command(
            self.name, cls=PlainCommand, help=_flowing(function), epilog=self.epilog
        )(plain_errors(function, told=lambda exc: by_option(exc, options)))
        command = typer.main.get_command(alone)
        assert isinstance(command, TyperCommand)
        for one in command.params:
            long = [name for name in one.opts if name.startswith("--")]
            if one.name and long:
                options |= _said_by(one.name, long[0], one)
        return command

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Parse the options as the function itself declares them."""
        return self.load().make_context(info_name, args, parent, **extra)


def _said_by(name: str, option: str, param: Any) -> dict[str, str]:
    """Return what an option stands for: an argument, and a value if it is a flag."""
    found = {name: option}
    if getattr(param, "is_flag", False):
        found[f"{name} = true"] = option
        if param.secondary_opts:
            found[f"{name} = false"] = param.secondary_opts[0]
    return found


def _flowing(function: Callable[..., Any]) -> str:
    """Return a function's docstring, each of its paragraphs in one line."""
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    return "\n\n".join(" ".join(one.split()) for one in paragraphs)


def add_command(
    group: typer.Typer, name: str, source: str, about: str, example: str
) -> None:
    """Add a command to a group.

    Parameters
    ----------
    group : typer.Typer
        The group.
    name : str
        The name of the command.
    source : str
        Where its function is, as in "dssfn.cli.demo:demo".
    about : str
        The first line of the function's docstring.
    example : str
        A command line to begin with.
    """

    class Command(DeferredCommand):
        pass

    Command.source = source
    group.command(name, cls=Command, help=about, epilog=f"Example: {example}")(_nothing)


def _nothing() -> None:
    """Stand in for a function that is not imported yet."""
