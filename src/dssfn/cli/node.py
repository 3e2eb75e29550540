"""`dssfn node check` and `dssfn node run`: one node of a real network."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dssfn.cli.options import Json
from dssfn.cli.outcome import WRONG_INPUT, print_json, screen

# What needs gRPC is imported when it is used: the other commands do without.

MARKS = {True: "ok", False: "WRONG", None: "?"}

NodeFile = Annotated[
    Path, typer.Argument(help="The node's file, or the folder with node.toml in it.")
]


def check(node: NodeFile, json: Json = False) -> None:
    """Find out whether this node could start: data, certificates, port, neighbours."""
    from dssfn.node.preflight import examine
    from dssfn.node.spec import load_node

    findings = []
    for finding in examine(*load_node(node)):
        findings.append(finding)
        if not json:
            mark = MARKS[finding.is_good]
            screen.print(f"{mark:>5}  {finding.what}: {finding.text}", soft_wrap=True)
    is_good = all(finding.is_good is not False for finding in findings)
    if json:
        print_json({"ok": is_good, "findings": [asdict(one) for one in findings]})
    if not is_good:
        raise typer.Exit(WRONG_INPUT)


def run(
    node: NodeFile,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Forget the checkpoint; start anew.")
    ] = False,
    json: Json = False,
) -> None:
    """Train with the other nodes; go on from the checkpoint if there is one."""
    from dssfn.node.launch import launch

    out, result = launch(node, fresh=fresh)
    if json:
        print_json({"out": str(out), **result})
    else:
        screen.print(f"model   {out / result['model']}", soft_wrap=True)
        screen.print(f"sha256  {result['sha256']}", soft_wrap=True)
