from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dssfn.config import Plan
from dssfn.consensus import Tree
from dssfn.driver import drive
from dssfn.errors import PeerTimeout, ProtocolError
from dssfn.exact.limbs import ExactTally
from dssfn.lockstep import Workers
from dssfn.masking import Masks
from dssfn.planning import settle
from dssfn.shard import Shard, one_hot
from dssfn.simulator import run_programs, simulate
from dssfn.statement import weigh_together
from dssfn.testing import check_transport, ring_links
from dssfn.topology import build_topology
from dssfn.training import train_node
from dssfn.transports import INT64, Tag, memory_network
from tests.support import totals

M = 6


def _shards(n_nodes=M):
    rng = np.random.default_rng(5)
    X, codes = rng.normal(size=(4, 120)), rng.integers(3, size=120)
    T = one_hot(codes, 3)
    return [Shard(X[:, m::n_nodes], T[:, m::n_nodes]) for m in range(n_nodes)]


def _plan(**settings):
    usual = {"n_features": 4, "classes": (0, 1, 2), "n_layers": 3, "width": 20}
    return Plan(**usual | settings)


def _links(topology):
    return [(i, j) for i in range(topology.n_nodes) for j in topology.neighbours(i)]


def _drive_all(hosts, plan, topology, **of_programs):
    plan, averaging = settle(plan, topology)
    shards = _shards(topology.n_nodes)

    def host(transport, nodes):
        programs = {
            node: train_node(
                shards[node], plan, n_nodes=topology.n_nodes, **of_programs
            )
            for node in nodes
        }
        return drive(programs, averaging, transport)

    with ThreadPoolExecutor(len(hosts)) as pool:
        transports = memory_network(hosts, _links(topology), deadline=20)
        found = list(pool.map(host, transports, hosts))
    return [network for host in found for _, network in sorted(host.items())]


@pytest.mark.parametrize(
    "hosts", [[[m] for m in range(M)], [[0, 1, 2], [3, 4], [5]], [range(M)]]
)
@pytest.mark.parametrize("solver", ["gram", "krylov", "admm"])
def test_driven_over_a_transport_equals_the_simulator_to_the_last_bit(hosts, solver):
    topology = build_topology("circular", M, degree=2)
    plan = _plan(solver=solver, consensus="tree", n_iter=10)
    simulated = simulate(_shards(), plan, topology).networks[0]
    for network in _drive_all(hosts, plan, topology):
        for mine, theirs in zip(network.outputs, simulated.outputs, strict=True):
            assert mine.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("consensus", ["gossip", "chebyshev", "exact"])
def test_schemes_that_mix_agree_with_the_simulator_up_to_rounding(consensus):
    topology = build_topology("circular", M)
    plan = _plan(solver="gram", consensus=consensus, tol=1e-13)
    simulated = simulate(_shards(), plan, topology).networks[0]
    for network in _drive_all([[m] for m in range(M)], plan, topology):
        difference = np.linalg.norm(network.output - simulated.output)
        # one product with p(H) against rounds: rounding, through four layers
        assert difference <= 1e-10 * np.linalg.norm(simulated.output)


def _add_up(hosts, topology):
    def host(transport, nodes):
        programs = {node: totals.program(node) for node in nodes}
        return drive(programs, Tree(topology), transport)

    with ThreadPoolExecutor(len(hosts)) as pool:
        transports = memory_network(hosts, _links(topology), deadline=20)
        return [
            came
            for found in pool.map(host, transports, hosts)
            for came in found.values()
        ]


@pytest.mark.parametrize("hosts", [[[0]], [[0], [1]], [[0, 1, 2], [3, 4], [5]]])
def test_integers_are_added_up_exactly_by_every_engine(hosts):
    n_nodes = sum(map(len, hosts))
    topology = build_topology("path", n_nodes)
    with Workers(n_nodes) as workers:
        programs = [totals.program(node) for node in range(n_nodes)]
        simulated = run_programs(programs, Tree(topology), workers)
    for came in [*simulated, *_add_up(hosts, topology)]:
        totals.check(came, n_nodes)


