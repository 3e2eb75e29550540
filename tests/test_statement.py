"""What nodes state of their samples before they train without masks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dssfn.consensus import Flood
from dssfn.driver import run_over
from dssfn.errors import ProtocolError
from dssfn.statement import state_weights
from dssfn.topology import build_topology
from dssfn.transports import memory_network

NAMES, ABOUT = ("a", "b", "c"), {"layer": -2, "step": 0}


def beside_a_forger(forged):
    """What the first node of a path finds if the second one sends this."""
    topology = build_topology("path", 3)
    links = [(i, j) for i in range(3) for j in topology.neighbours(i)]
    transports = memory_network([[0], [1], [2]], links, deadline=20)

    def one(node):
        if node == 1:
            flood = Flood(topology, np.maximum)
            return run_over(transports[1], flood, {1: np.array(forged)}, **ABOUT)
        weight = {node: 10.0 * (node + 1)}
        try:
            return state_weights(transports[node], topology, weight, NAMES, **ABOUT)
        except ProtocolError as exc:
            return exc

    with ThreadPoolExecutor(3) as pool:
        first, *_ = pool.map(one, range(3))
    return first


def test_hosts_with_several_nodes_state_the_weight_of_each():
    topology = build_topology("path", 3)
    transports = memory_network([[0, 1], [2]], [(1, 2), (2, 1)], deadline=20)

    def host(number):
        weights = [{0: 1.0, 1: 2.0}, {2: 3.5}][number]
        return state_weights(transports[number], topology, weights, NAMES, **ABOUT)

    with ThreadPoolExecutor(2) as pool:
        assert [one.weights for one in pool.map(host, range(2))] == [
            (1.0, 2.0, 3.5)
        ] * 2


def test_a_statement_in_another_node_s_name_is_noticed_by_its_owner():
    error = beside_a_forger([99.0, 20.0, -1.0])
    assert "in the name of a, that its samples weigh 99" in str(error)


@pytest.mark.parametrize("weight", [-1.0, -5.0, np.inf, np.nan])
def test_a_statement_that_is_no_weight_is_refused(weight):
    error = beside_a_forger([-1.0, weight, -1.0])
    assert str(error).startswith("b must announce how much its samples weigh")
