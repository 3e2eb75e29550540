"""`dssfn node request`, `check` and `run`: one node of a real network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from dssfn._plain_text import one_line
from dssfn.cli.options import Json
from dssfn.cli.outcome import print_json, show_lines
from dssfn.cli.read_progress import reading_progress
from dssfn.errors import InputError
from dssfn.exit_codes import WRONG_INPUT
from dssfn.results import MODEL_FILE

if TYPE_CHECKING:
    from dssfn.node.preflight import Finding

# What needs gRPC is imported when it is used: the other commands do without.

MARKS = {True: "ok", False: "WRONG", None: "?"}

NodeFile = Annotated[
    Path, typer.Argument(help="The node's file node.toml, or its folder.")
]


def check(node: NodeFile, json: Json = False) -> None:
    """Check that this node is ready to start: data, certificates, port, neighbours."""
    from dssfn.node.preflight import examine
    from dssfn.node.spec import load_node

    findings = []
    for finding in _while_reading(examine(*load_node(node))):
        findings.append(finding)
        if not json:
            mark = MARKS[finding.is_good]
            show_lines(f"{mark:>5}  {finding.what}: {one_line(finding.text)}")
    is_good = all(finding.is_good is not False for finding in findings)
    if json:
        print_json({"ok": is_good, "findings": [asdict(one) for one in findings]})
    if not is_good:
        raise typer.Exit(WRONG_INPUT)


def _while_reading(findings: Iterator[Finding]) -> Iterator[Finding]:
    """Show how far files are read, but not while a finding is printed."""
    while True:
        with reading_progress():
            finding = next(findings, None)
        if finding is None:
            return
        yield finding


def run(
    node: NodeFile,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Ignore the checkpoint and start from scratch."),
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Record all messages that this node receives, for `dssfn audit`.",
        ),
    ] = None,
    log_format: Annotated[
        str | None,
        typer.Option(
            help="How the log is written: text, or json, one object a line.",
            show_default="as in the node's file, else text",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Train with the other nodes; resume from the checkpoint if there is one."""
    from dssfn.node.launch import launch
    from dssfn.node.page import Rendering
    from dssfn.report.status.page import POLICY, make_status_page

    out, result = launch(
        node,
        fresh=fresh,
        record=record,
        log_format=log_format,
        page=Rendering(make_status_page, POLICY),
        while_reading=reading_progress,
    )
    if json:
        print_json({"out": str(out), **msgspec.to_builtins(result)})
    else:
        show_lines(f"model   {out / MODEL_FILE}\nsha256  {result.sha256}")


def request(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The node's name in the plan.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the key and the request.")
    ] = Path(),
    json: Json = False,
) -> None:
    """Create this node's private key and a certificate request.

    The private key stays here. Send the request, node.csr, to the organiser, who runs
    `dssfn federation sign`, or to your own certificate authority. Nothing is ever
    overwritten.
    """
    if name.endswith(".toml"):  # as the other commands take it
        raise InputError(
            f"`NAME` must be the node's name in the plan, not a file; got {name!r}."
        )
    from dssfn.setup.certificate_request import in_groups, write_request

    made = write_request(name, out)
    if json:
        print_json(
            {
                "name": name,
                "key": str(made.key),
                "request": str(made.request),
                "fingerprint": made.fingerprint,
            }
        )
        return
    text = _REQUESTED.format(
        name=name,
        key=made.key,
        request=made.request,
        fingerprint=in_groups(made.fingerprint),
    )
    show_lines(text)


_REQUESTED = """A new key for {name}, and a request for its certificate:
    {key}
    {request}
Send the request to the organiser, who signs it with `dssfn federation sign`. Keep the
key on this machine: whoever has it can pose as {name}. Its fingerprint is
    {fingerprint}
Read it out to the organiser on the telephone, so that both of you know that nobody
replaced the request on its way. Put the files that come back (node.crt, ca.crt and
crl.pem) beside the key."""
