from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.config import UNITS
from dssfn.errors import DataError
from dssfn.network import CHUNK, Network, next_features, random_digest, random_matrix
from tests.support.networks import network
from tests.support.strategies import seeds


def textbook(net, x):
    """One sample through the paper's weights, written out."""
    plan, y = net.plan, (x - net.shift) / net.scale
    V = np.vstack([np.eye(2), -np.eye(2)])
    for l in range(plan.n_layers):
        R = random_matrix(plan.seed, l + 1, plan.width, len(y))
        random_part = plan.gain * R @ y / np.linalg.norm(R @ y)
        y = np.maximum(np.concatenate([V @ net.outputs[l] @ y, random_part]), 0)
    return net.outputs[-1] @ y


@given(seeds, st.integers(0, 3), st.floats(0.1, 5))
def test_forward_equals_the_papers_weights_written_out(seed, L, gain):
    net = network(seed, L=L, gain=gain, units="dense")
    X = np.random.default_rng(seed).normal(size=(3, 4))
    expected = np.stack([textbook(net, x) for x in X.T], axis=1)
    np.testing.assert_allclose(net.scores(X), expected, rtol=1e-10, atol=1e-12)


@given(seeds)
def test_lossless_flow_reproduces_the_layer_before(seed):
    rng = np.random.default_rng(seed)
    Y, O, R = rng.normal(size=(5, 7)), rng.normal(size=(2, 5)), rng.normal(size=(4, 5))
    grown = next_features(O @ Y, R, Y, gain=1.0)
    flow = np.hstack([np.eye(2), -np.eye(2), np.zeros((2, 4))])
    np.testing.assert_allclose(flow @ grown, O @ Y, rtol=1e-15)
    assert np.linalg.norm(flow) == pytest.approx(np.sqrt(2 * 2))


# Dense products may add in another order if there are fewer columns; integers may not.
@pytest.mark.parametrize(("units", "rtol"), [("integer", 0), ("dense", 1e-12)])
def test_chunks_do_not_change_the_scores(units, rtol):
    net = network(units=units)
    X = np.random.default_rng(0).normal(size=(3, CHUNK + 5))
    whole = net.scores(X)
    np.testing.assert_allclose(whole[:, -5:], net.scores(X[:, -5:]), rtol=rtol)


def test_an_all_zero_sample_gives_zero_features():
    grown = next_features(np.zeros((2, 1)), np.ones((3, 4)), np.zeros((4, 1)), gain=1)
    assert not grown.any()


def test_random_matrix_depends_on_seed_and_layer_only():
    R = random_matrix(5, 2, 6, 4)
    np.testing.assert_array_equal(R[:3], random_matrix(5, 2, 3, 4))
    assert not np.array_equal(R, random_matrix(5, 3, 6, 4))
    assert not np.array_equal(R, random_matrix(6, 2, 6, 4))


def philox(key, block):
    """Philox 4x64-10 (Salmon et al., 2011) for one counter value: four words."""
    low = 2**64 - 1
    c, k = [block, 0, 0, 0], list(key)
    for _ in range(10):
        a, b = 0xD2E7470EE14C6C93 * c[0], 0xCA5A826395121157 * c[2]
        c = [(b >> 64) ^ c[1] ^ k[0], b & low, (a >> 64) ^ c[3] ^ k[1], a & low]
        k = [(k[0] + 0x9E3779B97F4A7C15) & low, (k[1] + 0xBB67AE8584CAA73B) & low]
    return c


def test_random_matrix_is_the_published_philox_stream():
    # Models and nodes on other machines depend on these very numbers.
    words = [word for block in (1, 2) for word in philox((9, 4), block)]
    expected = [(word >> 11) * 2.0**-52 - 1 for word in words]
    np.testing.assert_array_equal(random_matrix(9, 4, 2, 4).ravel(), expected)


def test_random_matrix_is_uniform_on_minus_one_to_one():
    R = random_matrix(1, 1, 300, 300)
    assert R.min() >= -1
    assert R.max() < 1
    # 90000 draws: the mean has deviation 0.0019, the variance 0.001.
    assert abs(R.mean()) < 0.01
    assert abs(R.var() - 1 / 3) < 0.005


def test_digest_of_the_random_matrices_tells_seeds_and_units_apart():
    plan = network().plan
    digests = {
        random_digest(plan.replace(seed=seed, units=units))
        for seed in (0, 1)
        for units in ("integer", "dense")
    }
    assert len(digests) == 4
    assert random_digest(plan) in digests


@pytest.mark.parametrize("units", UNITS)
def test_staged_scores_end_with_the_scores(units):
    net = network(L=3, units=units)
    X = np.random.default_rng(0).normal(size=(3, 4))
    stages = list(net.staged_scores(X))
    assert len(stages) == 4
    np.testing.assert_array_equal(stages[-1], net.scores(X))


@pytest.mark.parametrize("value", [1e200, 1e308, np.inf, np.nan])
def test_values_that_would_overflow_are_named(value):
    X = np.ones((3, 4))
    X[1, 2] = value
    with pytest.raises(DataError, match="Sample 3, feature 2"):
        network().scores(X)


def test_wrong_number_of_features_is_refused():
    with pytest.raises(DataError, match="3 features"):
        network().scores(np.ones((4, 2)))


def test_single_precision_predicts_the_same_to_single_precision():
    net = network(L=3, units="dense")
    single = Network(
        net.plan.replace(precision="float32"), net.outputs, net.shift, net.scale
    )
    X = np.random.default_rng(1).normal(size=(net.plan.n_features, 50))
    mine, double = single.scores(X), net.scores(X)
    assert mine.dtype == np.float64
    assert mine.tobytes() != double.tobytes()
    np.testing.assert_allclose(mine, double, atol=1e-5 * np.abs(double).max())
