"""The training of one node of a real network, over a transport.

How this works. The node agrees with the others on the last layer that all of them have,
goes on from there, and saves a checkpoint after every layer. When a neighbour was
restarted, all nodes do the same again. So a training that is disturbed ends with the
same model, to the last bit, as one that is not.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from dssfn._typing import NodeId
from dssfn.config import Plan
from dssfn.consensus import Averaging
from dssfn.driver import drive
from dssfn.ensemble import AgreedScores
from dssfn.errors import NumericalError, PeerTimeout, Regroup
from dssfn.federation import TRAINING, Federation
from dssfn.node.agreement import Assembly
from dssfn.node.checkpoint import Checkpoints
from dssfn.node.mask_keys import MaskKeys
from dssfn.planning import settle
from dssfn.privacy import NoiseSource
from dssfn.progress import Progress
from dssfn.records import LayerRecord
from dssfn.shard import Samples
from dssfn.topology import Topology
from dssfn.training import Model, is_complete, model_of, scores_of, train_node
from dssfn.transports import WAIT_WHEN_GONE, ResilientTransport

log = logging.getLogger("dssfn.node")

Found = TypeVar("Found")

# Deadlines that a node which is started with all layers waits for others, who may need
# it or may have finished long ago.
WAIT_WHEN_COMPLETE = 2


def settled(federation: Federation) -> tuple[Plan, Averaging]:
    """Return the plan with nothing left open, and its averaging scheme.

    A scheme that is left open becomes a tree, which gives all nodes equal bits.
    """
    plan = federation.training
    if plan.consensus == "auto" and plan.n_rounds is None:
        plan = plan.replace(consensus="tree")
    return settle(plan, federation.topology())


def regrouping(transport: ResilientTransport, attempt: Callable[[], Found]) -> Found:
    """Return what an attempt finds, made again whenever a neighbour was restarted."""
    while True:
        try:
            return attempt()
        except Regroup:
            transport.join()


def all_are_there(transport: ResilientTransport) -> None:
    """Note that all nodes have met: who leaves now is not waited for without end."""
    transport.have_met = True
    transport.patience = WAIT_WHEN_GONE * transport.deadline


@dataclass(slots=True)
class NodeTraining:
    """The training of one node over a transport.

    Parameters
    ----------
    node : int
        The number of this node.
    topology : Topology
        The graph of all nodes.
    plan : Plan
        The plan with nothing left open, as `settled` returns it.
    averaging : Averaging
        The averaging scheme.
    samples : Samples
        This node's data.
    transport : ResilientTransport
        Carries letters to the neighbours.
    checkpoints : Checkpoints
        Where the progress is saved.
    memory, n_threads : int
        Bytes and threads that this node may use; see `train_node`.
    on_layer : callable
        Called after every layer with its record.
    start_deadline : float, optional
        Seconds to wait at the start until all nodes have met; by default without end.
    mask_keys : MaskKeys, optional
        Agrees on masks; without it neighbours see sums of this node.
    noise : NoiseSource, optional
        The noise of a private training, and what it was spent on.
    names : sequence of str
        The names of all nodes; by default they are numbered.
    """

    node: NodeId
    topology: Topology
    plan: Plan
    averaging: Averaging
    samples: Samples
    transport: ResilientTransport
    checkpoints: Checkpoints
    memory: int | None = None
    n_threads: int = 1
    on_layer: Callable[[LayerRecord], None] = lambda record: None
    start_deadline: float | None = None
    mask_keys: MaskKeys | None = None
    noise: NoiseSource | None = None
    names: Sequence[str] = ()
    progress: Progress | None = None  # the layers that are being worked on
    furthest: Progress | None = None  # the most layers that this node ever had
    records: dict[int, LayerRecord] = field(default_factory=dict)

    def run(self) -> Model:
        """Train, from the last checkpoint if there is one."""
        saved = self.checkpoints.load(self.plan)
        self.furthest, self.progress = saved.furthest, saved.latest
        self.records = {record.layer: record for record in saved.records}
        if self.furthest:
            log.info("found layers 0 to %d", self.furthest.n_layers - 1)
        if self.is_complete:
            self.transport.patience = WAIT_WHEN_COMPLETE * self.transport.deadline
        else:
            self.transport.patience = self.start_deadline or math.inf
        try:
            return regrouping(self.transport, self._attempt)
        except PeerTimeout as exc:
            if not self.is_complete:
                raise
            log.info(
                "%s is not there; it is not needed, this node's model is complete",
                exc.peer or "a neighbour",
            )
            assert self.furthest is not None
            return model_of(self.plan, self.furthest)

    @property
    def is_complete(self) -> bool:
        """Whether all layers are solved, or were before nodes went back together."""
        return is_complete(self.plan, self.furthest)

    @property
    def scores(self) -> AgreedScores | None:
        """How good the model is on validation samples, once all layers are solved."""
        return scores_of(self.plan, self.furthest) if self.furthest else None

    def how_to_go_on(self, node: Path) -> str:
        """Return what is saved, and the command that goes on from there."""
        solved = self.furthest.n_layers if self.furthest else 0
        most = "" if self.plan.finds_size else f" of {self.plan.depth + 1}"
        return (
            f"{solved}{most} layers are saved; to go on from there: {TRAINING} {node}"
        )

    def _attempt(self) -> Model:
        """Train from the last common layer to the end."""
        all_nodes = Assembly(self.node, self.topology, self.transport)
        start = all_nodes.common_start(self.furthest, self.progress)
        self.progress = start
        all_are_there(self.transport)  # and may need this node to the end
        masks = stated = None
        if self.mask_keys is not None:  # also for what is sent after the last layer
            masks = self.mask_keys.agree(all_nodes, self.transport, start)
        elif self.plan.is_exact:
            names = self.names or [f"Node {k}" for k in range(self.topology.n_nodes)]
            stated = all_nodes.state(self.samples.weight, names)
        if is_complete(self.plan, start):
            log.info("all nodes have all layers")
        else:
            log.info("layer %d begins", start.n_layers if start else 0)
        program = train_node(
            self.samples,
            self.plan,
            n_nodes=self.topology.n_nodes,
            node=self.node,
            memory=self.memory,
            n_threads=self.n_threads,
            noise=self.noise,
            start=start,
            on_progress=lambda progress: self._solved(progress, all_nodes),
            on_layer=self._record,
        )
        with closing(program):
            drive(
                {self.node: program},
                self.averaging,
                self.transport,
                step=start.n_averagings if start else 0,
                masks=masks,
                stated=stated,
            )
        assert self.progress is not None
        agreed = all_nodes.reconcile(self.progress)
        if agreed is None:
            raise NumericalError("Nodes have ended with different models.")
        if agreed is not self.progress:
            self._save(agreed)
        return model_of(self.plan, self.progress)

    def _solved(self, progress: Progress, all_nodes: Assembly) -> None:
        """Save a layer that was just solved, if all nodes have found the same.

        Nodes that compute with real numbers may have rounded differently; they compare
        their models at the end.
        """
        if self.plan.is_exact:
            all_nodes.check_stage(progress)
        self._save(progress)

    def _save(self, progress: Progress) -> None:
        self.progress = progress
        solved = len(progress.stages)
        if self.furthest is None or solved >= len(self.furthest.stages):
            self.furthest = progress
        records = tuple(self.records[k] for k in sorted(self.records) if k < solved)
        self.checkpoints.save(progress, records)

    def _record(self, record: LayerRecord) -> None:
        self.records[record.layer] = record
        self.on_layer(record)
