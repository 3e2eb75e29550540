"""`dssfn mpi run`: train over the ranks of an MPI job, each with some of the nodes."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from dssfn._typing import NodeId
from dssfn.cli.display import layer_progress, show_outcome
from dssfn.cli.options import Json
from dssfn.cli.outcome import notes
from dssfn.cli.outfolder import out_folder, write_outcome
from dssfn.cli.report import try_to_report
from dssfn.cli.usage import is_usage_error
from dssfn.config import bytes_of
from dssfn.datasets import PARTITIONS
from dssfn.driver import drive
from dssfn.errors import AccuracyWarning, TransportError
from dssfn.exit_codes import WRONG_INPUT
from dssfn.federation import load_federation
from dssfn.mpi.data import SAME_COLUMNS, DataOptions, column_names, open_data
from dssfn.mpi.job import Job
from dssfn.network import Network
from dssfn.planning import settle
from dssfn.results import Equivalence
from dssfn.runs import (
    Experiment,
    OnLayer,
    Outcome,
    outcome_of,
)
from dssfn.simulator import Book, Simulation
from dssfn.summary import predict_test
from dssfn.training import train_node
from dssfn.transports.mpi import MPITransport, share_nodes

# A rank that ended is noticed at once, and one may compute for long between two rounds;
# so this, in units of the plan's `round_deadline`, is for a rank that hangs.
PATIENCE = 100


class OneVoice(TyperGroup):
    """A group of commands that all ranks were given alike: one of them complains."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; wrong usage is shown by the first rank alone."""
        try:
            return super().invoke(ctx)
        except Exception as exc:
            if is_usage_error(exc):
                with suppress(TransportError):
                    if not Job().is_first:
                        raise typer.Exit(WRONG_INPUT) from None
            raise


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
                stack.enter_context(out_folder(out))
        with job.together():
            job.check_alike(columns, SAME_COLUMNS)
        quiet = quiet or not job.is_first
        with layer_progress(federation.training.n_layers, quiet=quiet) as on_layer:
            deadline = federation.round_deadline
            outcome = _train(experiment, hosts, job, on_layer, deadline)
        if outcome is not None:
            if out is not None:
                write_outcome(outcome, out)
            show_outcome(outcome, out, as_json=json)
            if out is not None:
                try_to_report(outcome.result, out, quiet=json)
        job.finish()


def _train(
    experiment: Experiment,
    hosts: Sequence[Sequence[NodeId]],
    job: Job,
    on_layer: OnLayer | None,
    round_deadline: float,
) -> Outcome | None:
    """Train with all ranks; the outcome is known to the first one."""
    start = time.perf_counter()
    result = _run_programs(experiment, hosts, job, on_layer, round_deadline)
    n_train = job.total(sum(shard.n_samples for shard in experiment.shards))
    node_spread = job.largest_spread(
        list(zip(*(network.outputs for network in result.networks), strict=True))
    )
    if not job.is_first:
        return None
    tested = predict_test(result.networks[0], experiment.test)
    return outcome_of(
        experiment,
        result,
        tested,
        n_train,
        equivalence=Equivalence(node_spread=node_spread),
        start=start,
        n_ranks=job.n_ranks,
    )


def _run_programs(
    experiment: Experiment,
    hosts: Sequence[Sequence[NodeId]],
    job: Job,
    on_layer: OnLayer | None,
    round_deadline: float,
) -> Simulation:
    """The training as this rank sees it, with the networks of its own nodes."""
    start = time.perf_counter()
    topology, nodes = experiment.topology, hosts[job.rank]
    with warnings.catch_warnings():
        if not job.is_first:
            warnings.simplefilter("ignore", AccuracyWarning)
        plan, averaging = settle(experiment.plan, topology)
    transport = MPITransport(
        job.comm,
        hosts,
        [(i, j) for i in range(topology.n_nodes) for j in topology.neighbours(i)],
        notice=round_deadline,
        deadline=PATIENCE * round_deadline,
        on_silence=lambda said: notes.print(f"rank {job.rank}: {said}", soft_wrap=True),
    )
    n_cores, memory = job.n_cores(), experiment.memory
    book = Book(on_layer)
    programs = {
        node: train_node(
            samples,
            plan,
            n_nodes=topology.n_nodes,
            memory=None if memory is None else memory // len(nodes),
            n_threads=max(1, n_cores // len(nodes)),
            on_layer=book.write if node == nodes[0] else None,
        )
        for node, samples in zip(nodes, experiment.shards, strict=True)
    }
    networks: dict[NodeId, Network] = drive(
        programs,
        averaging,
        transport,
        n_cores=n_cores,
        on_message=lambda message: book.account(averaging, message),
    )
    transport.close()
    seconds = time.perf_counter() - start
    return book.closed(networks.values(), averaging, seconds)
