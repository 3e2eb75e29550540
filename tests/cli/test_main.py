from __future__ import annotations

import subprocess
import sys

import pytest
import typer.main

from dssfn.cli.deferred import DeferredCommand
from dssfn.cli.main import app

HEAVY = {
    "grpc", "joblib", "matplotlib", "networkx", "numpy", "polars", "scipy", "sklearn",
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
