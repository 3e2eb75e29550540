"""Eccentricities, by both ways, against networkx."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn import eccentricity
from dssfn.eccentricity import eccentricities
from dssfn.graph_kinds import links_of
from tests.support.strategies import seeds


@st.composite
def long_graphs(draw):
    """A random tree, bushy or like a rope, with a few edges more."""
    n_nodes, reach = draw(st.integers(1, 60)), draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(seeds))
    graph = nx.empty_graph(n_nodes)
    for i in range(1, n_nodes):
        graph.add_edge(i, int(rng.integers(max(0, i - reach), i)))
    for _ in range(draw(st.integers(0, 5))):
        i, j = rng.integers(n_nodes, size=2).tolist()
        if i != j:
            graph.add_edge(i, j)
    return nx.relabel_nodes(graph, dict(enumerate(rng.permutation(n_nodes).tolist())))


def expected(graph):
    return tuple(nx.eccentricity(graph, node) for node in graph)


@given(long_graphs())
def test_sets_that_widen_find_the_farthest_nodes(graph):
    assert eccentricity._by_sets(links_of(graph)) == expected(graph)


@given(long_graphs(), st.sampled_from([0, 1, 128]), st.sampled_from([1, 150, 10**7]))
def test_bounds_and_searches_find_the_farthest_nodes(graph, sweeps, batch):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(eccentricity, "SWEEPS", sweeps)
        patch.setattr(eccentricity, "BATCH", batch)
        assert eccentricity._by_searches(links_of(graph)) == expected(graph)


@pytest.mark.parametrize("n_nodes", [1, 2, 63, 64, 65, 66, 67, 300])
def test_a_ring_looks_the_same_from_everywhere(n_nodes):
    ring = links_of(nx.circulant_graph(n_nodes, [1] if n_nodes > 1 else []))
    assert eccentricities(ring) == (n_nodes // 2,) * n_nodes


@pytest.mark.parametrize("n_nodes", [1, 2, 33, 34, 300])
def test_a_path_is_longest_from_its_ends(n_nodes):
    path = links_of(nx.path_graph(n_nodes))
    assert eccentricities(path) == tuple(
        max(i, n_nodes - 1 - i) for i in range(n_nodes)
    )
