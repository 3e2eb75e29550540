"""Trainings over links that carry letters one way only."""

import numpy as np

from dssfn.config import Plan
from dssfn.events import Independent, LinkModel, Lognormal, simulate_events
from dssfn.shard import Shard, one_hot
from dssfn.simulator import simulate
from dssfn.topology import build_topology


def test_a_training_over_links_that_go_one_way_takes_push_sum():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(3, 40)), one_hot(np.arange(40) % 2, 2)
    shards = [Shard(X[:, m::4], T[:, m::4]) for m in range(4)]
    plan = Plan(n_features=3, classes=("a", "b"), n_layers=1, width=8)
    ring = build_topology("circular", 4)

    def links(sender, receiver):
        is_open = (receiver - sender) % 4 == 1
        loss = Independent(0.2 if is_open else 1.0)
        return LinkModel(loss=loss, delay=Lognormal(0.02))

    result = simulate_events(shards, plan, ring, links=links)
    assert result.scheme == "push-sum"
    wanted = simulate(shards, plan, ring).networks[0].output
    for network in result.training.networks:
        np.testing.assert_array_equal(network.output, wanted)
