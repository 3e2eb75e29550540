import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.experiments.communication.gradient import (
    Adam,
    Shape,
    centralised_costs,
    cost_and_gradient,
)


def _problem(rng, shape, n_samples):
    Y = rng.normal(size=(shape.n_inputs, n_samples))
    return Y, rng.normal(size=(shape.n_outputs, n_samples))


@given(
    n_layers=st.integers(0, 4),
    n_units=st.integers(1, 6),
    n_samples=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_the_gradient_is_what_finite_differences_give(
    n_layers, n_units, n_samples, seed
):
    shape = Shape(3, n_units, n_layers, 2)
    rng = np.random.default_rng(seed)
    samples = _problem(rng, shape, n_samples)
    weights = shape.initial(seed)
    gradient = cost_and_gradient(shape, weights, *samples)[:-1]
    direction = rng.normal(size=shape.size)
    h = 1e-6  # near a kink of the ReLU by chance once in many thousand examples

    def cost(t):
        return cost_and_gradient(shape, weights + t * direction, *samples)[-1]

    slope = (cost(h) - cost(-h)) / (2 * h)
    size = np.linalg.norm(gradient) * np.linalg.norm(direction) + cost(0)
    assert abs(gradient @ direction - slope) <= 1e-5 * size


def test_the_cost_is_the_squared_error_of_the_network():
    shape = Shape(4, 5, 2, 3)
    rng = np.random.default_rng(0)
    Y, T = _problem(rng, shape, 7)
    weights = rng.normal(size=shape.size)
    W1, W2, O = shape.views(weights)
    scores = O @ np.maximum(W2 @ np.maximum(W1 @ Y, 0), 0)
    cost = cost_and_gradient(shape, weights, Y, T)[-1]
    assert cost == pytest.approx(np.linalg.norm(T - scores) ** 2, rel=1e-12)


def test_samples_may_come_in_several_passes(monkeypatch):
    shape = Shape(4, 5, 2, 3)
    samples = _problem(np.random.default_rng(0), shape, 23)
    weights = shape.initial(1)
    at_once = cost_and_gradient(shape, weights, *samples)
    monkeypatch.setattr("dssfn.experiments.communication.gradient.COLUMNS", 5)
    np.testing.assert_allclose(
        cost_and_gradient(shape, weights, *samples), at_once, rtol=1e-11, atol=1e-12
    )


def test_the_first_features_neither_grow_nor_fade_with_depth():
    shape = Shape(30, 300, 20, 3)
    *hidden, _ = shape.views(shape.initial(0))
    Y = np.random.default_rng(0).normal(size=(30, 50))
    sizes = []
    for W in hidden:
        Y = np.maximum(W @ Y, 0)
        sizes.append(np.linalg.norm(Y))
    assert max(sizes) < 4 * min(sizes)


def test_centralised_costs_start_with_that_of_the_first_weights():
    shape = Shape(3, 4, 1, 2)
    samples = _problem(np.random.default_rng(0), shape, 10)
    start = shape.initial(0)
    costs = list(centralised_costs(shape, start, Adam(0.01), samples, 5))
    assert len(costs) == 6
    assert costs[0] == cost_and_gradient(shape, start, *samples)[-1]
    assert costs[-1] < costs[0]
