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
from dssfn.errors import DataError, PeerTimeout, PlanError, TopologyError
from tests.support.commands import dssfn, wrong

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


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("simulate --data iris --nodes 2.5",
         "`--nodes` must be a whole number, got '2.5'. See `dssfn simulate --help`."),
        ("simulate --loss x", "`--loss` must be a number, got 'x'. See `dssfn sim"),
        ("simulate --layers",
         "Option '--layers' requires an argument. See `dssfn simulate --help`."),
        ("federation init --nodes", "See `dssfn federation init --help`."),
        ("simulate iris", "(iris). Did you mean `--data iris`? See `dssfn simulate"),
        ("simulate nothing", "(nothing). See `dssfn simulate --help`."),
        ("topology iris", "(iris). See `dssfn topology --help`."),
    ],
)  # fmt: skip
def test_a_command_line_that_is_wrong_is_shown_with_its_way_out(args, said):
    assert said in wrong(*args.split())


OPTIONS = {
    "width": "--width", "nodes": "--nodes", "degree": "--degree", "delta": "--delta",
    "test_size": "--test-size", "test": "--test", "features": "--features",
    "sep": "--sep", "deadline": "--deadline", "units": "--units", "secure": "--secure",
    "standardize": "--standardize", "standardize = false": "--no-standardize",
    "standardize = true": "--standardize",
}  # fmt: skip


@pytest.mark.parametrize(
    ("exc", "said"),
    [
        (PlanError("`width` must be positive with `n_nodes`."),
         "`--width` must be positive with `--nodes`."),
        (PlanError("`speed` must be positive."), "`speed` must be positive."),
        (PlanError("Give `n_layers`, `width` and `delta = 1`."),
         "Give `n_layers`, `--width` and `--delta 1`."),
        (TopologyError("`n_nodes` x `degree` must be even."),
         "`--nodes` x `--degree` must be even."),
        (PlanError("`delta` = 0.1 needs `width` of 2."),
         "`--delta` = 0.1 needs `--width` of 2."),
        (PlanError("`delta` is a probability."), "`--delta` is a probability."),
        (PlanError('Write `units = "integer"`, or `secure = false`.'),
         "Write `--units integer`, or no `--secure`."),
        (PlanError("Use `standardize = false` or `standardize = true`."),
         "Use `--no-standardize` or `--standardize`."),
        (PlanError("`test_file` must be left out."), "`--test` must be left out."),
        (PlanError("`n_features` must be 3."), "`--features` must be 3."),
        (PeerTimeout("Missing: node 2. Raise `deadline`."),
         "Missing: node 2. Raise `--deadline`."),
        (DataError("`a.csv`: `test_size` = 0.5 leaves none."),
         "`a.csv`: `--test-size` = 0.5 leaves none."),
        (DataError("`a.csv` has no column `a`. Is `sep` the right one?"),
         "`a.csv` has no column `a`. Is `--sep` the right one?"),
    ],
)  # fmt: skip
def test_an_error_is_about_options(exc, said):
    assert by_option(exc, OPTIONS) == said


@pytest.mark.parametrize(
    "exc",
    [
        DataError("`t.csv`, column `width`: features must be numbers."),
        DataError("`width` does not exist."),
        DataError("No data set `test` was found. Did you mean `test`?"),
        PlanError("Column `width` is missing in `degree`."),
        PlanError("Features must be numbers, but `t.csv` has others in `width`."),
        PlanError("Take another one. Did you mean `width`?"),
        PlanError("A folder is needed, got `width`, which is a file."),
        PlanError("`plan.toml`: it must be positive. Change `width` there."),
    ],
    ids=str,
)
def test_columns_files_and_values_keep_their_names(exc):
    assert by_option(exc, OPTIONS) == str(exc)
