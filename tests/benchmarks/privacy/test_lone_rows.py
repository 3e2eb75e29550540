"""Rows that stand alone in sums of products are read, and no others are made up."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmarks.privacy.lone_rows import lone_rows

P, Q = 4, 3
values = arrays(np.int64, (P,), elements=st.integers(0, 3))
rows = st.lists(st.tuples(values, st.integers(0, Q - 1)), min_size=1, max_size=8)


def stacked(given_rows):
    return np.array([[1, *x, *np.eye(Q)[y]] for x, y in given_rows], dtype=float)


def read(z, resolution=1.0):
    steps = np.full(P, resolution)
    return lone_rows(z.T @ z, steps, np.ones(P), Q)


@given(rows)
def test_what_is_read_are_rows_that_are_there(given_rows):
    z = stacked(given_rows)
    found, there = (Counter(map(tuple, one.tolist())) for one in (read(z), z))
    assert found <= there


@given(values, st.integers(0, Q - 1))
def test_one_row_is_always_read(x, y):
    z = stacked([(x - 2, y)])
    assert np.array_equal(read(z), z)


@given(st.permutations(range(Q)), st.data())
def test_rows_of_different_classes_are_read(classes, data):
    z = stacked([(data.draw(values), y) for y in classes])
    assert sorted(read(z).tolist()) == sorted(z.tolist())


def test_a_row_that_lacks_what_all_others_have_is_read():
    x = np.array([[1, 2, 3, 2], [1, 1, 2, 3], [0, 3, 3, 1]])
    z = stacked([(one, 0) for one in x])
    assert read(z)[:1].tolist() == z[2:].tolist()


def test_one_row_more_may_leave_others_alone():
    """The second column tells one row; without it the first tells another."""
    x = np.array([[1, 1, 2, 3], [1, 0, 3, 1], [0, 0, 1, 1], [0, 0, 3, 2]])
    z = stacked([(one, 0) for one in x])
    assert {tuple(one) for one in read(z).tolist()} >= {tuple(z[0]), tuple(z[1])}


def test_rows_that_are_alike_everywhere_are_not_read():
    z = stacked([(np.array([1, 2, 3, 2]), 0)] * 2)
    assert len(read(z)) == 0


def test_fields_are_rounded_to_their_steps():
    z = stacked([([0.1, 2.5, 0.3, 1.2], 1)])
    noise = np.random.default_rng(0).normal(size=(len(z.T), len(z.T)))
    found = lone_rows(z.T @ z + 1e-4 * noise, np.full(P, 0.1), np.ones(P), Q)
    assert np.allclose(found, z, rtol=0, atol=1e-12)
