"""Trainings in simulated time, against the simulator in lockstep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.consensus.resending import Resending
from dssfn.consensus.tree import Tree
from dssfn.errors import DataError, PeerTimeout, PlanError
from dssfn.events import (
    Bursts,
    Conditions,
    Constant,
    Exponential,
    Independent,
    LinkModel,
    Lognormal,
    NodeModel,
    Trace,
    run_programs,
    simulate_events,
)
from dssfn.lockstep import Workers
from dssfn.modelfile import content_digest
from dssfn.parties import Joint, Post
from dssfn.programs import Agreed, Message, run_about
from dssfn.runs import DataOptions, divided, make_plan, train
from dssfn.simulator import run_programs as run_in_step
from dssfn.simulator import simulate
from dssfn.topology import build_topology
from tests.consensus.test_consensus import graphs
from tests.support.data_sets import REAL
from tests.support.strategies import random_shards, seeds
from tests.support.trainings import plan_for

RING = build_topology("circular", 5)
BAD = LinkModel(
    loss=Bursts(0.4, 3.0), delay=Lognormal(0.05), duplicate=0.1, bandwidth=1e7
)
PLANS = {
    "fixed size": {},
    "finds its size": {"n_layers": "auto", "width": "auto", "members": 2, "gain": 1.0},
    "dense units": {"units": "dense", "consensus": "tree"},
    "dense krylov": {"units": "dense", "solver": "krylov", "consensus": "tree"},
}


def shards_of(graph, n_samples=12):
    sizes = [n_samples] * graph.n_nodes
    rng = np.random.default_rng(1)
    return random_shards(rng, sizes=sizes, n_features=4, n_classes=3)


def digests(simulation):
    return {content_digest(network) for network in simulation.networks}


@pytest.mark.parametrize("settings", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("links", [LinkModel(), BAD], ids=["perfect", "bad"])
def test_all_models_are_those_of_the_simulator_in_lockstep(settings, links):
    shards = shards_of(RING)
    plan = plan_for(shards, **settings)
    there = simulate(shards, plan, RING, apart=True)
    here = simulate_events(shards, plan, RING, links=links)
    assert digests(here.training) == digests(there)
    assert here.training.traffic == there.traffic
    assert here.training.history == there.history
    assert here.training.scores == there.scores


def test_perfect_links_take_the_letters_of_lockstep_and_no_time_but_computing():
    shards = shards_of(RING)
    plan = plan_for(shards)
    result = simulate_events(shards, plan, RING, seconds_per_number=0.0)
    assert result.posts.letters == result.lockstep_letters
    assert result.letter_ratio == 1
    assert result.posts.resent == result.posts.lost == result.seconds == 0
    slower = simulate_events(shards, plan, RING, nodes={3: NodeModel(slowness=10)})
    usual = simulate_events(shards, plan, RING)
    assert usual.seconds < slower.seconds <= 10 * usual.seconds


@pytest.mark.parametrize("scheme", ["gossip", "chebyshev", "exact", "tree"])
def test_any_scheme_finds_the_model_over_bad_links(scheme):
    shards = shards_of(RING)
    plan = plan_for(shards, units="dense", consensus=scheme, solver="gram")
    there = simulate(shards, plan, RING).networks[0].output
    for asked in (None, scheme):
        result = simulate_events(shards, plan, RING, links=BAD, scheme=asked)
        assert result.scheme == scheme
        for network in result.training.networks:
            # Lockstep mixes all nodes in one product, which rounds differently.
            np.testing.assert_allclose(network.output, there, rtol=1e-6, atol=1e-8)


def test_posts_by_layer_add_up_to_all():
    shards = shards_of(RING)
    result = simulate_events(shards, plan_for(shards), RING, links=BAD)
    assert sorted(result.posts_by_layer) == [-1, 0, 1, 2, 3]
    for name in ("letters", "resent", "lost", "duplicated", "acknowledgements"):
        by_layer = [getattr(one, name) for one in result.posts_by_layer.values()]
        total = getattr(result.posts, name)
        assert 0 < sum(by_layer) == total
        assert sum(_count(event, name) for event in result.trace) == (
            total if name != "duplicated" else 0
        )
    sent = [e for e in result.trace if e.kind in ("sent", "resent", "acknowledged")]
    assert sum(event.n_bytes for event in sent) == result.posts.bytes_total


def _count(event, name):
    """Return whether an event of a trace is one of those that are counted by a name."""
    kinds = {
        "letters": ("sent", "resent"),
        "resent": ("resent",),
        "lost": ("lost",) if event.is_letter else (),
        "duplicated": (),
        "acknowledgements": ("acknowledged",),
    }
    return event.kind in kinds[name]


def test_the_same_seed_gives_the_same_trace_byte_by_byte():
    shards = shards_of(RING)
    plan = plan_for(shards)

    def text(seed):
        nodes = {2: NodeModel(away=((0.2, 1.5),))}
        run = simulate_events(shards, plan, RING, links=BAD, nodes=nodes, seed=seed)
        return run.trace.to_jsonl()

    assert text(7) == text(7)
    assert text(7) != text(8)


def adding(values):
    """A program that wants several totals, and arithmetic on them."""
    found = []
    for value in values:
        total = yield Message.of(value)
        found.append((yield Agreed(np.copy, (total,))))
    return found


@settings(max_examples=60, deadline=None)
@given(
    graphs,
    seeds,
    st.floats(0, 0.6),
    st.sampled_from([None, 1.5, 4.0]),
    st.sampled_from([Constant(0.1), Exponential(0.3), Lognormal(0.2, 1.0)]),
    st.floats(0, 0.5),
    st.lists(st.tuples(st.integers(0, 13), st.integers(0, 9), st.integers(1, 9))),
)
def test_all_nodes_end_with_the_exact_total_whatever_links_do(
    graph, seed, loss, burst, delay, duplicate, absences
):
    rng = np.random.default_rng(seed)
    values = rng.integers(-(2**50), 2**50, size=(graph.n_nodes, 4, 3))
    model = Independent(loss) if burst is None else Bursts(loss, burst)
    links = LinkModel(loss=model, delay=delay, duplicate=duplicate)
    nodes = {
        node % graph.n_nodes: NodeModel(away=((start, start + length),))
        for node, start, length in absences
    }
    programs = [adding(values[i]) for i in range(graph.n_nodes)]
    conditions = Conditions(links, nodes, seed=seed)
    results, _ = run_programs(programs, Resending(Tree(graph)), conditions)
    for result in results:
        assert np.array_equal(result, values.sum(axis=0))


def test_arithmetic_on_agreed_numbers_is_done_once_for_all_nodes():
    calls = []

    def solve(total, factor):
        calls.append(total)
        return total * factor

    def program(value):
        total = yield Message.of(np.array([value]))
        total = yield Agreed(solve, (total.copy(), 3))
        return int(total[0])

    programs = [program(i) for i in range(5)]
    scheme = Resending(Tree(RING))
    results, _ = run_programs(programs, scheme, Conditions(BAD))
    assert results == [30] * 5
    assert len(calls) == 1


class Flooding:
    """A party that finds the smallest number of all neighbours, by asking them."""

    def __init__(self, node, value):
        self.node, self.value, self.came = node, value, {node: value}
        self.due = self.result = None
        self.may_rest = False

    def begin(self, now):
        self.due = now + 0.2
        return self._posts()

    def wake(self, now):
        return self.begin(now)

    def hear(self, now, sender, content):
        self.came |= content
        if len(self.came) == RING.n_nodes:
            self.result = min(self.came.values())
        return ()

    def _posts(self):
        return [Post(j, dict(self.came), 8) for j in RING.neighbours(self.node)]


def test_a_program_may_ask_for_a_party_of_its_own():
    def program(value):
        total = yield Message.of(np.array([value]))
        least = yield Joint(
            lambda node, step, _: Flooding(node, (value, step)), layer=0
        )
        last = yield Message.of(np.array([1]))
        return int(total[0]), least, int(last[0])

    programs = [program(7 - i) for i in range(5)]
    results, engine = run_programs(programs, Resending(Tree(RING)), Conditions(BAD))
    assert results == [(25, (3, 1), 5)] * 5
    assert engine.account.by_layer[0].letters > 0


def test_a_program_about_a_layer_says_so_of_its_own_parties_and_lockstep_refuses_them():
    def solution():
        yield Message.of(np.array([1]))
        found = yield Joint(lambda node, step, _: Flooding(node, node), layer=-1)
        return found

    programs = [run_about(2, solution()) for _ in range(5)]
    results, engine = run_programs(programs, Resending(Tree(RING)), Conditions(BAD))
    assert [found for found, _, _ in results] == [0] * 5
    assert set(engine.account.by_layer) == {2}
    averaging = Tree(RING)
    with Workers(5) as workers, pytest.raises(PlanError, match="needs simulated time"):
        run_in_step([run_about(2, solution()) for _ in range(5)], averaging, workers)


def test_nobody_sends_again_because_a_neighbour_is_slow():
    shards = shards_of(RING)
    nodes = {2: NodeModel(slowness=1e6)}
    links = LinkModel(delay=Lognormal(0.02, 0.1))
    result = simulate_events(shards, plan_for(shards), RING, links=links, nodes=nodes)
    assert result.seconds > 20  # many timeouts
    assert result.posts.resent == 0
    assert result.posts.acknowledgements <= result.posts.letters


def test_a_member_that_is_gone_is_named_when_all_others_have_waited_in_vain():
    shards, trace = shards_of(RING), Trace()
    plan = plan_for(shards)
    with pytest.raises(PeerTimeout, match=r"5 of 5.*node 3: gone since 0\.1 s") as it:
        simulate_events(
            shards,
            plan,
            RING,
            links=BAD,
            nodes={3: NodeModel(gone=0.1)},
            deadline=40.0,
            trace=trace,
        )
    assert it.value.peer == "3"
    ends = [event for event in trace if event.kind == "gave-up"]
    assert {event.at for event in ends} == {40.0}
    assert [event.node for event in ends] == [0, 1, 2, 4]


def test_a_graph_that_has_fallen_apart_ends_with_the_names_of_the_silent():
    def links(sender, receiver):
        is_cut = (sender == 0) != (receiver == 0)
        return LinkModel(loss=Independent(float(is_cut)))

    shards = shards_of(RING)
    with pytest.raises(PeerTimeout, match=r"node 0: node \d has had no answer"):
        simulate_events(shards, plan_for(shards), RING, links=links, deadline=100.0)


def test_nodes_that_are_only_slow_are_named_too():
    shards = shards_of(RING)
    nodes = {2: NodeModel(slowness=1e9)}
    with pytest.raises(PeerTimeout, match="node 2: it is still in averaging"):
        simulate_events(shards, plan_for(shards), RING, nodes=nodes, deadline=10.0)


def test_half_of_all_letters_lost_in_bursts_and_two_nodes_away_end_correctly():
    shards = shards_of(RING)
    plan = plan_for(shards)
    links = LinkModel(loss=Bursts(0.5, 4.0), delay=Lognormal(0.05))
    away = tuple((30.0 * k + 10, 30.0 * k + 20) for k in range(100))
    nodes = {1: NodeModel(away=away), 4: NodeModel(away=away)}
    here = simulate_events(shards, plan, RING, links=links, nodes=nodes, seed=3)
    assert digests(here.training) == digests(simulate(shards, plan, RING))
    assert here.seconds > 20  # somebody was away


def test_one_node_alone_needs_no_letters():
    alone = build_topology("complete", 1)
    shards = shards_of(alone, 30)
    here = simulate_events(shards, plan_for(shards), alone)
    assert here.posts.letters == 0
    assert digests(here.training) == digests(simulate(shards, plan_for(shards), alone))


def test_what_cannot_be_simulated_is_refused():
    shards = shards_of(RING)
    plan = plan_for(shards)
    with pytest.raises(DataError, match="`shards` must hold one shard"):
        simulate_events(shards[:3], plan, RING)
    with pytest.raises(PlanError, match=r"`nodes`: the graph has the nodes 0\.\.4"):
        simulate_events(shards, plan, RING, nodes={7: NodeModel()})
    with pytest.raises(PlanError, match="`deadline` must be a positive"):
        simulate_events(shards, plan, RING, deadline=0.0)
    with pytest.raises(PlanError, match="`seed` must not be negative"):
        simulate_events(shards, plan, RING, seed=-1)
    with pytest.raises(PlanError, match="`seconds_per_number` must be finite"):
        simulate_events(shards, plan, RING, seconds_per_number=-1.0)
    with pytest.raises(PlanError, match="`scheme` must be one of"):
        simulate_events(shards, plan, RING, scheme="tre")


needs_data = pytest.mark.skipif(
    not (REAL / "letter.npz").exists(), reason="needs DSSFN_DATA_DIR with letter.npz"
)


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", ["satimage", "letter"])
def test_real_data_by_class_give_the_lockstep_model_with_few_letters(name):
    graph = build_topology("circular", 20, degree=2)
    data = DataOptions(name, data_dir=REAL).load(0)
    run = divided(data, make_plan(data), graph, "by-class")
    links = LinkModel(loss=Independent(0.3), delay=Lognormal(0.02))
    here = simulate_events(run.shards, run.plan, graph, links=links)
    assert digests(here.training) == digests(train(run))
    assert here.letter_ratio <= 2.5


@pytest.mark.slow
def test_two_hundred_nodes_and_an_hour_of_simulated_time():
    graph = build_topology("circular", 200, degree=4)
    data = DataOptions("digits").load(0)
    run = divided(data, make_plan(data), graph, "iid")
    links = LinkModel(loss=Independent(0.3), delay=Lognormal(1.0))
    here = simulate_events(run.shards, run.plan, graph, links=links)
    assert digests(here.training) == digests(train(run))
    assert here.seconds > 3600
