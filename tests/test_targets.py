from __future__ import annotations

import numpy as np
import pytest

from dssfn import Plan
from dssfn.shard import Rows, one_hot
from dssfn.targets import Targets, are_agreed

CLASSES = Plan(n_features=1, classes=("a", "b", "c"))
NUMBERS = Plan(n_features=1, targets=("price", "rate"))


def test_without_class_weights_classes_pass_untouched():
    rows = Rows(np.ones((1, 4)), one_hot(np.array([0, 1, 2, 0]), 3))
    targets = Targets.of(CLASSES, np.array([0.5, 0.25, 0.25]), np.ones(3))
    X, T, weights = targets.applied(rows)
    assert X is rows.X
    assert T is rows.T
    assert weights is None


def test_numbers_are_shifted_and_scaled_and_keep_their_weights():
    rows = Rows(np.ones((1, 2)), np.array([[3.0, 5.0], [0.0, 8.0]]), np.array([1, 2.0]))
    targets = Targets.of(NUMBERS, np.array([3.0, 4.0]), np.array([2.0, 4.0]))
    _, T, weights = targets.applied(rows)
    assert T.tolist() == [[0, 1], [-1, 1]]
    assert weights is rows.weights


def test_a_class_that_nobody_has_needs_no_balance():
    plan = CLASSES.replace(class_weight="balanced")
    factors = Targets.of(plan, np.array([0.75, 0.25, 0.0]), np.ones(3)).class_factors
    assert np.isfinite(factors).all()
    assert factors[0] * 0.75 == pytest.approx(factors[1] * 0.25)


def test_a_stage_gives_back_what_it_was_made_of():
    targets = Targets.of(NUMBERS, np.array([3.0, 4.0]), np.array([2.0, 4.0]))
    again = Targets.from_stage(targets.stage())
    for name in ("shift", "scale", "class_factors"):
        np.testing.assert_array_equal(getattr(again, name), getattr(targets, name))


def test_given_class_weights_need_no_agreement():
    assert not are_agreed(CLASSES.replace(class_weight=(1.0, 2.0, 3.0)))
    assert are_agreed(CLASSES.replace(class_weight="balanced"))
