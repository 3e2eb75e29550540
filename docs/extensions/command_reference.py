"""The reference of the command line, written from the program itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import typer.main
from generated import write_page
from sphinx.application import Sphinx

from dssfn.cli.deferred import DeferredCommand
from dssfn.cli.main import app as program

FOLDER = Path(__file__).resolve().parents[1] / "reference" / "commands"


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command with its whole name, as in "dssfn node run"."""
    yield from _below("dssfn", typer.main.get_command(program))


def _below(name: str, group: Any) -> Iterator[tuple[str, Any]]:
    for word, command in group.commands.items():
        whole = f"{name} {word}"
        if hasattr(command, "commands"):
            yield from _below(whole, command)
        else:
            found = isinstance(command, DeferredCommand)
            yield whole, command.load() if found else command


def page(name: str, command: Any) -> str:
    """Return the page of one command in Markdown."""
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    words = " ".join(_in_usage(one) for one in arguments)
    lines = [f"# {name}", "", command.help, ""]
    lines += ["```text", f"{name} [OPTIONS] {words}".rstrip(), "```", ""]
    if command.epilog:
        example = command.epilog.removeprefix("Example: ")
        lines += ["For example:", "", "```text", example, "```", ""]
    lines += _listed("Arguments", arguments)
    lines += _sections(options)
    return "\n".join(lines) + "\n"


def _in_usage(argument: Any) -> str:
    word = str(argument.metavar or argument.name.upper()).strip("[]")
    word += "..." if argument.nargs == -1 else ""
    return word if argument.required else f"[{word}]"


def _sections(params: list[Any]) -> list[str]:
    """Return options by the panels of `--help`, each as a definition list."""
    panels: dict[str, list[Any]] = {}
    for one in params:
        panels.setdefault(one.rich_help_panel or "Options", []).append(one)
    return [line for title, some in panels.items() for line in _listed(title, some)]


def _listed(title: str, params: list[Any]) -> list[str]:
    lines = [f"## {title}", ""] if params else []
    for one in params:
        lines += [_heading(one), f": {_about(one)}", ""]
    return lines


def _heading(param: Any) -> str:
    if param.param_type_name == "argument":
        return f"`{_in_usage(param)}`"
    names = ", ".join(f"`{name}`" for name in [*param.opts, *param.secondary_opts])
    return names if param.is_flag else f"{names} `{_kind(param)}`"


def _kind(param: Any) -> str:
    """Return what an option takes, as in PATH or NUMBER."""
    if param.metavar:
        return str(param.metavar).strip("[]")
    kind = param.type_descriptor.annotation
    (kind,) = get_args(kind) or (kind,)  # of a list, what it holds
    return {str: "TEXT", int: "NUMBER", float: "NUMBER", Path: "PATH"}[kind]


def _about(param: Any) -> str:
    text = " ".join((param.help or "").split()).replace("|", "\\|")
    text = text.replace("<", "&lt;").replace("*", "\\*")
    plain = isinstance(param.default, (str, int, float)) and param.default is not None
    if plain and not isinstance(param.default, bool) and param.default != "":
        text += f" Default: `{param.default}`."
    repeated = getattr(param, "multiple", False) and "repeat" not in text
    text += " May be given several times." if repeated else ""
    if param.required and param.param_type_name == "option":
        text += " Required."
    return text.strip()


def index(named: list[tuple[str, Any]]) -> str:
    """Return the page that lists all commands."""
    lines = [
        "# Command line", "",
        "Every command has `--help`. Those that report something have `--json`, which",
        "prints one JSON object and nothing else; progress goes to standard error.", "",
        "| exit code | meaning |", "|---|---|",
        "| 0 | done |", "| 1 | failed |", "| 2 | wrong input, such as a typo |",
        "| 130, 143 | interrupted, terminated |", "",
        "| command | what it does |", "|---|---|",
    ]  # fmt: skip
    for name, command in named:
        about = command.help.split("\n\n")[0].replace("|", "\\|")
        lines.append(f"| [`{name}`]({_file(name)}) | {about} |")
    lines += ["", "```{toctree}", ":hidden:", ""]
    lines += [_file(name).removesuffix(".md") for name, _ in named]
    return "\n".join([*lines, "```", ""])


def _file(name: str) -> str:
    return name.removeprefix("dssfn ").replace(" ", "-") + ".md"


def _write(app: Sphinx) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    named = list(commands())
    pages = {_file(name): page(name, command) for name, command in named}
    pages["index.md"] = index(named)
    for file, text in pages.items():
        write_page(FOLDER / file, text)
    for path in FOLDER.glob("*.md"):
        if path.name not in pages:
            path.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before the site is built."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
