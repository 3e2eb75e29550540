"""Units that see small rectangles of a picture."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from dssfn import Plan, build_topology, save_network, simulate
from dssfn.exact import fields as fields_module
from dssfn.exact.bounds import LEVELS, TOP
from dssfn.exact.fields import field_units, random_fields
from dssfn.shard import divide, one_hot

KEY = (7, 1, 0)
SHAPES = [(28, 28), (8, 8), (3, 3), (5, 9), (12, 30, 3), (4, 7, 2)]


def pictures(shape, c=9, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(-TOP, TOP + 1, size=(math.prod(shape), c))
    return y.astype(np.float32)


def seen_slowly(shape, y, n):
    """What n fields see, by loops over windows in Python's integers."""
    height, width = shape[:2]
    channels = shape[2] if len(shape) > 2 else 1
    fields, _ = random_fields(shape, KEY, n)
    step = max(1, min(height, width) // 12)
    moved = 2 * step if min(height, width) >= 2 * step + 3 else 0
    rows, columns = height - moved, width - moved
    picture = y.astype(np.int64).reshape(height, width, channels, -1)
    total = np.zeros((n, y.shape[1]), dtype=np.int64)
    for top in range(0, moved + 1, step):
        for left in range(0, moved + 1, step):
            window = picture[top : top + rows, left : left + columns]
            sums = fields.astype(np.int64) @ window.reshape(-1, y.shape[1])
            total += np.maximum(sums, 0)
    return total


@pytest.mark.parametrize("shape", SHAPES)
def test_a_field_sees_no_brightness(shape):
    fields, lengths = random_fields(shape, KEY, 200)
    assert (fields.astype(int).sum(axis=1) == 0).all()
    squares = (fields.astype(int) ** 2).sum(axis=1)
    np.testing.assert_allclose(lengths, np.sqrt(np.maximum(squares, 1)), rtol=1e-15)
    assert (squares > 0).mean() > 0.9  # nine equal weights see nothing, and are rare


@pytest.mark.parametrize("shape", SHAPES)
def test_units_are_what_fields_see_divided_by_length_and_contrast(shape):
    y = pictures(shape)
    units = field_units(y, shape, KEY, 0, 100)
    seen = seen_slowly(shape, y, 100)
    _, lengths = random_fields(shape, KEY, 100)
    values = seen / lengths[:, None]
    contrast = np.sqrt((np.rint(values[:64]) ** 2).mean(axis=0))
    wanted = np.clip(LEVELS * values / contrast, 0, TOP)
    # Single precision may round a number to the other side of a half.
    assert np.abs(units - wanted).max() < 0.501


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(SHAPES), st.integers(0, 99), st.integers(1, 60))
def test_the_first_units_do_not_depend_on_how_many_follow(shape, first, more):
    y = pictures(shape, c=3)
    whole = field_units(y, shape, KEY, 0, first + more)
    assert (whole[first:] == field_units(y, shape, KEY, first, first + more)).all()


@pytest.mark.parametrize("columns", [1, 7, 256])
def test_a_picture_is_seen_alike_whatever_it_comes_with(monkeypatch, columns):
    y = pictures((28, 28), c=30)
    expected = field_units(y, (28, 28), KEY, 0, 80)
    monkeypatch.setattr(fields_module, "COLUMNS", columns)
    assert (field_units(y, (28, 28), KEY, 0, 80) == expected).all()


def test_double_precision_sees_the_same(monkeypatch):
    y = pictures((28, 28))
    expected = field_units(y, (28, 28), KEY, 0, 80)
    monkeypatch.setattr(fields_module, "FLOAT32", 1)  # as if nothing fitted
    assert (field_units(y, (28, 28), KEY, 0, 80) == expected).all()


def test_the_largest_sums_fit_into_single_precision():
    """Pictures of 28 x 28 pixels are worth the faster product."""
    fields, _ = random_fields((28, 28), KEY, 2000)
    assert TOP * 9 * np.abs(fields.astype(int)).sum(axis=1).max() < 2**24


def test_an_even_picture_has_no_units():
    y = np.full((64, 2), 50, dtype=np.float32)
    y[:, 1] = 0
    assert not field_units(y, (8, 8), KEY, 0, 100).any()


def test_members_and_seeds_have_fields_of_their_own():
    keys = [(0, 1, 0), (1, 1, 0), (0, 1, 1)]
    found = [random_fields((28, 28), key, 20)[0].tobytes() for key in keys]
    assert len(set(found)) == 3


def test_one_file_for_every_split_of_pictures(tmp_path):
    X, y = load_digits(return_X_y=True)
    X, T = X[:600], one_hot(y[:600], 10)
    size = {"n_layers": 2, "width": 60, "members": 3}
    plan = Plan(n_features=64, classes=tuple(range(10)), image_shape=(8, 8), **size)
    splits = {
        "one": [np.arange(600)],
        "by class": [np.flatnonzero(T[q]) for q in range(10)],
    }
    hashes = set()
    for name, parts in splits.items():
        graph = build_topology("star", len(parts))
        result = simulate(divide(X, T, parts), plan, graph)
        save_network(result.networks[0], tmp_path / name)
        hashes.add(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest())
    assert len(hashes) == 1
    assert result.history[-1].validation_accuracy > 0.9
