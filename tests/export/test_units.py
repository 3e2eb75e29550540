"""Random units of exported graphs are those of the library, to the last bit."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dssfn.exact.bounds import FIRST_TOP, TOP
from dssfn.exact.fields import field_units
from dssfn.exact.structured import random_units
from dssfn.export.fields import add_field_units
from dssfn.export.graph import Graph, Port
from dssfn.export.onnx_model import model_proto
from dssfn.export.structured import UnitInputs, add_random_units
from tests.support.onnx_runs import onnx, session

KEY = (7, 1, 2)


def run(add, rows, width):
    """Run what is added to a graph, for inputs in rows."""
    graph = Graph("X")
    columns = graph.node("Einsum", "X", equation="ij->ji")
    graph.node("Transpose", add(graph, columns), perm=[1, 0], name="units")
    given = Port("X", np.dtype(np.float64), rows.shape[1])
    answer = Port("units", np.dtype(np.float32), width)
    proto = model_proto(onnx, graph, [given], [answer], {})
    return session(proto.SerializeToString()).run(None, {"X": rows})[0].T


@settings(max_examples=30)
@given(
    n=st.integers(1, 300),
    width=st.integers(1, 300),
    constants=st.lists(st.integers(0, 127), max_size=1),
    most=st.sampled_from([TOP, FIRST_TOP]),
    seed=st.integers(0, 99),
)
@example(n=63, width=64, constants=[3], most=TOP, seed=0)  # as many as places
@example(n=64, width=65, constants=[], most=TOP, seed=0)  # nothing to fill up with
@example(n=300, width=20, constants=[3], most=FIRST_TOP, seed=0)  # needs float64
@example(n=5, width=20, constants=[0], most=TOP, seed=0)  # a column of zeros
def test_structured_units_are_those_of_the_library(n, width, constants, most, seed):
    y = np.random.default_rng(seed).integers(-most, most + 1, size=(n, 5)).astype(float)
    y[:, 0], y[:, 1] = 0, most
    inputs = UnitInputs("", n, tuple(constants), most)
    found = run(
        lambda graph, y: add_random_units(graph, inputs._replace(values=y), KEY, width),
        y.T,
        width,
    )
    below = np.tile(np.array(constants, dtype=float)[:, None], 5)
    np.testing.assert_array_equal(
        found, random_units(np.vstack([y, below]), KEY, 0, width)
    )


@settings(max_examples=20)
@given(
    shape=st.tuples(st.integers(3, 16), st.integers(3, 16)),
    channels=st.sampled_from([(), (1,), (3,)]),
    width=st.integers(1, 130),
    seed=st.integers(0, 99),
)
def test_field_units_are_those_of_the_library(shape, channels, width, seed):
    shape = shape + channels
    pixels = np.random.default_rng(seed).integers(-TOP, TOP + 1, (np.prod(shape), 4))
    y = pixels.astype(np.float32)
    y[:, 0] = 5  # has no contrast
    found = run(
        lambda graph, y: add_field_units(graph, y, shape, KEY, width),
        y.T.astype(float),
        width,
    )
    np.testing.assert_array_equal(found, field_units(y, shape, KEY, 0, width))
