from __future__ import annotations

import numpy as np

from dssfn.export.graph import Graph


def test_equal_constants_are_kept_once():
    graph = Graph("X")
    first = graph.constant(np.ones((2, 3)))
    assert graph.constant(np.ones((2, 3))) == first
    others = [np.ones((3, 2)), np.ones((2, 3), dtype=np.float32), np.zeros((2, 3))]
    texts = [np.array(["a", "b"], dtype=object), np.array(["a", "c"], dtype=object)]
    assert len({first, *map(graph.constant, others + texts)}) == 6
    assert len(graph.constants) == 6


def test_what_several_parts_need_is_made_once():
    graph = Graph("X")
    signs = np.array([[1, -1]], dtype=np.int8)
    assert graph.small(signs, np.float32) == graph.small(signs, np.float32)
    assert graph.small(signs, np.float64) != graph.small(signs, np.float32)
    row = np.array([[3.0]])
    assert graph.same_for_all(row) == graph.same_for_all(row)
    assert [node.operator for node in graph.nodes].count("Shape") == 1


def test_every_tensor_is_made_before_it_is_used_and_has_a_name_of_its_own():
    graph = Graph("X")
    with graph.part("a"), graph.part("b"):
        wide = graph.reshaped(graph.same_for_all(np.ones((4, 1))), 2, 2)
        graph.sorted(graph.rows(wide, 0, 1), 2)
    known = {"X", *graph.constants}
    for node in graph.nodes:
        assert set(node.inputs) <= known
        assert not set(node.outputs) & known
        known |= set(node.outputs)
    assert all(node.outputs[0].startswith("a/b/") for node in graph.nodes)
