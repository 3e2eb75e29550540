"""`dssfn mpi run`: train over the ranks of an MPI job, each with some of the nodes."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from dssfn.cli.console import notes
from dssfn.cli.options import (
    DATA,
    TRAINING,
    DataDir,
    JsonOutput,
    Out,
    Quiet,
    Target,
    TestFile,
    TestSize,
    option,
)
from dssfn.cli.presentation import Presentation
from dssfn.cli.reading import reads_files
from dssfn.config import bytes_of
from dssfn.datasets import PARTITIONS
from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.federation import load_federation
from dssfn.mpi.data import SAME_COLUMNS, column_names, open_data
from dssfn.mpi.engine import train_with_ranks
from dssfn.mpi.job import Job
from dssfn.runs import DataOptions
from dssfn.transports.mpi import share_nodes

ONE_USER = (
    "Messages between ranks were masked, but that hides nothing from whoever runs the "
    "job: a rank holds its nodes' rows, and one machine often runs several ranks."
)


@partial(reads_files, checked=lambda: Job().together())
def run(
    plan: Annotated[
        Path,
        typer.Argument(
            metavar="PLAN.toml",
            help="The plan: nodes, graph and training settings, the same on all ranks.",
        ),
    ],
    data: Annotated[
        str,
        option(
            "Each node's own file, such as 'data/{node}.csv' (or {number}, {rank}); "
            "or one data set, by name or file, that all ranks load and divide.",
            DATA,
        ),
    ],
    target: Target = None,
    partition: Annotated[
        str | None,
        option(
            f"How one data set is divided among the nodes: {', '.join(PARTITIONS)}.",
            DATA,
            show_default="iid",
        ),
    ] = None,
    test: TestFile = None,
    test_size: TestSize = 0.25,
    data_dir: DataDir = None,
    read: ReadOptions = ALL,
    memory: Annotated[
        str | None,
        option("Memory limit of a rank, such as 2GB; the rest goes to disk.", TRAINING),
    ] = None,
    out: Out = None,
    json: JsonOutput = False,
    quiet: Quiet = False,
) -> None:
    """Train the nodes of a plan, divided among the ranks that mpiexec started.

    Rank 0 prints the metrics and writes the model, which is the same on all ranks.
    """
    job = Job()
    output = Presentation(out, as_json=json, quiet=quiet or not job.is_first)
    options = DataOptions(data, target, partition, test, test_size, data_dir, read)
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
            run = open_data(options, federation, hosts, job.rank, budget)
            columns = column_names(run)
            if job.is_first:
                stack.enter_context(output.folder())
        with job.together():
            job.check_alike(columns, SAME_COLUMNS)
        with output.progress(federation.training) as on_layer:
            outcome = train_with_ranks(
                run,
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
            if run.secure and not (quiet or json):
                notes.print(ONE_USER, soft_wrap=True)
        job.finish()
