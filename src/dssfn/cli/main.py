"""The `dssfn` command: one file per subcommand, put together here."""

from __future__ import annotations

import io
import signal
import sys
from typing import Annotated

import typer

from dssfn._version import __version__
from dssfn.cli.deferred import add_command
from dssfn.cli.usage import OneVoice, PlainGroup, PlainUsage

app = typer.Typer(
    name="dssfn",
    help="Train one neural network across organisations that cannot pool their data. "
    "Each node exchanges small matrices with its neighbours, and all end up with "
    "the model that one machine holding all the data would have learned.",
    epilog="Start with: dssfn demo",
    cls=PlainUsage,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


node_app = typer.Typer(
    name="node",
    help="Run one node of a real network, over gRPC with mutual TLS.",
    cls=PlainGroup,
    no_args_is_help=True,
)
federation_app = typer.Typer(
    name="federation",
    help="Set up a network of organisations: the plan, a folder for each node, and "
    "certificates.",
    cls=PlainGroup,
    no_args_is_help=True,
)
mpi_app = typer.Typer(
    name="mpi",
    help="Train on the ranks of an MPI job (needs the extra `mpi`).",
    cls=OneVoice,
    no_args_is_help=True,
)

add_command(
    app,
    "demo",
    "dssfn.cli.demo:demo",
    "Try it out: ten nodes on a ring learn digits, each holding one or two of them.",
    "dssfn demo",
)
add_command(
    app,
    "simulate",
    "dssfn.cli.simulate:simulate",
    "Train on a simulated network of nodes and report accuracy and traffic.",
    "dssfn simulate --data digits --nodes 20 --degree 4 --partition by-class "
    "--check-equivalence",
)
add_command(
    app,
    "report",
    "dssfn.cli.report:report",
    "Rebuild a report from the saved metrics, without training again.",
    "dssfn report dssfn-demo",
)
add_command(
    app,
    "audit",
    "dssfn.cli.audit:audit",
    "Play the attacker: what can other nodes learn from a node's messages?",
    "dssfn audit --data digits --nodes 5 --topology star --out audit1",
)
add_command(
    app,
    "topology",
    "dssfn.cli.topology:topology",
    "Show a graph: its links, its spectrum and how many rounds averaging takes.",
    "dssfn topology --nodes 20 --degree 4",
)
add_command(
    app,
    "predict",
    "dssfn.cli.predict:predict",
    "Predict a class or a number for every row of a file, as CSV.",
    "dssfn predict dssfn-demo/model.safetensors dssfn-demo/test.csv",
)
add_command(
    app,
    "evaluate",
    "dssfn.cli.evaluate:evaluate",
    "Measure how well a model predicts the labels of a file.",
    "dssfn evaluate dssfn-demo/model.safetensors dssfn-demo/test.csv --target digit",
)
add_command(
    app,
    "data",
    "dssfn.cli.data:data",
    "Write a well-known data set as CSV files, to try things out on.",
    "dssfn data heart",
)
add_command(
    app,
    "schema",
    "dssfn.cli.schema:schema",
    "Describe the columns of a table as a schema, or merge several schemas.",
    "dssfn schema hospital.csv --target outcome --out schema.toml",
)
add_command(
    app,
    "export",
    "dssfn.cli.export:export",
    "Export a model to ONNX, so that it runs without dssfn.",
    "dssfn export dssfn-demo/model.safetensors model.onnx",
)
add_command(
    app,
    "reproduce",
    "dssfn.cli.reproduce:reproduce",
    "Repeat an experiment of the paper, with dssfn's solvers beside the paper's own.",
    "dssfn reproduce all --quick",
)
add_command(
    app,
    "info",
    "dssfn.cli.info:info",
    "Show what is in a model file.",
    "dssfn info dssfn-demo/model.safetensors",
)
add_command(
    app,
    "card",
    "dssfn.cli.card:card",
    "Write a model card: who trained the model, on what data, and how well it does.",
    "dssfn card dssfn-demo/model.safetensors --out CARD.md",
)
add_command(
    node_app,
    "check",
    "dssfn.cli.node:check",
    "Check that this node is ready to start: data, certificates, port, neighbours.",
    "dssfn node check hospital-a/node.toml",
)
add_command(
    node_app,
    "run",
    "dssfn.cli.node:run",
    "Train with the other nodes; resume from the checkpoint if there is one.",
    "dssfn node run hospital-a/node.toml",
)
add_command(
    node_app,
    "status",
    "dssfn.cli.node_status:status",
    "Show what a running node is doing, and which nodes are connected.",
    "dssfn node status hospital-a/node.toml --watch",
)
add_command(
    node_app,
    "request",
    "dssfn.cli.node:request",
    "Create this node's private key and a certificate request.",
    "dssfn node request north --out north",
)
add_command(
    federation_app,
    "init",
    "dssfn.cli.federation:init",
    "Set up a federation: plan, certificate authority, a folder for each organisation.",
    "dssfn federation init fed --nodes north,south,east --topology circular "
    "--degree 1 --classes yes,no --features age,bmi --target outcome",
)
add_command(
    federation_app,
    "statistics",
    "dssfn.cli.statistics:statistics",
    "Describe the data of all nodes together: exact counts, means, missing values.",
    "dssfn federation statistics hospital-a/node.toml",
)
add_command(
    federation_app,
    "certificate",
    "dssfn.cli.certificates:certificate",
    "Replace a node's key and certificate, because they expire soon or were lost.",
    "dssfn federation certificate fed north",
)
add_command(
    federation_app,
    "sign",
    "dssfn.cli.certificates:sign",
    "Sign a node's certificate request; its private key never leaves the node.",
    "dssfn federation sign fed north node.csr",
)
add_command(
    federation_app,
    "revoke",
    "dssfn.cli.certificates:revoke",
    "Revoke a node's certificates: its key was stolen, or the organisation has left.",
    "dssfn federation revoke fed north",
)
add_command(
    mpi_app,
    "run",
    "dssfn.cli.mpi:run",
    "Train the nodes of a plan, divided among the ranks that mpiexec started.",
    "mpiexec -n 4 dssfn mpi run plan.toml --data digits --out run1",
)
for group in (node_app, federation_app, mpi_app):
    app.add_typer(group)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dssfn {__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    pass


def run() -> None:
    """Run the installed command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may lack some letters
            stream.reconfigure(errors="replace")
    # Asked to stop: leave as tidily as after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    app()
