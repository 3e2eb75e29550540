"""Which sums of messages follow from letters, by hand and by linear algebra."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dssfn.audit.isolation import piece_nodes
from dssfn.audit.listening import Listening
from dssfn.consensus import Tree, make_averaging, run_rounds
from dssfn.topology import build_topology


@st.composite
def situations(draw):
    """A graph, an averaging, members who work together, and a victim."""
    kind = draw(st.sampled_from(["path", "star", "circular", "complete"]))
    n_nodes = draw(st.integers(3 if kind == "circular" else 2, 6))
    nodes = draw(st.permutations(range(n_nodes)))
    n_members = draw(st.integers(1, n_nodes - 1))
    members, victim = frozenset(nodes[:n_members]), nodes[n_members]
    return build_topology(kind, n_nodes), members, victim, draw(st.integers(0, 9))


def known_sums(topology, members, step):
    """What members know: rows of weights of all nodes' messages."""
    tree = Listening(Tree(topology))
    unit = np.eye(topology.n_nodes)
    run_rounds(tree, {node: unit[node] for node in range(topology.n_nodes)}, step)
    letters = [x for (_, _, to), x in tree.letters.items() if to in members]
    return np.array([*letters, np.ones(len(unit)), *(unit[m] for m in members)])


@given(situations())
def test_a_piece_is_the_smallest_sum_with_the_victim_that_members_know(situation):
    topology, members, victim, step = situation
    rows = known_sums(topology, members, step)
    rank = np.linalg.matrix_rank(rows)

    def is_known(nodes):
        row = np.isin(np.arange(topology.n_nodes), list(nodes)).astype(float)
        return np.linalg.matrix_rank(np.vstack([rows, row])) == rank

    others = set(range(topology.n_nodes)) - members
    rest = others - {victim}
    subsets = chain.from_iterable(combinations(rest, k) for k in range(len(rest) + 1))
    smallest = next({victim, *one} for one in subsets if is_known({victim, *one}))
    found = piece_nodes(Tree(topology), topology, members, victim, step)
    assert smallest == (others if found is None else found)


def test_gossip_tells_neighbours_the_message_and_others_nothing_more():
    ring = build_topology("circular", 6)
    gossip = make_averaging(ring, "gossip", tol=1e-6)
    assert piece_nodes(gossip, ring, {0}, 1, 0) == {1}
    assert piece_nodes(gossip, ring, {0}, 2, 0) is None
    assert piece_nodes(gossip, ring, {0, 3}, 2, 0) == {2}
    assert piece_nodes(gossip, ring, {0, 1, 2, 3, 4}, 5, 0) is None


def test_listening_keeps_the_first_letter_and_changes_nothing():
    ring = build_topology("circular", 5)
    values = {node: np.array([float(node), 1.0]) for node in range(5)}
    for name in ("gossip", "tree"):
        scheme = make_averaging(ring, name, tol=1e-8)
        kept = Listening(scheme)
        plain, heard = run_rounds(scheme, values, 3), run_rounds(kept, values, 3)
        assert all(np.array_equal(plain[node], heard[node]) for node in values)
        assert all(np.array_equal(kept.own[3, node], values[node]) for node in values)
        assert np.array_equal(kept.averages[3], plain[0])
        if name == "gossip":
            for (_, sender, _), letter in kept.letters.items():
                assert np.array_equal(letter, values[sender])
