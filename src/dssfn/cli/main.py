"""The `dssfn` command: one file per subcommand, put together here."""

from __future__ import annotations

import io
import signal
import sys
from typing import Annotated

import typer

from dssfn._version import __version__
from dssfn.cli import mpi, node
from dssfn.cli.certificates import certificate, sign
from dssfn.cli.demo import demo
from dssfn.cli.federation import init
from dssfn.cli.model import evaluate, info, predict
from dssfn.cli.outcome import plain_errors
from dssfn.cli.report import report
from dssfn.cli.reproduce import reproduce
from dssfn.cli.simulate import simulate
from dssfn.cli.topology import topology
from dssfn.cli.usage import PlainUsage

app = typer.Typer(
    name="dssfn",
    help="Train one neural network across nodes that cannot pool their data: "
    "they exchange small matrices with their neighbours, and all end with the model "
    "that one machine holding all the data would have learned.",
    epilog="Start with: dssfn demo",
    cls=PlainUsage,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _example(text: str) -> str:
    return f"Example: {text}"


app.command(epilog=_example("dssfn demo"))(plain_errors(demo))
app.command(
    epilog=_example(
        "dssfn simulate --data digits --nodes 20 --degree 4 --partition by-class "
        "--layers 5 --width 200 --check-equivalence"
    )
)(plain_errors(simulate))
app.command(epilog=_example("dssfn report dssfn-demo"))(plain_errors(report))
app.command(epilog=_example("dssfn topology --nodes 20 --degree 4"))(
    plain_errors(topology)
)
app.command(
    epilog=_example("dssfn predict dssfn-demo/model.safetensors dssfn-demo/test.csv")
)(plain_errors(predict))
app.command(
    epilog=_example(
        "dssfn evaluate dssfn-demo/model.safetensors dssfn-demo/test.csv --target digit"
    )
)(plain_errors(evaluate))
app.command(epilog=_example("dssfn reproduce all --quick"))(plain_errors(reproduce))
app.command(epilog=_example("dssfn info dssfn-demo/model.safetensors"))(
    plain_errors(info)
)

node_app = typer.Typer(
    name="node",
    help="One node of a real network, over gRPC with TLS on both sides.",
    no_args_is_help=True,
)
node_app.command(epilog=_example("dssfn node check hospital-a/node.toml"))(
    plain_errors(node.check)
)
node_app.command(epilog=_example("dssfn node run hospital-a/node.toml"))(
    plain_errors(node.run)
)
node_app.command(epilog=_example("dssfn node request north --out north"))(
    plain_errors(node.request)
)
app.add_typer(node_app)

federation_app = typer.Typer(
    name="federation",
    help="Set up a network of organisations: the plan, a folder for every node, and "
    "certificates.",
    no_args_is_help=True,
)
federation_app.command(
    epilog=_example(
        "dssfn federation init fed --nodes north,south,east --topology circular "
        "--degree 1 --classes yes,no --features age,bmi --target outcome"
    )
)(plain_errors(init))
federation_app.command(epilog=_example("dssfn federation certificate fed north"))(
    plain_errors(certificate)
)
federation_app.command(epilog=_example("dssfn federation sign fed north node.csr"))(
    plain_errors(sign)
)
app.add_typer(federation_app)

mpi_app = typer.Typer(
    name="mpi",
    help="Train over the ranks of an MPI job (needs the extra `mpi`).",
    cls=mpi.OneVoice,
    no_args_is_help=True,
)
mpi_app.command(
    "run",
    epilog=_example("mpiexec -n 4 dssfn mpi run plan.toml --data digits --out run1"),
)(plain_errors(mpi.run))
app.add_typer(mpi_app)


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
            help="Print the version and end.",
        ),
    ] = False,
) -> None:
    pass


def run() -> None:
    """Entry point of the installed command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal may lack some letters
            stream.reconfigure(errors="replace")
    # Asked to stop: leave as tidily as after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    app()
