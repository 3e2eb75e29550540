from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dssfn.calibration import FLOOR, probabilities

rows = arrays(float, st.tuples(st.integers(1, 4), st.integers(2, 6)),
              elements=st.floats(-1e30, 1e30))  # fmt: skip


@given(rows)
def test_rows_are_probabilities_however_large_the_outputs(scores):
    P = probabilities(scores)
    assert P.min() > 0
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)


@given(rows)
def test_the_order_of_the_classes_is_kept(scores):
    P = probabilities(scores)
    order = np.argsort(scores, axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(P, order, axis=1), axis=1) >= 0).all()


@given(arrays(float, (3, 4), elements=st.floats(0.01, 1)))
def test_what_was_a_probability_vector_is_only_softened(scores):
    scores = scores / scores.sum(axis=1, keepdims=True)
    expected = (1 - FLOOR) * scores + FLOOR / 4
    np.testing.assert_allclose(probabilities(scores), expected, atol=1e-14)
