"""Which single rows sums give away, and which they do not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.audit.rows import found_rows
from dssfn.audit.sums import FirstLayer, Sums
from dssfn.config import Plan

P, Q = 5, 3
PLAN = Plan(n_features=P, classes=tuple(range(Q)), n_layers=1, width=4)


def sums_of(labels, seed, plan=PLAN):
    """The sums of random rows with these classes, and the rows."""
    V = np.random.default_rng(seed).normal(size=(P, len(labels)))
    Y, T = FirstLayer(plan).features(V), np.eye(Q)[labels].T
    return Sums((Y @ Y.T,), (T @ Y.T,)), V.T


@given(st.lists(st.integers(0, Q - 1), min_size=1, max_size=7), st.integers(0, 2**31))
def test_rows_are_found_where_few_are_summed_and_all_that_is_found_is_true(
    labels, seed
):
    sums, rows = sums_of(labels, seed)
    found = found_rows(FirstLayer(PLAN), sums)
    for label, row in found:
        distances = np.abs(rows - row).max(axis=1)
        assert distances.min() < 1e-5
        assert labels[int(distances.argmin())] == label
    counts = np.bincount(labels, minlength=Q)
    expected = int((counts == 1).sum())
    if sorted(counts)[-1] == 2 and (counts == 2).sum() == 1:
        expected += 2
    assert len(found) == expected


def test_without_a_constant_nobody_knows_which_rows_stand_alone():
    plan = PLAN.replace(bias=0.0)
    sums, _ = sums_of([0, 1], 0, plan)
    assert found_rows(FirstLayer(plan), sums) == []


def test_pairs_are_found_only_if_all_of_the_sums_is_known():
    sums, _ = sums_of([0, 0], 0)
    assert len(found_rows(FirstLayer(PLAN), sums)) == 2
    part = Sums(sums.G_by_fold, sums.C_by_fold, share=0.5)
    assert found_rows(FirstLayer(PLAN), part) == []


@pytest.mark.parametrize("seed", range(3))
def test_noise_has_no_rows(seed):
    noise = np.random.default_rng(seed).integers(-(2**62), 2**62, size=(P + 1, P + 1))
    sums = Sums((noise.astype(float),), (noise[:Q].astype(float),))
    assert found_rows(FirstLayer(PLAN), sums) == []
