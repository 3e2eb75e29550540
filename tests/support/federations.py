"""Federations that the command line sets up."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from dssfn.node.identity import read_identity
from dssfn.node.spec import load_node
from tests.support.commands import dssfn, wrong
from tests.support.lab import free_port

ROOT = Path(__file__).parents[2]
DATA = ("--classes", "yes,no", "--features", "age,bmi")


def init(folder, *args, nodes="a,b,c,d"):
    few = ("--min-nodes", 2)
    result = dssfn("federation", "init", folder, "--nodes", nodes, *few, *args)
    assert result.exit_code == 0, result.output
    return result.stdout


def local(folder, names, *args):
    """A federation on free ports of this machine."""
    addresses = [f"--address={name}=127.0.0.1:{free_port()}" for name in names]
    init(folder, "--round-deadline", 5, *args, *addresses, nodes=",".join(names))
    return folder


def start(folder, name, command, *options, program=("dssfn",)):
    """Start a command at one node.

    `{name}` in the program or an option is the node's name.
    """
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    words = [*program, *command.split(), folder / name, *options]
    return subprocess.Popen(
        [sys.executable, "-m", *(str(one).format(name=name) for one in words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
    )


def run_all(folder, names, command, *options, **settings):
    """Run a command at all nodes at once; their outputs by name. All must end well."""
    running = {
        name: start(folder, name, command, *options, **settings) for name in names
    }
    try:
        ended = {name: one.communicate(timeout=600) for name, one in running.items()}
    finally:
        for one in running.values():
            one.kill()
    for name, one in running.items():
        assert one.returncode == 0, ended[name]
    return ended


def change_plan(folder, **settings):
    """Change settings of a federation that were written, in all copies of its plan."""
    for path in Path(folder).rglob("plan.toml"):
        text = path.read_text()
        for name, value in settings.items():
            text, n = re.subn(f"(?m)^{name} = [^ ]+", f"{name} = {value}", text)
            assert n == 1, name
        path.write_text(text)


def change_node(folder, old, new):
    """Change a line of a node's file."""
    path = folder / "node.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def refused(folder, *args, nodes="a,b,c,d"):
    few = ("--min-nodes", 2)
    error = wrong("federation", "init", folder, "--nodes", nodes, *few, *args)
    assert not Path(folder).exists()
    return error


def identity(folder):
    """As a node would read it, from its own folder alone."""
    spec, _ = load_node(folder / "node.toml")
    return read_identity(spec.certificate, spec.key, spec.authorities, spec.name)
