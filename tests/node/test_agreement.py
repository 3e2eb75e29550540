from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

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
