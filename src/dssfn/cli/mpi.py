"""`dssfn mpi run`: train over the ranks of an MPI job, each with some of the nodes."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from dssfn.cli.options import Json
from dssfn.cli.outcome import notes
from dssfn.cli.presentation import Presentation
from dssfn.config import bytes_of
from dssfn.datasets import PARTITIONS
from dssfn.federation import load_federation
from dssfn.mpi.data import SAME_COLUMNS, column_names, open_data
from dssfn.mpi.engine import train_with_ranks
from dssfn.mpi.job import Job
from dssfn.runs import DataOptions
from dssfn.transports.mpi import share_nodes


def run(
    plan: Annotated[
        Path,
        typer.Argument(
            metavar="PLAN.toml", help="Nodes, graph and training: the same everywhere."
        ),
    ],
    data: Annotated[
        str,
        typer.Option(
            help="Every node's file, as in 'data/{node}.csv' (or {number}, {rank}); or "
            "a name or file that all ranks load and divide."
        ),
    ],
    target: Annotated[
        str | None, typer.Option(help="The column of labels in a file.")
    ] = None,
    partition: Annotated[
        str | None,
        typer.Option(
            help="How samples that all ranks load are divided: "
            f"{', '.join(PARTITIONS)}.",
            show_default="iid",
        ),
    ] = None,
    test: Annotated[Path | None, typer.Option(help="A file to test on.")] = None,
    test_size: Annotated[
        float, typer.Option(help="Share to test on of a set that is not split.")
    ] = 0.25,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of NAME.npz files (or DSSFN_DATA_DIR).")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(help="Budget of a rank, such as 2GB; the rest goes to disk."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the model, figures and report.")
    ] = None,
    json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Train on the nodes of a plan, which the ranks started by mpiexec share.

    Rank 0 prints the figures and writes the model, which is the same on all of them.
    """
    job = Job()
    output = Presentation(out, as_json=json, quiet=quiet or not job.is_first)
    options = DataOptions(data, target, partition, test, test_size, data_dir)
    with job.or_abort(), ExitStack() as stack:
        with job.together():
            federation = load_federation(plan)
            hosts = share_nodes(len(federation.nodes), job.n_ranks)
            budget = None if memory is None else bytes_of(memory)
        with job.together():
            job.check_alike(
                federation.agreed() + repr(options).encode(),
                "All ranks must be given the same plan and options.",
            )
        with job.together():
            experiment = open_data(options, federation, hosts, job.rank, budget)
            columns = column_names(experiment)
            if job.is_first:
                stack.enter_context(output.folder())
        with job.together():
            job.check_alike(columns, SAME_COLUMNS)
        with output.progress(federation.training.n_layers) as on_layer:
            outcome = train_with_ranks(
                experiment,
                hosts,
                job,
                round_deadline=federation.round_deadline,
                on_layer=on_layer,
                on_silence=lambda said: notes.print(
                    f"rank {job.rank}: {said}", soft_wrap=True
                ),
            )
        if outcome is not None:
            output.write(outcome)
            output.show(outcome)
        job.finish()
