"""One node of a real network, where no socket is needed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dssfn.config import Plan
from dssfn.errors import ProtocolError
from dssfn.exact.limbs import N_LIMBS
from dssfn.masking import Masks, mask_partners, masks_in_one_place
from dssfn.node.checkpoint import Checkpoints
from dssfn.node.runtime import NodeTraining
from dssfn.planning import settle
from dssfn.shard import Shard, one_hot
from dssfn.topology import build_topology
from dssfn.transports import WAIT_WHEN_GONE, memory_network


def test_a_node_that_has_met_the_others_is_patient_to_the_end(tmp_path):
    topology = build_topology("complete", 2)
    plan = Plan(n_features=3, classes=(0, 1), n_layers=2, width=10, solver="gram")
    plan, averaging = settle(plan, topology)
    rng = np.random.default_rng(1)
    T = one_hot(rng.integers(2, size=20), 2)
    shards = [Shard(rng.normal(size=(3, 20)), T) for _ in range(2)]
    links = [(0, 1), (1, 0)]

    def train():
        """How patient either node was when a layer was solved, and at its end."""
        seen = {0: [], 1: []}

        def one(node, transport):
            transport.deadline, transport.patience, transport.epoch = 1.0, 0.0, 0
            path = tmp_path / f"{node}.checkpoint"
            network = NodeTraining(
                node=node,
                topology=topology,
                plan=plan,
                averaging=averaging,
                samples=shards[node],
                transport=transport,
                checkpoints=Checkpoints(path, {}),
                on_layer=lambda record: seen[node].append(transport.patience),
            ).run()
            seen[node].append(transport.patience)
            return network

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(one, [0, 1], memory_network([[0], [1]], links)))
        return seen

    first = train()
    (tmp_path / "1.checkpoint").unlink()
    again = train()  # node 0 has all layers, node 1 has none
    assert again[0] == first[0]
    assert set(again[0]) == {WAIT_WHEN_GONE}


def test_a_node_that_has_all_layers_counts_no_scores_among_them(tmp_path, caplog):
    caplog.set_level("INFO", logger="dssfn.node")
    plan = Plan(n_features=3, classes=(0, 1), n_layers=1, width=5, members=2)
    topology = build_topology("complete", 1)
    plan, averaging = settle(plan, topology)
    rng = np.random.default_rng(1)
    shard = Shard(rng.normal(size=(3, 30)), one_hot(rng.integers(2, size=30), 2))
    for _ in range(2):
        (transport,) = memory_network([[0]], [])
        transport.deadline, transport.epoch = 1.0, 0
        training = NodeTraining(
            node=0,
            topology=topology,
            plan=plan,
            averaging=averaging,
            samples=shard,
            transport=transport,
            checkpoints=Checkpoints(tmp_path / "checkpoint", {}),
        )
        training.run()
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "layer 0 begins",
        f"resuming after layer {max(training.records)}, from the checkpoint",
        "all nodes have all layers",
    ]
    go_on = training.how_to_go_on(tmp_path)
    assert f"{len(training.records)} layers are saved" in go_on
    assert go_on.endswith(f"to resume from there: dssfn node run {tmp_path}")
    training.furthest = None
    assert training.how_to_go_on(tmp_path) == (
        f"No layer is finished yet. Start again with: dssfn node run {tmp_path}"
    )


def test_what_is_sent_after_the_last_layer_is_masked_too(tmp_path):
    """Nodes that have all layers still send sums of their rows: how good they are."""
    topology = build_topology("path", 3)
    plan = Plan(n_features=3, classes=(0, 1), n_layers=1, width=10, members=1)
    plan, averaging = settle(plan, topology)
    assert plan.is_exact
    rng = np.random.default_rng(1)
    T = one_hot(rng.integers(2, size=20), 2)
    shards = [Shard(rng.normal(size=(3, 20)), T) for _ in range(3)]
    arcs = [(0, 1), (1, 0), (1, 2), (2, 1)]
    secrets = masks_in_one_place(mask_partners(3)).secrets
    used = []

    class Keys:
        """Masks without the exchange of keys."""

        def __init__(self, node):
            self.node = node

        def agree(self, everybody, epoch, start, members):
            mine = {self.node: secrets[self.node]}
            return Masks(mine, on_use=lambda name: used.append((self.node, name)))

    def one(node, transport):
        transport.deadline = transport.patience = 20.0
        transport.epoch = 0
        return NodeTraining(
            node=node,
            topology=topology,
            plan=plan,
            averaging=averaging,
            samples=shards[node],
            transport=transport,
            checkpoints=Checkpoints(tmp_path / f"{node}.checkpoint", {}),
            mask_keys=Keys(node),
        ).run()

    for _ in range(2):  # the second time all of them have all layers
        used.clear()
        with ThreadPoolExecutor(3) as pool:
            hosts = memory_network([[0], [1], [2]], arcs)
            models = list(pool.map(one, range(3), hosts))
        assert {node for node, _ in used} == {0, 1, 2}
        assert len({model.output.tobytes() for model in models}) == 1


class Misleading:
    """A transport that makes the last products in the totals of one layer smaller."""

    def __init__(self, transport, layer):
        self._transport, self._layer = transport, layer

    def __getattr__(self, name):
        return getattr(self._transport, name)

    def exchange(self, tag, letters, expected):
        came = self._transport.exchange(tag, letters, expected)
        if tag.layer == self._layer and tag.round == 1:  # on the way back
            came = {arc: values.copy() for arc, values in came.items()}
            for values in came.values():  # four sums ride along behind them
                values[-10 - 4 * N_LIMBS : -4 * N_LIMBS] //= 2
        return came


def test_nodes_that_were_told_different_totals_stop_at_that_layer(tmp_path):
    """What was saved before is good, and they go on from there together."""
    topology = build_topology("path", 3)
    plan = Plan(n_features=3, classes=(0, 1), n_layers=3, width=10, members=1)
    plan, averaging = settle(plan, topology)
    assert plan.is_exact
    rng = np.random.default_rng(1)
    T = one_hot(rng.integers(2, size=40), 2)
    shards = [Shard(rng.normal(size=(3, 40)), T) for _ in range(3)]
    arcs = [(0, 1), (1, 0), (1, 2), (2, 1)]
    trainings = []

    def one(node, transport):
        transport.deadline = transport.patience = 20.0
        transport.epoch = 0
        path = tmp_path / f"{node}.checkpoint"
        trainings.append(
            training := NodeTraining(
                node=node,
                topology=topology,
                plan=plan,
                averaging=averaging,
                samples=shards[node],
                transport=transport,
                checkpoints=Checkpoints(path, {}),
            )
        )
        try:
            return training.run()
        except ProtocolError as exc:
            return str(exc)

    def train(misled_in):
        trainings.clear()
        hosts = memory_network([[0], [1], [2]], arcs)
        if misled_in is not None:
            hosts[2] = Misleading(hosts[2], misled_in)
        with ThreadPoolExecutor(3) as pool:
            return list(pool.map(one, range(3), hosts))

    for text in train(misled_in=2):
        assert "different numbers in layer 2," in text
    assert {len(training.furthest.stages) for training in trainings} == {2}
    models = train(misled_in=None)
    assert len({model.output.tobytes() for model in models}) == 1
