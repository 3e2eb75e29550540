"""What a plan says of the arithmetic of its features."""

from __future__ import annotations

import pytest

from dssfn.config import Plan
from dssfn.errors import PlanError

SIZES = {"n_layers": 2, "width": 10}
BASE = {"n_features": 12, "classes": ("no", "yes"), **SIZES}

# Settings that integers cannot have, and what is said of them.
NOT_EXACT = {
    "raw inputs": ({"standardize": False}, "inputs that are standardised, got .*False"),
    "wide layers": ({"width": 8193}, "a `width` of at most 8192, .* got 8193"),
    "a large bias": ({"bias": 7.5}, "a `bias` of at most 7, got 7.5"),
    "krylov": ({"solver": "krylov"}, "the solver gram, .* got krylov"),
    "admm": ({"solver": "admm"}, "the solver gram, .* got admm"),
    "gossip": ({"consensus": "gossip"}, "the consensus tree, .* got gossip"),
    "exact": ({"consensus": "exact"}, "the consensus tree, .* got exact"),
    "rounds": ({"n_rounds": 5}, "no `n_rounds`, which are for gossip, got 5"),
    "singles": ({"precision": "float32"}, "no other `precision` than float64, got flo"),
}
EACH = pytest.mark.parametrize(
    ("settings", "said"), NOT_EXACT.values(), ids=list(NOT_EXACT)
)


@EACH
def test_integers_are_refused_with_the_setting_that_they_cannot_have(settings, said):
    with pytest.raises(PlanError, match=f"`units`: integers need {said}.* Change it"):
        Plan(**BASE | settings, units="integer")


@EACH
def test_auto_takes_dense_units_where_integers_cannot_be(settings, said):
    assert not Plan(**BASE | settings).is_exact


@pytest.mark.parametrize(
    "settings",
    [
        {}, {"width": 8192}, {"bias": 7.0}, {"bias": 0.0}, {"solver": "gram"},
        {"consensus": "tree"}, {"gain": 100.0}, {"class_weight": "balanced"},
        {"n_layers": "auto", "width": "auto"}, {"members": 3}, {"n_layers": 0},
        {"image_shape": (3, 4)}, {"image_shape": (3, 4, 1)},
    ],
)  # fmt: skip
def test_auto_takes_integers_wherever_they_can_be(settings):
    assert Plan(**BASE | settings).is_exact
    assert Plan(**BASE | settings, units="integer").is_exact
    if "image_shape" not in settings:
        assert not Plan(**BASE | settings, units="dense").is_exact


@pytest.mark.parametrize("units", ["", "int", "Integer", "float64", 3, None])
def test_units_are_one_of_three_words(units):
    with pytest.raises(PlanError, match="`units` must be one of"):
        Plan(**BASE, units=units)


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ((), r"must be the height and width of the images.* got \[\]"),
        ((12,), r"must be the height and width .* got \[12\]"),
        ((2, 2, 3, 1), r"must be the height and width .* got \[2, 2, 3, 1\]"),
        ((0, 4), r"must be the height and width .* got \[0, 4\]"),
        ((-3, -4), r"must be the height and width .* got \[-3, -4\]"),
        ((3.0, 4.0), r"must be the height and width .* got \[3.0, 4.0\]"),
        ((True, 12), r"must be the height and width .* got \[True, 12\]"),
        ((3, 5), r"15 numbers, but there are 12 features; got \[3, 5\]"),
        ((2, 2, 4), r"16 numbers, but there are 12 features; got \[2, 2, 4\]"),
    ],
)
def test_an_image_shape_must_be_that_of_the_features(shape, said):
    with pytest.raises(PlanError, match=f"`image_shape` .*{said}"):
        Plan(**BASE, image_shape=shape)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"classes": "ab"}, "`classes` must be a sequence of labels, got 'ab'"),
        ({"feature_names": "ab"}, "`feature_names` must be a sequence of names"),
        ({"targets": "ab", "classes": ()}, "`targets` must be a sequence of names"),
        ({"image_shape": 12}, r"`image_shape` must be a tuple such as \(28, 28\), got"),
        ({"class_weight": 3}, "`class_weight` must be .* got 3"),
    ],
)
def test_one_value_where_there_must_be_several_is_refused(settings, said):
    with pytest.raises(PlanError, match=said):
        Plan(**BASE | settings)


def test_an_image_shape_needs_integers():
    with pytest.raises(PlanError, match=r"`image_shape` needs .* other than dense"):
        Plan(**BASE, image_shape=(3, 4), units="dense")


@EACH
def test_an_image_shape_names_what_keeps_features_from_being_integers(settings, said):
    with pytest.raises(PlanError, match=f"`image_shape` needs integer .*need {said}"):
        Plan(**BASE | settings, image_shape=(3, 4))
