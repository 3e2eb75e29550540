from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.config import Plan
from dssfn.errors import DataError
from dssfn.lockstep import Workers, drive
from dssfn.scaling import agree_exact_scaling, agree_scaling
from dssfn.shard import Shard, one_hot
from dssfn.simulator import simulate
from dssfn.topology import build_topology
from tests.support.strategies import seeds


def agreed(parts, *, has_gaps=False):
    """The moments that nodes with these samples and weights agree on."""
    programs = [
        agree_scaling(
            lambda X=X, w=w: [(X, w)],
            float(X.shape[1] if w is None else w.sum()),
            has_gaps=has_gaps,
        )
        for X, w in parts
    ]

    def answer(messages):
        return [np.mean([one.make() for one in messages], axis=0)] * len(messages)

    with Workers(len(parts)) as workers:
        return drive(programs, answer, workers)


def parts_of(X, w, owner):
    return [
        (X[:, owner == m], None if w is None else w[owner == m])
        for m in range(owner.max() + 1)
        if (owner == m).any()
    ]


@settings(max_examples=50)
@given(seeds, st.integers(1, 6), st.integers(1, 40), st.booleans())
def test_moments_are_those_of_all_samples_whoever_holds_them(seed, M, J, weighted):
    rng = np.random.default_rng(seed)
    spread, place = rng.uniform(-6, 6, (4, 1)), rng.normal(size=(4, 1))
    X = (rng.normal(size=(4, J)) + 10 * place) * 10**spread
    w = rng.uniform(0.1, 3, J) if weighted else None
    parts = parts_of(X, w, rng.integers(M, size=J))
    found = agreed(parts)
    mean = np.average(X, axis=1, weights=w)
    deviation = np.sqrt(np.average((X - mean[:, None]) ** 2, axis=1, weights=w))
    for moments in found:
        total = J if w is None else w.sum()
        assert moments.weight * len(parts) == pytest.approx(total)
        np.testing.assert_allclose(moments.shift, mean, rtol=1e-12)
        varies = ~moments.constant
        assert varies.all() == (J > 1)
        np.testing.assert_allclose(moments.scale[varies], deviation[varies], rtol=1e-9)
        np.testing.assert_array_equal(moments.scale[moments.constant], 1.0)


@settings(max_examples=50)
@given(seeds, st.integers(1, 6), st.integers(2, 40), st.booleans(), st.booleans())
def test_moments_with_gaps_are_those_of_what_is_there(seed, M, J, weighted, exact):
    rng = np.random.default_rng(seed)
    X = rng.normal(3.0, size=(5, J))
    X[rng.random(X.shape) < 0.4] = np.nan
    X[3], X[4] = np.nan, np.where(np.isnan(X[4]), np.nan, 7.5)  # nothing; a constant
    w = rng.integers(1, 4, J).astype(float) if weighted else None
    parts = parts_of(X, w, rng.integers(M, size=J))
    if exact:
        found = agreed_exactly(parts, 7, has_gaps=True)
    else:
        found = agreed(parts, has_gaps=True)
    for moments in found:
        for x, shift, scale in zip(X, moments.shift, moments.scale, strict=True):
            there = ~np.isnan(x)
            weights = None if w is None else w[there]
            if not there.any():
                assert (shift, scale) == (0, 1)
                continue
            mean = np.average(x[there], weights=weights)
            variance = np.average((x[there] - mean) ** 2, weights=weights)
            assert shift == pytest.approx(mean, rel=1e-12)
            expected = np.sqrt(variance) if np.ptp(x[there]) > 0 else 1.0
            assert scale == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.1, -3.3, 1e9, 1e-9, 1e150, 1e-300])
@pytest.mark.parametrize("M", [1, 3, 7])
def test_what_is_constant_is_known_to_be_however_it_is_split(value, M):
    X = np.full((1, 50), value)
    w = np.random.default_rng(0).uniform(0.1, 3, 50)
    for weights in (None, w):
        for moments in agreed(parts_of(X, weights, np.arange(50) % M)):
            assert moments.constant.all()
            assert moments.scale[0] == 1.0
            assert moments.shift[0] == pytest.approx(value)


def test_a_weight_is_a_repetition():
    rng = np.random.default_rng(0)
    X, times = rng.normal(size=(3, 20)), rng.integers(0, 4, 20)
    (weighted,) = agreed([(X, times.astype(float))])
    (repeated,) = agreed([(np.repeat(X, times, axis=1), None)])
    assert weighted.weight == repeated.weight
    np.testing.assert_allclose(weighted.shift, repeated.shift, rtol=1e-12)
    np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=1e-12)


def test_a_node_without_weight_changes_nothing_and_all_of_them_are_refused():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2, 9))
    (alone,) = agreed([(X, None)])
    beside, _ = agreed([(X, None), (100 + X, np.zeros(9))])
    np.testing.assert_allclose(beside.shift, alone.shift, rtol=1e-12)
    np.testing.assert_allclose(beside.scale, alone.scale, rtol=1e-12)
    with pytest.raises(DataError, match="must be positive for some samples"):
        agreed([(X, np.zeros(9))] * 2)


