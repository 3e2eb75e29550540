"""How a group finds what it goes on from: the furthest course of its members.

All members state how far they are. Of two courses the one with the later epoch counts,
and of one epoch the longer one. A member that is not as far is handed the course by its
neighbours, and checks it: against the digest that all who hold it have stated, against
the plan, and against what it holds itself.

Why nothing that was finished is lost. What a group has finished is saved by all of its
members before any of them says so. The next group is a quorum too, so it shares a
member with that one; this member states the furthest course, and all go on from there.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dssfn._typing import Integers, NodeId
from dssfn.config import Plan
from dssfn.consensus import Flood, Handover
from dssfn.driver import run_over
from dssfn.errors import ProtocolError
from dssfn.node.agreement import AGREEMENT, COURSE, STANDING, Assembly
from dssfn.node.course import Course, digest_of

log = logging.getLogger("dssfn.node")

_WORD = 8  # bytes of an integer
UNKNOWN = -1.0  # of a member that was not heard of yet
MOST = 2.0**53  # whole numbers below it are exact as float64


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a member is.

    Parameters
    ----------
    epoch, n_found, n_stages : int
        The epoch of its last averaging, how many there were, and the stages that it has
        solved by them.
    n_bytes, digest : int
        The size of its course as bytes, and a digest of them.
    """

    epoch: int
    n_found: int
    n_stages: int
    n_bytes: int
    digest: int

    @property
    def place(self) -> tuple[int, int, int]:
        """How far it is, as `Course.place` has it."""
        return self.epoch, self.n_found, self.n_stages


@dataclass(frozen=True, slots=True)
class Rules:
    """What every course keeps.

    Parameters
    ----------
    plan : Plan
        What all nodes agreed on.
    n_nodes, quorum : int
        How many nodes the plan has, and how many of them may find something.
    """

    plan: Plan
    n_nodes: int
    quorum: int

    def check_stints(self, course: Course) -> None:
        """Refuse a course that no groups of nodes can have found."""
        stints = course.stints
        firsts = [*(stint.first for stint in stints), course.n_found]
        epochs = [0, *(stint.epoch for stint in stints)]
        if firsts[0] != 0 or not (_rise(firsts) and _rise(epochs)):
            raise ValueError("its epochs are out of order")
        for stint in stints:
            members = stint.members
            is_group = _rise(members) and set(members) <= set(range(self.n_nodes))
            if len(members) < self.quorum or not is_group:
                raise ValueError(
                    "the group of nodes that found it is not allowed by the plan"
                )


def adopt(everybody: Assembly, mine: Course, rules: Rules, *, epoch: int) -> Course:
    """Return the course that all members of a group go on from.

    Parameters
    ----------
    everybody : Assembly
        The members of the group.
    mine : Course
        What this node has found.
    rules : Rules
        What every course keeps.
    epoch : int
        The group's epoch; all that was found is of earlier ones.

    Raises
    ------
    ProtocolError
        If members hold what cannot both be true, or hand over something else.
    """
    data = mine.encoded()
    stated = Standing(*mine.place, len(data), digest_of(data))
    standings = _all_standings(everybody, stated)
    best = max(standings, key=lambda one: one.place)
    if best.epoch >= epoch:
        raise ProtocolError("a node claims an attempt that has not begun yet")
    holders = [node for node, one in enumerate(standings) if one.place == best.place]
    if any(standings[node] != best for node in holders):
        raise ProtocolError(
            "Nodes hold different results of the same attempt: some node received "
            "other totals, computes differently, or misreports its result. Compare the "
            "versions and the logs of all nodes (`dssfn --version`)."
        )
    if len(holders) == len(standings):
        return mine
    came = _handed_over(everybody, holders, data, best)
    if everybody.node in holders:
        return mine
    course = _checked(came, best, mine, rules)
    n_layers = course.progress.n_layers if course.progress else 0
    log.info("received %d solved layers from a neighbour", n_layers)
    return course


def _all_standings(everybody: Assembly, mine: Standing) -> list[Standing]:
    """Return how far all members are, in the order of their numbers."""
    stated = *mine.place, mine.n_bytes, mine.digest
    rows = np.full((everybody.topology.n_nodes, len(stated)), UNKNOWN)
    rows[everybody.node] = stated
    found = run_over(
        everybody.transport,
        Flood(everybody.topology, np.maximum),
        {everybody.node: rows},
        layer=AGREEMENT,
        step=STANDING,
    )[everybody.node]
    if not ((found >= 0) & (found < MOST) & (found == np.floor(found))).all():
        raise ProtocolError("a node has not said how far it is")
    if tuple(found[everybody.node]) != stated:
        raise ProtocolError("some node has made a statement in this node's name")
    return [Standing(*map(int, row)) for row in found]


def _handed_over(
    everybody: Assembly, holders: list[NodeId], data: bytes, best: Standing
) -> bytes:
    """Return the bytes of the best course, once they have come."""
    n_words = -(-best.n_bytes // _WORD)
    # Whatever size was stated, no memory is taken before the words have come.
    words: Integers = np.broadcast_to(np.int64(0), (n_words,))
    if everybody.node in holders:
        padded = data.ljust(_WORD * n_words, b"\0")
        words = np.frombuffer(padded, dtype="<i8").astype(np.int64)
    came = run_over(
        everybody.transport,
        Handover(everybody.topology, holders),
        {everybody.node: words},
        layer=AGREEMENT,
        step=COURSE,
    )[everybody.node]
    return came.astype("<i8").tobytes()[: best.n_bytes]


def _checked(data: bytes, best: Standing, mine: Course, rules: Rules) -> Course:
    """Return the course that was handed over, if it is what it should be."""
    if digest_of(data) != best.digest:
        raise ProtocolError(
            "a neighbour handed over other numbers than it had announced"
        )
    try:
        course = Course.decoded(data, rules.plan)
        rules.check_stints(course)
    except (ValueError, IndexError, KeyError) as exc:
        raise ProtocolError(
            f"a neighbour handed over layers that no training can produce ({exc})"
        ) from exc
    if course.place != best.place:
        raise ProtocolError(
            "a neighbour handed over another course of training than it had announced"
        )
    _check_against(mine, course)
    return course


def _rise(numbers: Sequence[int]) -> bool:
    return all(a < b for a, b in pairwise(numbers))


def _check_against(mine: Course, other: Course) -> None:
    """Refuse a course that differs in a layer which was found in the same stints."""
    if mine.progress is None or other.progress is None:
        return
    shared = 0
    for a, b in zip(mine.stints, other.stints, strict=False):
        if a != b:
            break
        shared += 1
    # Of the last stint in common, one of the two may have been longer.
    ends = [
        course.stints[shared].first if shared < len(course.stints) else course.n_found
        for course in (mine, other)
    ]
    for layer, (a_stage, b_stage) in enumerate(
        zip(mine.progress.stages, other.progress.stages, strict=False)
    ):
        found = [
            one.before + sum(one.iterations[: layer + 1])
            for one in (mine.progress, other.progress)
        ]
        if max(found) > min(ends):
            return
        if any(a_stage[name].tobytes() != b_stage[name].tobytes() for name in a_stage):
            raise ProtocolError(
                f"a neighbour handed over numbers of layer {layer} that differ from "
                "this node's own"
            )