@pytest.mark.parametrize("solver", ["gram", "krylov", "admm"])
def test_a_training_that_goes_on_ends_as_if_it_had_never_stopped(solver):
    topology = build_topology("complete", 1)
    plan, averaging = settle(_plan(solver=solver, n_iter=10), topology)
    seen, records = [], []
    (transport,) = memory_network([[0]], [])

    def train(start=None):
        program = train_node(
            _shards(1)[0],
            plan,
            n_nodes=1,
            start=start,
            on_progress=seen.append,
            on_layer=records.append,
        )
        step = start.n_averagings if start else 0
        return drive({0: program}, averaging, transport, step=step)[0]

    whole, n_solved, history = train(), len(seen), records.copy()
    assert n_solved == plan.n_layers + 1
    for progress in seen[:n_solved]:
        records.clear()
        again = train(progress)
        assert records == history[len(progress.stages) - 1 :]
        for mine, theirs in zip(again.outputs, whole.outputs, strict=True):
            assert mine.tobytes() == theirs.tobytes()


def test_the_transport_in_memory_obeys_the_laws():
    links, hosts = ring_links(5), [[0], [1, 2], [3], [4]]
    with ThreadPoolExecutor(4) as pool:
        transports = memory_network(hosts, links)
        list(pool.map(check_transport, transports, [links] * 4, hosts))


def test_a_silent_neighbour_is_named():
    a, _ = memory_network([[0], [1]], ring_links(2), deadline=0.01)
    with pytest.raises(PeerTimeout, match="Node 1 sent nothing for step 7"):
        a.exchange(Tag(0, 7, 0, (1,)), {}, [(1, 0)])


def test_a_neighbour_that_left_is_named():
    a, b = memory_network([[0], [1]], ring_links(2))
    b.close()
    with pytest.raises(PeerTimeout, match="Node 1 has left"):
        a.exchange(Tag(0, 0, 0, (1,)), {}, [(1, 0)])


def test_a_letter_of_another_round_is_an_error():
    a, b = memory_network([[0], [1]], ring_links(2))
    b.exchange(Tag(0, 0, 1, (1,)), {(1, 0): np.ones(1)}, [])
    with pytest.raises(ProtocolError, match="must send its message for"):
        a.exchange(Tag(0, 0, 0, (1,)), {}, [(1, 0)])


def test_a_letter_of_another_kind_of_numbers_is_an_error():
    a, b = memory_network([[0], [1]], ring_links(2))
    b.exchange(Tag(0, 0, 0, (1,), INT64), {(1, 0): np.array([1])}, [])
    with pytest.raises(ProtocolError, match=r"message for .*<f8.* got .*<i8"):
        a.exchange(Tag(0, 0, 0, (1,)), {}, [(1, 0)])


def _weight(weight):
    tally = ExactTally(1)
    tally.add(np.array([[weight]]))
    return tally.numbers()


@pytest.mark.parametrize(
    "total", [_weight(3.0)[:-1], _weight(3.0)[None], _weight(3.0) + 0.0, -_weight(3.0)]
)
def test_a_total_that_was_found_before_is_checked_like_any_other(total):
    (transport,) = memory_network([[0]], [])
    averaging = Tree(build_topology("complete", 1))
    with pytest.raises(ProtocolError, match=r"handed over|no data can produce"):
        drive({0: weigh_together(3.0)}, averaging, transport, known=[total])


def test_masks_follow_from_totals_that_were_found_before_too():
    (transport,) = memory_network([[0]], [])
    averaging, masks = Tree(build_topology("complete", 1)), Masks({0: {}})
    known = [_weight(5.0)]
    found = drive(
        {0: weigh_together(3.0)}, averaging, transport, known=known, masks=masks
    )
    assert found[0].total == 5.0
    heard = Masks({0: {}})
    heard.hear(known[0])
    assert masks == heard
