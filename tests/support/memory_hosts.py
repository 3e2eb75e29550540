"""Trainings over hosts in this process, which exchange letters in memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from dssfn.driver import drive
from dssfn.planning import settle
from dssfn.training import train_node
from dssfn.transports import memory_network


def over_memory(hosts, shards, plan, topology, n_threads=1):
    """The models of all nodes, by hosts that exchange letters in this process."""
    plan, averaging = settle(plan, topology)
    nodes = range(topology.n_nodes)
    links = [(i, j) for i in nodes for j in topology.neighbours(i)]

    def host(transport, mine):
        programs = {
            node: train_node(
                shards[node], plan, n_nodes=len(nodes), node=node, n_threads=n_threads
            )
            for node in mine
        }
        return list(drive(programs, averaging, transport).values())

    with ThreadPoolExecutor(len(hosts)) as pool:
        transports = memory_network(hosts, links, deadline=60)
        found = list(pool.map(host, transports, hosts))
    return [model for models in found for model in models]
