"""The training of one rank's nodes, with the other ranks of the job."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence

from dssfn._typing import NodeId
from dssfn.driver import drive
from dssfn.errors import AccuracyWarning
from dssfn.hosting import Book, Simulation, start_programs
from dssfn.mpi.job import Job
from dssfn.mpi.mask_keys import BEFORE, agree_masks
from dssfn.planning import settle
from dssfn.results import Equivalence
from dssfn.runs import OnLayer, Outcome, Run, outcome_of
from dssfn.scoring import predict_test
from dssfn.statement import state_weights
from dssfn.transports.mpi import MPITransport

# A rank that ended is noticed at once, and one may compute for long between two rounds;
# so this many of the plan's round deadlines are for a rank that hangs.
DEADLINES_UNTIL_HUNG = 100


def train_with_ranks(
    run: Run,
    hosts: Sequence[Sequence[NodeId]],
    job: Job,
    *,
    round_deadline: float,
    on_layer: OnLayer | None,
    on_silence: Callable[[str], None],
) -> Outcome | None:
    """Train with all ranks of a job; the first of them gets the outcome.

    Parameters
    ----------
    run : Run
        The training, with the shards of this rank's nodes.
    hosts : sequence of sequences
        The nodes of every rank.
    job : Job
        All ranks of the MPI job.
    round_deadline : float
        Seconds after which a waiting rank says whom it waits for.
    on_layer : callable, optional
        Called with every finished layer and its traffic.
    on_silence : callable
        Called with what a waiting rank says.
    """
    start = time.perf_counter()
    simulation = _run_programs(run, hosts, job, round_deadline, on_layer, on_silence)
    n_train = job.total(sum(shard.n_samples for shard in run.shards))
    node_spread = job.largest_spread(
        list(zip(*(network.outputs for network in simulation.networks), strict=True))
    )
    if not job.is_first:
        return None
    return outcome_of(
        run,
        simulation,
        predict_test(simulation.networks[0], run.test),
        n_train,
        equivalence=Equivalence(node_spread=node_spread),
        start=start,
        n_ranks=job.n_ranks,
    )


def _run_programs(
    run: Run,
    hosts: Sequence[Sequence[NodeId]],
    job: Job,
    round_deadline: float,
    on_layer: OnLayer | None,
    on_silence: Callable[[str], None],
) -> Simulation:
    """Return the training as this rank sees it, with the networks of its own nodes."""
    start = time.perf_counter()
    topology, nodes = run.topology, hosts[job.rank]
    with warnings.catch_warnings():
        if not job.is_first:
            warnings.simplefilter("ignore", AccuracyWarning)
        plan, averaging = settle(run.plan, topology)
    transport = MPITransport(
        job.comm,
        hosts,
        [(i, j) for i in range(topology.n_nodes) for j in topology.neighbours(i)],
        notice=round_deadline,
        deadline=DEADLINES_UNTIL_HUNG * round_deadline,
        on_silence=on_silence,
    )
    n_cores, book = job.n_cores(), Book(on_layer)
    programs = start_programs(
        run.shards,
        plan,
        nodes=nodes,
        n_nodes=topology.n_nodes,
        memory=run.memory,
        n_threads=max(1, n_cores // len(nodes)),
        book=book,
    )
    masks = stated = None
    if run.secure and topology.n_nodes > 1:
        masks = agree_masks(nodes, topology, transport, run.mask_degree)
    elif plan.is_exact:
        stated = state_weights(
            transport,
            topology,
            {node: shard.weight for node, shard in zip(nodes, run.shards, strict=True)},
            [f"Node {node}" for node in range(topology.n_nodes)],
            layer=BEFORE,
            step=0,
        )
    networks = drive(
        dict(zip(nodes, programs, strict=True)),
        averaging,
        transport,
        n_cores=n_cores,
        masks=masks,
        stated=stated,
        on_message=lambda message: book.account(averaging, message),
    )
    transport.close()
    seconds = time.perf_counter() - start
    return book.closed(networks.values(), averaging, seconds)
