"""Federations that the command line sets up."""

from __future__ import annotations

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