def agreed_exactly(parts, chunk=1000, *, has_gaps=False):
    """The moments that nodes with these samples and weights agree on, exactly."""

    def rows(X, w):
        for start in range(0, X.shape[1], chunk):
            columns = slice(start, start + chunk)
            yield X[:, columns], None if w is None else w[columns]

    programs = [
        agree_exact_scaling(lambda X=X, w=w: rows(X, w), len(X), has_gaps=has_gaps)
        for X, w in parts
    ]

    def answer(messages):
        total = np.sum([one.make() for one in messages], axis=0)
        assert total.dtype == np.int64
        return [total] * len(messages)

    with Workers(len(parts)) as workers:
        return drive(programs, answer, workers)


def bits_of(moments):
    return np.concatenate([[moments.weight], *moments[1:]]).tobytes()


@settings(max_examples=50)
@given(seeds, st.integers(1, 6), st.integers(1, 40), st.booleans(), st.integers(1, 9))
def test_exact_moments_have_the_same_bits_whoever_holds_the_samples(
    seed, M, J, weighted, chunk
):
    rng = np.random.default_rng(seed)
    spread, place = rng.uniform(-30, 30, (4, 1)), rng.normal(size=(4, 1))
    X = (rng.normal(size=(4, J)) + 10 * place) * 10**spread
    w = rng.uniform(0.1, 3, J) if weighted else None
    (together,) = agreed_exactly([(X, w)])
    mean = np.average(X, axis=1, weights=w)
    deviation = np.sqrt(np.average((X - mean[:, None]) ** 2, axis=1, weights=w))
    assert together.weight == pytest.approx(J if w is None else w.sum())
    np.testing.assert_allclose(together.shift, mean, rtol=1e-12)
    varies = ~together.constant
    assert varies.all() == (J > 1)
    np.testing.assert_allclose(together.scale[varies], deviation[varies], rtol=1e-9)
    owner = rng.integers(M, size=J)
    for moments in agreed_exactly(parts_of(X, w, owner), chunk):
        assert bits_of(moments) == bits_of(together)


@settings(max_examples=50)
@given(seeds, st.integers(1, 30))
def test_exact_moments_take_whole_weights_as_repetitions_to_the_last_bit(seed, J):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3, J)) * 10.0 ** rng.integers(-20, 20, (3, 1))
    w = rng.integers(0, 50, J).astype(float)
    w[0] = 1
    (weighted,) = agreed_exactly([(X, w)])
    (repeated,) = agreed_exactly([(np.repeat(X, w.astype(int), axis=1), None)])
    assert bits_of(weighted) == bits_of(repeated)


@pytest.mark.parametrize("value", [0.0, 0.1, -3.3, 1e9, 1e-9, 1e38, 1e-38, -1e-60])
def test_what_is_constant_is_known_to_be_by_exact_moments(value):
    (moments,) = agreed_exactly([(np.full((1, 30), value), None)])
    assert moments.constant.all()
    np.testing.assert_array_equal(moments.scale, 1.0)
    assert moments.shift[0] == value


def test_exact_moments_refuse_what_they_cannot_add_up():
    with pytest.raises(DataError, match=r"Column 2: numbers must be below 2\^127"):
        agreed_exactly([(np.array([[1.0, 2.0], [3.0, -(2.0**127)]]), None)])
    with pytest.raises(DataError, match="sample_weight"):
        agreed_exactly([(np.ones((1, 2)), np.zeros(2))])


@pytest.mark.parametrize("targets", [(), ("cost",)])
@pytest.mark.parametrize("size", [{}, {"n_layers": 1, "width": 4}])
def test_a_training_names_the_column_that_it_cannot_add_up(size, targets):
    rng = np.random.default_rng(0)
    classes = () if targets else ("a", "b")
    names = ("age", "income")
    plan = Plan(
        n_features=2, feature_names=names, classes=classes, targets=targets, **size
    )
    for column in (*names, *targets):
        X, T = rng.normal(size=(2, 40)), rng.normal(size=(1, 40))
        if not targets:
            T = one_hot(np.arange(40) % 2, 2)
        (T[0] if column == "cost" else X[names.index(column)])[3] = 1e300
        with pytest.raises(DataError, match=f'^Column `{column}`: .* `units = "dense"'):
            simulate([Shard(X, T)], plan, build_topology("complete", 1))


@pytest.mark.parametrize("scale", [1e-36, 1e-50, 1e-150, 1e-300])
def test_exact_moments_refuse_what_varies_too_little(scale):
    X = np.random.default_rng(0).normal(size=(3, 40))
    X[1] *= scale
    with pytest.raises(DataError, match="Column 2: numbers must vary by more"):
        agreed_exactly(parts_of(X, None, np.arange(40) % 3))
    X[1, 7] = 1.0  # one usual number is enough
    X[2] = 0.0
    (moments,) = agreed_exactly([(X, None)])
    assert moments.constant.tolist() == [False, False, True]
    # and a sample without weight is none
    X[1] = np.where(np.arange(40) == 7, scale, 0.0)
    (moments,) = agreed_exactly([(X, (np.arange(40) != 7).astype(float))])
    assert moments.constant.tolist() == [False, True, True]
