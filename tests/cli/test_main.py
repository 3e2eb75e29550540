from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stdout

import pytest
import typer.main

from dssfn.cli.deferred import DeferredCommand
from dssfn.cli.main import app
from dssfn.cli.usage import by_option
from tests.support.commands import dssfn

HEAVY = {
    "grpc", "joblib", "matplotlib", "networkx", "numpy", "onnx", "polars", "scipy",
    "sklearn",
}  # fmt: skip


def commands(group):
    for one in group.commands.values():
        if isinstance(one, DeferredCommand):
            yield one
        else:
            yield from commands(one)


def test_what_trains_is_not_imported_until_a_command_needs_it():
    code = (
        "import dssfn, dssfn.cli.main, sys\n"
        f"print(sorted({HEAVY} & set(sys.modules)))\n"
        "from dssfn import *\n"
        "assert {'simulate', 'Plan', 'SSFNClassifier'} <= set(dir())\n"
        "assert set(dssfn.__all__) <= set(dir(dssfn))\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "command",
    list(commands(typer.main.get_command(app))),
    ids=lambda command: command.source,
)
def test_the_line_about_a_command_is_that_of_its_function(command):
    loaded = command.load()
    assert loaded.name == command.name
    assert loaded.help.split("\n\n")[0] == command.help
    assert loaded.epilog == command.epilog


@pytest.mark.parametrize(
    "command",
    list(commands(typer.main.get_command(app))),
    ids=lambda command: command.source,
)
def test_help_flows_and_gives_flags_no_type(command):
    loaded = command.load()
    assert all("\n" not in one for one in loaded.help.split("\n\n"))
    with pytest.raises(typer.Exit), redirect_stdout(io.StringIO()) as shown:
        loaded.make_context(command.name, ["--help"])
    assert "--help" in shown.getvalue()
    assert "<bool>" not in shown.getvalue()


@pytest.mark.parametrize("group", [[], ["node"], ["federation"], ["mpi"]])
def test_help_of_a_group_gives_flags_no_type(group):
    assert "<bool>" not in dssfn(*group, "--help").output


def test_an_error_is_about_the_option_and_columns_keep_their_names():
    options = {"width": "--width", "nodes": "--nodes", "test_size": "--test-size"}
    said = by_option("`width` must be positive with `n_nodes`.", options)
    assert said == "`--width` must be positive with `--nodes`."
    of_a_file = "`t.csv`, column `width`: features must be numbers."
    assert by_option(of_a_file, options) == of_a_file
    assert by_option("`width` does not exist.", options) == "`width` does not exist."
    assert (
        by_option("`speed` must be positive.", options) == "`speed` must be positive."
    )
