"""Which sums of messages members can make of the letters that they received.

How this works. Along a tree, a letter to the parent is the sum of the messages of all
nodes below. Members cut the tree into pieces: of every piece they know the sum, which
is the letter of its topmost node without what members below it have sent. Nothing finer
follows from letters. The piece of the root sends no letter; its sum is the total
without what members below it have sent.

With other ways of averaging the first letter of a node to its neighbours is its
message. Later letters, which mix several messages, are not looked at.

Where messages are masked, members take from a sum the masks that they share with the
nodes in it. Those that these nodes share with nodes elsewhere stay; where all of these
are in other pieces, members add those up as well, and have the sum of fewer nodes than
the total is of.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import reduce

import numpy as np

from dssfn._typing import NodeId, Numbers
from dssfn.audit.views import View
from dssfn.consensus import Averaging, Tree
from dssfn.consensus.base import wants_total
from dssfn.topology import Topology


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """The sum of the messages of some nodes in one averaging.

    Parameters
    ----------
    nodes : frozenset of int
        The nodes.
    values : array
        The sum, in one row; if messages are masked, with the masks that are left.
    """

    nodes: frozenset[NodeId]
    values: Numbers


def piece_nodes(
    averaging: Averaging,
    topology: Topology,
    members: Collection[NodeId],
    victim: NodeId,
    step: int,
) -> frozenset[NodeId] | None:
    """Return the fewest nodes with the victim whose sum members know from letters.

    None if letters tell them no more than the total does.

    Examples
    --------
    >>> from dssfn.topology import build_topology
    >>> star = build_topology("star", 5)
    >>> piece_nodes(Tree(star), star, {0}, victim=3, step=0)
    frozenset({3})
    >>> piece_nodes(Tree(star), star, {1}, victim=3, step=0)
    """
    others = set(range(topology.n_nodes)) - set(members)
    if not isinstance(averaging, Tree):
        is_near = not set(members).isdisjoint(topology.neighbours(victim))
        is_told = is_near and len(others) > 1
        return frozenset({victim}) if is_told else None
    tree = averaging.branches(step)
    found, todo = {victim}, [victim]
    while todo:
        node = todo.pop()
        near = {tree.parents[node], *tree.children[node]} & others
        todo += near - found
        found |= near
    return frozenset(found) if found < others else None


def smallest_piece(view: View, victim: NodeId, step: int) -> Piece | None:
    """Return the smallest sum with the victim's message that letters give.

    None if there is no smaller one than the total, or the view lacks what it takes.
    """
    nodes = _smallest(view, victim, step)
    if nodes is None:
        return None
    pieces = _that_cancel(view, nodes, step) or [nodes]
    try:
        values = reduce(np.add, (_piece_sum(view, one, step) for one in pieces))
    except KeyError:  # a recording holds what came, and no more
        return None
    nodes = frozenset().union(*pieces)
    return Piece(nodes, _without_shared_masks(view, nodes, values, step))


def _smallest(view: View, victim: NodeId, step: int) -> frozenset[NodeId] | None:
    return piece_nodes(view.averaging, view.topology, view.members, victim, step)


def _that_cancel(
    view: View, nodes: frozenset[NodeId], step: int
) -> list[frozenset[NodeId]]:
    """Return pieces in whose sum no masks are left; none if it takes all of them."""
    if view.masks is None:
        return []
    pieces, union, others = [nodes], nodes, view.others
    while union < others:
        partners = {one for node in union for one in view.masks.partners[node]}
        outside = partners & others - union
        if not outside:
            return pieces
        more = _smallest(view, min(outside), step)
        assert more is not None  # there is a smaller piece than all others
        pieces.append(more)
        union |= more
    return []


def rest_of_total(view: View, step: int) -> Piece | None:
    """Return the sum of all other nodes: the total without the members' own messages.

    No way of averaging, and no mask, can hide it. None if the view lacks what it takes.
    """
    try:
        values = _total(view, step)
        for member in view.members:
            values = values - view.own[step, member].ravel()
    except KeyError:
        return None
    nodes = view.others
    return Piece(nodes, _without_shared_masks(view, nodes, values, step))


def _piece_sum(view: View, nodes: frozenset[NodeId], step: int) -> Numbers:
    if not isinstance(view.averaging, Tree):
        (victim,) = nodes
        near = view.topology.neighbours(victim)
        return view.letters[step, victim, min(view.members.intersection(near))].ravel()
    tree = view.averaging.branches(step)
    top = min(nodes, key=lambda node: tree.levels[node])
    parent = tree.parents[top]
    if parent in view.members:
        values = view.letters[step, top, parent].ravel()
    else:
        values = _total(view, step)
    for member in view.members:
        if tree.parents[member] in nodes:
            sent = view.own[step, member].ravel()
            for child in tree.children[member]:
                sent = sent + view.letters[step, child, member].ravel()
            values = values - sent
    return values


def _total(view: View, step: int) -> Numbers:
    average = view.averages[step].ravel()
    return average if wants_total(average) else view.topology.n_nodes * average


def _without_shared_masks(
    view: View, nodes: frozenset[NodeId], values: Numbers, step: int
) -> Numbers:
    if view.masks is None:
        return values
    for node in nodes:
        for member in view.members:
            values = values - view.masks.stream(node, member, step, values.size)
    return values
