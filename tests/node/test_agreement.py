from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dssfn.errors import ProtocolError
from dssfn.node.agreement import Assembly
from dssfn.progress import Progress
from dssfn.topology import build_topology
from dssfn.transports import memory_network


def _progress(n_solved, seed=0):
    rng = np.random.default_rng(seed)
    stages = tuple({"O": rng.normal(size=(2, 5))} for _ in range(n_solved))
    return Progress(stages, (1,) * n_solved)


def _start_all(*lines, kind="path"):
    progresses = list(zip(*lines, strict=True))
    topology = build_topology(kind, len(progresses))
    nodes = range(topology.n_nodes)
    links = [(i, j) for i in nodes for j in topology.neighbours(i)]
    transports = memory_network([[i] for i in nodes], links, deadline=20)

    def start(node):
        return Assembly(node, topology, transports[node]).common_start(
            *progresses[node]
        )

    with ThreadPoolExecutor(topology.n_nodes) as pool:
        return list(pool.map(start, nodes))


@pytest.mark.parametrize("kind", ["path", "circular", "star", "complete"])
def test_all_go_on_from_the_last_layer_that_all_have(kind):
    starts = _start_all([_progress(k) for k in (4, 3, 5, 4, 9)], kind=kind)
    assert [len(start.stages) for start in starts] == [3] * 5


def test_one_that_has_nothing_sends_all_to_the_start():
    assert _start_all([_progress(4), None, _progress(4)]) == [None] * 3


def test_layers_of_different_trainings_send_all_to_the_start(caplog):
    assert _start_all([_progress(4), _progress(4, seed=1), _progress(4)]) == [None] * 3
    assert "different trainings" in caplog.text


def test_rounding_is_averaged_away():
    progresses = [_progress(3) for _ in range(3)]
    moved = progresses[1].flat() * (1 + 1e-13)
    progresses[1] = progresses[1].with_flat(moved)
    starts = _start_all(progresses)
    assert len({start.flat().tobytes() for start in starts}) == 1
    np.testing.assert_allclose(starts[0].flat(), progresses[0].flat(), rtol=1e-12)


def test_equal_layers_are_left_as_they_are():
    progresses = [_progress(3) for _ in range(3)]
    starts = _start_all(progresses)
    assert {start.flat().tobytes() for start in starts} == {
        progresses[0].flat().tobytes()
    }


def test_where_the_furthest_layers_differ_the_latest_ones_count():
    furthest = [_progress(4), _progress(4, seed=1), _progress(4)]
    latest = [_progress(k, seed=2) for k in (3, 2, 3)]
    starts = _start_all(furthest, latest)
    expected = _progress(2, seed=2).flat().tobytes()
    assert {start.flat().tobytes() for start in starts} == {expected}


def test_where_the_furthest_layers_agree_the_latest_ones_do_not_count():
    furthest = [_progress(k) for k in (4, 5, 6)]
    latest = [_progress(k, seed=2) for k in (3, 2, 3)]
    starts = _start_all(furthest, latest)
    assert {start.flat().tobytes() for start in starts} == {
        _progress(4).flat().tobytes()
    }


def _meet_all(work, n_nodes):
    """What every node of a path ends with; an error is one of these."""
    topology = build_topology("path", n_nodes)
    nodes = range(n_nodes)
    links = [(i, j) for i in nodes for j in topology.neighbours(i)]
    transports = memory_network([[i] for i in nodes], links, deadline=20)

    def one(node):
        try:
            return work(node, Assembly(node, topology, transports[node]))
        except ProtocolError as exc:
            return str(exc)

    with ThreadPoolExecutor(n_nodes) as pool:
        return list(pool.map(one, nodes))


def test_a_layer_that_is_the_same_everywhere_passes():
    def check(node, everybody):
        for n_solved in (1, 2, 3):
            everybody.check_stage(_progress(n_solved))

    assert _meet_all(check, 4) == [None] * 4


@pytest.mark.parametrize("layer", [0, 2])
def test_nodes_learn_in_which_layer_they_differ(layer):
    """By the last bit of one number, on one node."""

    def check(node, everybody):
        progress = _progress(3)
        if node == 1:
            progress.stages[layer]["O"][1, 4] += 2.0**-50
        for n_solved in (1, 2, 3):
            everybody.check_stage(progress.first(n_solved))

    ended = _meet_all(check, 4)
    assert all(f"different numbers in layer {layer}," in text for text in ended)


def test_errors_that_layers_were_chosen_by_may_differ():
    def check(node, everybody):
        errors = np.array([1.0 + node * 1e-15])
        stage = {"O": np.eye(2), "validation": errors, "tries": errors}
        everybody.check_stage(Progress((stage,), (1,)))

    assert _meet_all(check, 3) == [None] * 3


def test_all_nodes_hear_what_each_has_stated():
    def state(node, everybody):
        return everybody.state(10.0 * node, ("a", "b", "c"))

    for stated in _meet_all(state, 3):
        assert stated.weights == (0.0, 10.0, 20.0)
        assert stated.of([1, 2]) == stated.total == 30.0
