"""The training of nodes that may go on without others, where no socket is needed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dssfn.config import Plan
from dssfn.errors import PeerTimeout, ProtocolError
from dssfn.node.attended import Attended, AttendedFile
from dssfn.node.checkpoint import Checkpoints
from dssfn.node.runtime import Elastic, NodeTraining
from dssfn.planning import settle
from dssfn.programs import INPUTS
from dssfn.progress import Progress
from dssfn.shard import Shard, one_hot
from dssfn.simulator import simulate
from dssfn.topology import build_topology
from dssfn.training import check_stages
from dssfn.transports import Group, memory_network

N_NODES = 4
TOPOLOGY = build_topology("complete", N_NODES)
PLAN, AVERAGING = settle(
    Plan(n_features=3, classes=(0, 1), n_layers=2, width=10, members=1), TOPOLOGY
)
RNG = np.random.default_rng(1)
SHARDS = [
    Shard(RNG.normal(size=(3, 40)), one_hot(RNG.integers(2, size=40), 2))
    for _ in range(N_NODES)
]


class Grouped:
    """A transport over which some nodes have agreed to take part."""

    def __init__(self, transport, group, fails_at=None):
        self._transport, self._group, self._fails_at = transport, group, fails_at
        self.deadline = self.patience = 20.0
        self.epoch = group.epoch
        self.newcomers = self.is_settled = self.have_met = False

    def gather(self):
        return self._group

    def finish(self):
        pass

    def exchange(self, tag, letters, expected):
        is_averaging = tag.layer >= INPUTS
        if is_averaging and self._fails_at and tag.step >= self._fails_at:
            raise PeerTimeout("The line was cut.")
        return self._transport.exchange(tag, letters, expected)


def train(folder, members, epoch, *, quorum=3, fails_at=None, plan=PLAN):
    """What became of the members of a group, and their trainings."""
    edges = tuple((i, j) for i in members for j in members if i < j)
    group = Group(epoch, tuple(members), edges)
    arcs = [arc for i, j in edges for arc in ((i, j), (j, i))]
    trainings = {}

    def one(node, host):
        trainings[node] = training = NodeTraining(
            node=node,
            topology=TOPOLOGY,
            plan=plan,
            averaging=AVERAGING,
            samples=SHARDS[node],
            transport=Grouped(host, group, fails_at),
            checkpoints=Checkpoints(folder / f"{node}.checkpoint", {}),
            elastic=Elastic(AttendedFile(folder / f"{node}.json"), 1.0, quorum),
        )
        try:
            return training.run()
        except (ProtocolError, PeerTimeout) as exc:
            return exc

    hosts = memory_network([[k] for k in members], arcs, deadline=5)
    with ThreadPoolExecutor(len(members)) as pool:
        ended = list(pool.map(one, members, hosts))
    return ended, trainings


def test_fewer_than_a_quorum_never_train_whatever_a_member_says_of_itself(tmp_path):
    ended, trainings = train(tmp_path, [0, 1], epoch=1)
    for exc in ended:
        assert isinstance(exc, ProtocolError)
        assert "`quorum`" in str(exc)
    assert all(training.course.n_found == 0 for training in trainings.values())


def test_fewer_than_a_quorum_may_hand_over_a_model_that_is_finished(tmp_path):
    (first, *_), _ = train(tmp_path, [0, 1, 2], epoch=1)
    (_, late), _ = train(tmp_path, [0, 3], epoch=2)
    assert late.output.tobytes() == first.output.tobytes()


def test_a_finished_node_that_takes_part_once_more_is_finished_still(tmp_path):
    train(tmp_path, [0, 1, 2], epoch=1)
    attended = AttendedFile(tmp_path / "0.json")
    assert attended.read().is_done
    attended.write(2)  # it begins, to hand its model over, and is killed
    assert attended.read() == Attended(2, is_done=True)
    attended.forget_model()
    assert attended.read() == Attended(2, is_done=False)


def test_totals_are_never_found_again_without_a_member_that_was_in_them(tmp_path):
    """All processes end within a layer, and one of them is not started again."""
    _, before = train(tmp_path, [0, 1, 2, 3], epoch=1, fails_at=2)
    heard = {k: one.course.totals for k, one in before.items() if one.course.totals}
    assert heard  # of the scale of the inputs; those of layer 0 have not come
    assert all(one.progress is None for one in before.values())
    (first, *_), after = train(tmp_path, [0, 1, 2], epoch=2)
    course = after[0].course
    n_heard = max(map(len, heard.values()))
    assert [(one.first, one.members) for one in course.stints] == [
        (0, (0, 1, 2, 3)),
        (n_heard, (0, 1, 2)),
    ]
    moments = np.hstack([shard.X for shard in SHARDS[:3]]).mean(axis=1)
    # Sums are exact and rounded once; the mean of numpy is rounded some more.
    np.testing.assert_allclose(first.shift, moments, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("step", range(1, 7))
def test_a_node_that_comes_within_a_layer_stops_nobody(step, tmp_path):
    train(tmp_path, [0, 1, 2], epoch=1, fails_at=step)
    ended, after = train(tmp_path, [0, 1, 2, 3], epoch=2)
    assert len({network.output.tobytes() for network in ended}) == 1
    if step < 2:  # nothing had been found
        assert not after[0].took_part
    else:
        assert [one.members for one in after[3].course.stints] == [
            (0, 1, 2),
            (0, 1, 2, 3),
        ]
        assert len(after[0].took_part) == PLAN.depth + 1
        took_part = [(one.first, one.members) for one in after[0].course.stints]
        found = simulate(SHARDS, PLAN, TOPOLOGY, took_part=took_part)
        assert found.networks[0].output.tobytes() == ended[0].output.tobytes()


def test_totals_that_a_layer_does_not_use_are_refused(tmp_path):
    train(tmp_path, [0, 1, 2, 3], epoch=1, fails_at=2)
    for node in range(4):
        checkpoints = Checkpoints(tmp_path / f"{node}.checkpoint", {})
        saved = checkpoints.load(PLAN)
        more = (*saved.totals, *saved.totals)
        checkpoints.save(None, (), saved.stints, more)
    ended, _ = train(tmp_path, [0, 1, 2], epoch=2)
    assert all(isinstance(one, ProtocolError) for one in ended)


def test_layers_that_no_training_has_are_refused_before_they_are_used(tmp_path):
    """A neighbour may hand over anything; what it lacks would end the node."""
    plan = Plan(n_features=3, classes=(0, 1), n_layers=2, width=20, members=3)
    plan, _ = settle(plan, TOPOLOGY)
    _, trainings = train(tmp_path, [0, 1, 2], epoch=1, plan=plan)
    stages = trainings[0].progress.stages
    check_stages(plan, Progress(stages, (1,) * len(stages)))
    for number, stage in enumerate(stages[:-1]):
        for name in set(stage) - {"gaps", "picked", "before"}:
            for wrong in ({}, {name: np.ones((7, 7))}):
                others = {key: A for key, A in stage.items() if key != name}
                changed = (*stages[:number], others | wrong, *stages[number + 1 :])
                with pytest.raises((ValueError, KeyError)):
                    check_stages(plan, Progress(changed, (1,) * len(stages)))


def test_a_layer_that_grows_has_units_of_one_group_only(tmp_path):
    """Sums over other samples for some units would be no layer's of anybody."""
    plan = Plan(n_features=3, classes=(0, 1), size="ssfn", n_layers=1)
    plan, _ = settle(plan, TOPOLOGY)
    train(tmp_path, [0, 1, 2], epoch=1, plan=plan, fails_at=9)
    ended, after = train(tmp_path, [0, 1, 2, 3], epoch=2, plan=plan)
    course = after[0].course
    assert [one.members for one in course.stints] == [(0, 1, 2), (0, 1, 2, 3)]
    took_part = [(one.first, one.members) for one in course.stints]
    found = simulate(SHARDS, plan, TOPOLOGY, took_part=took_part)
    for mine, same in zip(ended[0].outputs, found.networks[0].outputs, strict=True):
        assert mine.tobytes() == same.tobytes()
    first, joined = course.progress.before, course.stints[1].first
    for stage, n_averagings in zip(
        course.progress.layers, course.progress.iterations, strict=False
    ):
        if first < joined < first + n_averagings and "tries" in stage:
            assert len(stage["tries"]) <= joined - first + 1
        first += n_averagings
