"""Federations that the command line sets up."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from dssfn.node.identity import read_identity
from dssfn.node.spec import load_node
from tests.support.commands import dssfn, wrong

DATA = ("--classes", "yes,no", "--features", "age,bmi")


def init(folder, *args, nodes="a,b,c,d"):
    result = dssfn("federation", "init", folder, "--nodes", nodes, *args)
    assert result.exit_code == 0, result.output
    return result.stdout


def change_plan(folder, **settings):
    """Change settings of a federation that were written, in all copies of its plan."""
    for path in Path(folder).rglob("plan.toml"):
        text = path.read_text()
        for name, value in settings.items():
            text, n = re.subn(f"(?m)^{name} = [^ ]+", f"{name} = {value}", text)
            assert n == 1, name
        path.write_text(text)


def refused(folder, *args, nodes="a,b,c,d"):
    error = wrong("federation", "init", folder, "--nodes", nodes, *args)
    assert not Path(folder).exists()
    return error


def identity(folder):
    """As a node would read it, from its own folder alone."""
    spec, _ = load_node(folder / "node.toml")
    return read_identity(spec.certificate, spec.key, spec.authorities, spec.name)


def run_nodes(fed, names):
    """Run `dssfn node run` in every folder at once; all must end well."""
    command = [sys.executable, "-m", "dssfn", "node", "run", "node.toml"]
    running = [
        subprocess.Popen(
            command, cwd=fed / name, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for name in names
    ]
    try:
        for process in running:
            _, errors = process.communicate(timeout=600)
            assert process.returncode == 0, errors
    finally:
        for process in running:
            process.kill()
            process.communicate()
