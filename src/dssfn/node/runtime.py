"""The training of one node of a real network, over a transport.

How this works. The node agrees with the others on the last layer that all of them have,
goes on from there, and saves a checkpoint after every layer. When a neighbour was
restarted, all nodes do the same again. So a training that is disturbed ends with the
same model, to the last bit, as one that is not.

Where the plan has a quorum, every attempt begins with a roll call (`gather`), and those
who are there go on with the furthest course of any of them (`dssfn.node.adoption`).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from dssfn._typing import NodeId, Numbers
from dssfn.config import Plan
from dssfn.consensus import Averaging, Tree
from dssfn.driver import drive
from dssfn.ensemble import AgreedScores
from dssfn.errors import NumericalError, PeerTimeout, ProtocolError, Regroup
from dssfn.federation import TRAINING
from dssfn.influence import Stated
from dssfn.masking import Masks
from dssfn.node.adoption import Rules, adopt
from dssfn.node.agreement import Assembly
from dssfn.node.attended import AttendedFile
from dssfn.node.checkpoint import Checkpoints, fingerprint
from dssfn.node.course import Course, members_at
from dssfn.node.mask_keys import MaskKeys
from dssfn.privacy import NoiseSource
from dssfn.programs import MembersOf
from dssfn.progress import Progress
from dssfn.records import LayerRecord
from dssfn.shard import Samples
from dssfn.statement import weigh_together
from dssfn.topology import Topology, from_edges
from dssfn.training import Model, is_complete, model_of, scores_of, train_node
from dssfn.transports import WAIT_WHEN_GONE, Renumbered, ResilientTransport

log = logging.getLogger("dssfn.node")

Found = TypeVar("Found")

# Deadlines that a node which is started with all layers waits for others, who may need
# it or may have finished long ago.
WAIT_WHEN_COMPLETE = 2


def regrouping(transport: ResilientTransport, attempt: Callable[[], Found]) -> Found:
    """Return what an attempt finds, made again whenever a neighbour was restarted."""
    while True:
        try:
            return attempt()
        except Regroup:
            transport.join()


def all_are_there(transport: ResilientTransport, leave_after: float = 0.0) -> None:
    """Note that all nodes have met: who leaves now is not waited for without end."""
    transport.have_met = True
    transport.patience = WAIT_WHEN_GONE * max(transport.deadline, leave_after)


@dataclass(frozen=True, slots=True)
class Elastic:
    """How a node goes on without some of the others.

    Parameters
    ----------
    attended : AttendedFile
        Where it writes down how far it has come.
    leave_after : float
        Seconds after which a node that is gone is left out.
    quorum : int
        The fewest nodes that may train.
    """

    attended: AttendedFile
    leave_after: float
    quorum: int


@dataclass(frozen=True, slots=True)
class Company:
    """Those who take part in an attempt.

    Parameters
    ----------
    everybody : Assembly
        How this node meets them, under numbers of this attempt.
    members : tuple of int
        Their numbers in the plan.
    averaging : Averaging
        How they average.
    epoch : int
        The number of the attempt.
    """

    everybody: Assembly
    members: tuple[NodeId, ...]
    averaging: Averaging
    epoch: int

    @property
    def node(self) -> NodeId:
        """The number of this node in the attempt."""
        return self.everybody.node


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
        The plan with nothing left open, as `settle_federation` returns it.
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
    elastic : Elastic, optional
        How to go on without some of the others; by default all must be there.
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
    elastic: Elastic | None = None
    members: tuple[NodeId, ...] | None = None  # who takes part, if not all must
    course: Course = field(default_factory=Course)  # what was found, and by whom
    progress: Progress | None = None  # the layers that are being worked on
    furthest: Progress | None = None  # the most layers that this node ever had
    records: dict[int, LayerRecord] = field(default_factory=dict)

    def run(self) -> Model:
        """Train, from the last checkpoint if there is one."""
        self._load()
        if self._may_end_alone:
            # Others first wait for those who are gone.
            leave_after = self.elastic.leave_after if self.elastic else 0.0
            patience = WAIT_WHEN_COMPLETE * self.transport.deadline + leave_after
            self.transport.patience = patience
        else:
            self.transport.patience = self.start_deadline or math.inf
        try:
            return regrouping(self.transport, self._attempt_or_end)
        except PeerTimeout as exc:
            if not self._may_end_alone:
                raise
            log.info(
                "%s is not connected, but no longer needed: this node's model is "
                "complete",
                exc.peer or "a neighbour",
                extra={"peer": exc.peer},
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

    @property
    def took_part(self) -> list[tuple[str, ...]]:
        """The names of those whose sums each stage was solved from, if that differs."""
        n_nodes, stints = self.topology.n_nodes, self.course.stints
        if not self.elastic or all(len(one.members) == n_nodes for one in stints):
            return []  # what comes before layer 0 counts as well
        return [self._named(members) for members in self.course.took_part()]

    def how_to_go_on(self, node: Path) -> str:
        """Return what is saved, and the command that goes on from there."""
        solved = self.furthest.n_layers if self.furthest else 0
        if not solved:
            return f"No layer is finished yet. Start again with: {TRAINING} {node}"
        most = "" if self.plan.finds_size else f" of {self.plan.depth + 1}"
        are = "layer is" if solved == 1 and not most else "layers are"
        return f"{solved}{most} {are} saved; to resume from there: {TRAINING} {node}"

    def _load(self) -> None:
        saved = self.checkpoints.load(self.plan)
        self.furthest, self.progress = saved.furthest, saved.latest
        self.records = {record.layer: record for record in saved.records}
        if self.elastic:  # fewer layers may be the later ones
            self.furthest = saved.latest
            self.course = Course(saved.latest, saved.totals, saved.stints)
            if self._may_end_alone:
                self.transport.finish()
        if self.furthest:
            last = self.furthest.n_layers - 1
            text = "resuming after layer %d, from the checkpoint"
            log.info(text, last, extra={"layer": last})

    @property
    def _may_end_alone(self) -> bool:
        """Whether the model is finished, whatever the others do."""
        if self.elastic and not self.elastic.attended.read().is_done:
            return False
        return self.is_complete

    def _attempt_or_end(self) -> Model:
        """Train to the end; a model that another member has finished is the same."""
        try:
            return self._attempt()
        except Regroup:
            if not (self.elastic and self.is_complete and self.transport.is_settled):
                raise
            self._settle()
            assert self.progress is not None
            return model_of(self.plan, self.progress)

    def _attempt(self) -> Model:
        """Train from the last common layer to the end."""
        here = self._company()
        self._start(here)
        leave_after = self.elastic.leave_after if self.elastic else 0.0
        all_are_there(self.transport, leave_after)  # and may need this node to the end
        if not (self.elastic and is_complete(self.plan, self.progress)):
            self._train(here)
        self._end(here)
        assert self.progress is not None
        return model_of(self.plan, self.progress)

    def _company(self) -> Company:
        """Return those who take part: all nodes, or those who are there."""
        group = self.transport.gather() if self.elastic else None
        if group is None:
            return Company(
                Assembly(self.node, self.topology, self.transport),
                tuple(range(self.topology.n_nodes)),
                self.averaging,
                self.transport.epoch,
            )
        self.members = group.members
        here = {node: number for number, node in enumerate(group.members)}
        topology = from_edges(len(here), [(here[i], here[j]) for i, j in group.edges])
        absent = [k for k in range(self.topology.n_nodes) if k not in here]
        log.info(
            "attempt %d: taking part are %s%s",
            group.epoch,
            ", ".join(self._named(group.members)),
            f"; without {', '.join(self._named(absent))}" if absent else "",
            extra={"epoch": group.epoch},
        )
        return Company(
            Assembly(
                here[self.node], topology, Renumbered(self.transport, group.members)
            ),
            group.members,
            Tree(topology),
            group.epoch,
        )

    def _named(self, nodes: Sequence[NodeId]) -> tuple[str, ...]:
        return tuple(self.names[k] if self.names else f"Node {k}" for k in nodes)

    def _start(self, here: Company) -> None:
        """Find what all go on from."""
        if self.elastic is None:
            self.progress = here.everybody.common_start(self.furthest, self.progress)
            self.course = Course(self.progress)
            return
        before = self.course
        rules = Rules(self.plan, self.topology.n_nodes, self.elastic.quorum)
        found = adopt(here.everybody, before, rules, epoch=here.epoch)
        self._check_quorum(found, here)
        self.course, self.progress = found, found.progress
        if self.course is not before:
            self.elastic.attended.forget_model()
            self.furthest = self.progress
            self._keep()

    def _check_quorum(self, found: Course, here: Company) -> None:
        """Refuse to train with too few: they may only have a model that is finished."""
        assert self.elastic is not None
        n_members, quorum = len(here.members), self.elastic.quorum
        if n_members < quorum and not is_complete(self.plan, found.progress):
            raise ProtocolError(
                f"A node claims to hold the finished model but does not: {n_members} "
                f"nodes are connected, and {quorum} must be to train (`quorum`). Ask "
                "all organisations what their nodes run, then start this node again."
            )

    def _train(self, here: Company) -> None:
        """Solve all layers that are left."""
        start = self.progress
        first = start.n_averagings if start else 0
        masks, stated = self._protection(here, first)
        if is_complete(self.plan, start):
            log.info("all nodes have all layers")
        else:
            layer = start.n_layers if start else 0
            log.info("layer %d begins", layer, extra={"layer": layer})
        program = train_node(
            self.samples,
            self.plan,
            # What was found before may be of more nodes than are here.
            n_nodes=self.topology.n_nodes if self.elastic else len(here.members),
            node=here.node,
            memory=self.memory,
            n_threads=self.n_threads,
            noise=self.noise,
            members_of=self._members_of(here) if self.elastic else None,
            start=start,
            on_progress=lambda progress: self._solved(progress, here),
            on_layer=self._record,
        )
        with closing(program):
            drive(
                {here.node: program},
                here.averaging,
                here.everybody.transport,
                # Where nodes may come and go, one averaging came before.
                step=first + (1 if self.elastic else 0),
                masks=masks,
                stated=stated,
                known=self.course.totals,
                on_total=lambda total: self._heard(total, here),
            )

    def _members_of(self, here: Company) -> MembersOf:
        """Return what tells who takes part in an averaging, by its number."""
        before = self.course

        def members(number: int) -> tuple[NodeId, ...]:
            is_found = number < before.n_found
            return members_at(before.stints, number) if is_found else here.members

        return members

    def _protection(
        self, here: Company, step: int
    ) -> tuple[Masks | None, Stated | None]:
        """Return the masks of an attempt, and what nodes have stated of their samples.

        Where nodes may come and go, those who are there find what they weigh together.
        """
        everybody = here.everybody
        if self.mask_keys is None:
            if not self.plan.is_exact:
                return None, None
            names = self._named(here.members)
            return None, everybody.state(self.samples.weight, names)
        # Also for what is sent after the last layer.
        masks = self.mask_keys.agree(everybody, here.epoch, self.progress, here.members)
        if self.elastic is None:
            return masks, None
        weighing = {here.node: weigh_together(self.samples.weight)}
        found = drive(
            weighing, here.averaging, everybody.transport, step=step, masks=masks
        )
        return masks, found[here.node]

    def _heard(self, total: Numbers, here: Company) -> None:
        """Keep a total until its layer is solved, if members may leave before."""
        if self.elastic:
            assert total.dtype == np.int64
            self.course = self.course.heard(total, here.epoch, here.members)
            self._keep()

    def _end(self, here: Company) -> None:
        """Compare the models of all who take part."""
        assert self.progress is not None
        if self.elastic is None:
            agreed = here.everybody.reconcile(self.progress)
            if agreed is None:
                raise NumericalError("Nodes ended up with different models.")
            if agreed is not self.progress:
                self._save(agreed)
            return
        if not here.everybody.have_same(fingerprint(self.progress)):
            raise NumericalError("Nodes ended up with different models.")
        self._settle()
        if self.transport.newcomers:
            raise Regroup("A node has joined that lacks the finished model.")

    def _settle(self) -> None:
        """Take the model as finished: all members of the group have it."""
        assert self.elastic is not None
        epoch = self.elastic.attended.read().epoch
        self.elastic.attended.write(epoch, is_done=True)
        self.transport.finish()

    def _solved(self, progress: Progress, here: Company) -> None:
        """Save a layer that was just solved, if all nodes have found the same.

        Nodes that compute with real numbers may have rounded differently; they compare
        their models at the end.
        """
        if self.elastic is None:
            if self.plan.is_exact:
                here.everybody.check_stage(progress)
            self._save(progress)
            return
        if progress.n_averagings != self.course.n_found:
            raise ProtocolError(
                "a neighbour has handed over more totals of a layer than are used"
            )
        before = self.course.only_solved()
        self.course = self.course.solved(progress)
        self._save(progress)  # or a member that leaves now would be missed
        try:
            wish = here.everybody.check_stage(
                progress, -1.0 if self.transport.newcomers else 0.0
            )
        except ProtocolError:
            self._take_back(before)
            raise
        if wish[0] < 0 and not is_complete(self.plan, progress):
            raise Regroup("A node has joined and takes part from the next layer on.")

    def _take_back(self, course: Course) -> None:
        """Forget a layer in which nodes differ."""
        self.course, self.furthest, self.progress = course, None, None
        if course.progress is None:
            self.checkpoints.forget()
        else:
            self._save(course.progress)

    def _save(self, progress: Progress) -> None:
        self.progress = progress
        solved = len(progress.stages)
        if self.furthest is None or solved >= len(self.furthest.stages):
            self.furthest = progress
        self._write(self.course.only_solved(), progress)

    def _keep(self) -> None:
        """Save what was found, with the totals of a layer that is not solved yet."""
        self._write(self.course, self.course.progress)

    def _write(self, course: Course, progress: Progress | None) -> None:
        solved = len(progress.stages) if progress else 0
        records = tuple(self.records[k] for k in sorted(self.records) if k < solved)
        self.checkpoints.save(progress, records, course.stints, course.totals)

    def _record(self, record: LayerRecord) -> None:
        self.records[record.layer] = record
        self.on_layer(record)
