"""Nodes on hosts of their own: what a training costs in time is its rounds."""

from __future__ import annotations

from datetime import datetime

import pytest

from dssfn.node.spec import load_node
from dssfn.planning import settle_federation
from tests.support.lab import Lab
from tests.support.slow_network import SlowNetwork, why_not

pytestmark = pytest.mark.grpc

DELAY = 0.02  # seconds, one way
N_NODES, N_LAYERS, MANY = 3, 2, 40


def test_the_time_of_a_training_follows_the_number_of_its_rounds(tmp_path):
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with SlowNetwork(N_NODES, DELAY) as network:
        few, short = _train(network, tmp_path / "few", solver="gram")
        many, long = _train(network, tmp_path / "many", solver="admm", n_iter=MANY)
    per_round = (long - short) / (many - few)
    print(f"{few} rounds {short:.2f} s, {many} rounds {long:.2f} s")
    print(f"{1000 * per_round:.1f} ms per round")
    # In a round letters go one way, all at once, and nobody waits for an answer. What
    # is above the delay is computing, on a machine that may be very busy.
    assert DELAY <= per_round <= 100 * DELAY


def _train(network, root, **training):
    """How many rounds the layers took, and how many seconds."""
    root.mkdir()
    names = [f"n{k}" for k in range(N_NODES)]
    lab = Lab(
        root,
        N_NODES,
        kind="path",
        deadline=10.0,
        hosts=dict(zip(names, network.addresses, strict=True)),
        run_in={name: network.command(k) for k, name in enumerate(names)},
        n_layers=N_LAYERS,
        width=40,
        **training,
    )
    try:
        lab.start()
        assert lab.wait() == dict.fromkeys(names, 0)
        assert len(lab.digests()) == 1
        _, averaging = settle_federation(load_node(lab.node_file("n0"))[1])
        lines = (lab.folder("n0") / "out" / "node.log").read_text().splitlines()
    finally:
        lab.close()
    layers = [line for line in lines if " averagings" in line]
    n_averagings = sum(int(line.split()[-1]) for line in layers)
    (begin,) = (line for line in lines if "layer 0 begins" in line)
    seconds = (_time(layers[-1]) - _time(begin)).total_seconds()
    return n_averagings * averaging.n_rounds, seconds


def _time(line):
    return datetime.fromisoformat(line[:23].replace(",", "."))
