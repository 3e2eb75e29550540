"""What members of a real network saw, from what `dssfn node run --record` has kept.

How this works. A recording has the letters that one node received, and nothing that it
made itself. For a node that received single messages that is enough. To know what the
node knew besides, its own part is played again on its own data, with the letters of the
recording for its neighbours': so it gets the same averages as it did then. That cannot
be done where messages were masked, as nobody keeps the keys.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dssfn._typing import NodeId, Numbers
from dssfn.audit.listening import listen
from dssfn.audit.views import Transcript
from dssfn.config import Plan
from dssfn.consensus import Averaging, Tree
from dssfn.errors import DataError, PlanError
from dssfn.programs import INPUTS
from dssfn.shard import Samples
from dssfn.topology import Topology
from dssfn.transports import Arc, Letters, Tag
from dssfn.transports.recording import LETTERS_FILE, Head, recorded_letters

Place = tuple[int, int, int, NodeId, NodeId]
"""Layer, averaging, round, sender and receiver of a letter."""


@dataclass(frozen=True, slots=True)
class Recording:
    """The letters that one node received up to the first layer.

    Parameters
    ----------
    node : int
        The node that received them.
    letters : mapping
        The letters by their places.
    folder : Path
        Where the recording is.
    """

    node: NodeId
    letters: Mapping[Place, Numbers]
    folder: Path


def read_recording(folder: Path, topology: Topology) -> Recording:
    """Read a recording, which must be one of the plan's nodes."""
    by_epoch: dict[int, dict[Place, Numbers]] = {}
    receivers: set[NodeId] = set()
    for head, values in recorded_letters(folder):
        _check_ends(head, folder, topology)
        receivers.add(head.receiver)
        if head.layer not in (INPUTS, 0):
            continue
        place = (head.layer, head.step, head.round, head.sender, head.receiver)
        letters = by_epoch.setdefault(head.epoch, {})
        if place in letters:
            raise DataError(
                f"`{folder}` must hold the messages of one training, got those of "
                "several. Start `dssfn node run --record` with an empty folder."
            )
        letters[place] = values
    if len(receivers) > 1:
        raise DataError(
            f"`{folder}` must hold what one node received, got the messages of "
            f"{len(receivers)}. Record each node in a folder of its own."
        )
    # When nodes went back together before the first layer, the last time counts.
    complete = [n for n, letters in by_epoch.items() if _has_first_layer(letters)]
    if not complete:
        raise DataError(
            f"`{folder / LETTERS_FILE}` must hold messages of the first layer, got "
            "none: the training was stopped before it, or resumed from a checkpoint. "
            "Record a training from its start, with `dssfn node run --fresh "
            "--record`."
        )
    return Recording(receivers.pop(), by_epoch[max(complete)], folder)


def _has_first_layer(letters: Collection[Place]) -> bool:
    """Return whether the sums of the first layer are among the letters of an attempt.

    One that resumes from a checkpoint does not begin with averaging 0. Its letters may
    be about layer 0 all the same: where that is the last, they say how good it is.
    """
    is_from_the_start = any(step == 0 for _, step, *_ in letters)
    return is_from_the_start and any(layer == 0 for layer, *_ in letters)


def _check_ends(head: Head, folder: Path, topology: Topology) -> None:
    ends = {head.sender, head.receiver}
    is_edge = max(ends) < topology.n_nodes and min(ends) >= 0
    if not is_edge or head.sender not in topology.neighbours(head.receiver):
        raise DataError(
            f"`{folder}` holds a message from node {head.sender} to node "
            f"{head.receiver}, which are not neighbours in the plan. Give the plan "
            "that the nodes ran."
        )


def recorded_transcript(
    recordings: Sequence[Recording],
    plan: Plan,
    averaging: Averaging,
    topology: Topology,
    own: Sequence[Samples] = (),
) -> Transcript:
    """Return what is known of a training from recordings.

    Parameters
    ----------
    recordings : sequence of Recording
        One of each member who works together.
    plan, averaging, topology : Plan, Averaging, Topology
        Those of the training, with nothing left open.
    own : sequence of Samples
        The members' own data, in the order of the recordings; without them the members
        know letters only.
    """
    if own:
        played = [
            listen(
                {one.node: samples},
                plan,
                averaging,
                topology,
                transport=Replayed(one),
            )
            for one, samples in zip(recordings, own, strict=True)
        ]
        return replace(
            played[0],
            letters={k: v for one in played for k, v in one.letters.items()},
            own={k: v for one in played for k, v in one.own.items()},
        )
    if plan.solver != "gram":
        raise PlanError(
            f"`own` must be given for the solver {plan.solver}, whose messages can be "
            "understood only together with the averages: the data of every node that "
            "recorded."
        )
    known = [place for one in recordings for place in one.letters.items()]
    letters: dict[tuple[int, NodeId, NodeId], Numbers] = {}
    averages: dict[int, Numbers] = {}
    for (layer, step, number, sender, receiver), values in sorted(
        known, key=lambda item: item[0]
    ):
        if layer != 0:
            continue
        letters.setdefault((step, sender, receiver), values)
        if isinstance(averaging, Tree) and number >= averaging.depth:
            averages[step] = averaging.outcome(values)
    return Transcript(
        plan=plan,
        averaging=averaging,
        topology=topology,
        steps=tuple(sorted({step for step, _, _ in letters})),
        letters=letters,
        own={},
        averages=averages,
    )


@dataclass(frozen=True, slots=True)
class Replayed:
    """A transport whose neighbours are a recording."""

    recording: Recording

    def exchange(
        self, tag: Tag, letters: Letters, expected: Collection[Arc]
    ) -> dict[Arc, Numbers]:
        """Return the letters that came then."""
        return {arc: self._letter(tag, arc) for arc in expected}

    def _letter(self, tag: Tag, arc: Arc) -> Numbers:
        values = self.recording.letters.get((tag.layer, tag.step, tag.round, *arc))
        if values is None or values.shape != tag.shape or values.dtype != tag.dtype:
            raise DataError(
                f"`{self.recording.folder}` must hold a message of shape {tag.shape} "
                f"from node {arc[0]} for averaging {tag.step}, but does not: it "
                "belongs to another plan, or the attacker's own data are not those "
                "that it trained on."
            )
        return values

    def close(self) -> None:
        """Leave nobody."""
