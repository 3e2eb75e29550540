"""A set of a known name must have the samples that it is known by."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.datasets import load_dataset
from dssfn.datasets.recipes import RECIPES, content_digest
from dssfn.errors import DataError
from tests.support.data_sets import REAL

pytestmark = pytest.mark.usefixtures("offline")


@given(st.randoms(use_true_random=False), st.permutations(range(4)))
def test_the_digest_is_that_of_the_rows_whatever_their_order_and_class_ids(rng, ids):
    X = np.arange(60.0).reshape(20, 3) / 8
    y = np.arange(20) % 4
    order = rng.sample(range(20), 20)
    assert content_digest(X[order], np.array(ids)[y[order]]) == content_digest(X, y)


@given(st.integers(0, 19), st.integers(0, 2))
def test_any_other_value_or_class_gives_another_digest(row, column):
    X, y = np.arange(60.0).reshape(20, 3), np.arange(20) % 4
    changed, moved = X.copy(), y.copy()
    changed[row, column] += 0.001
    moved[row] = (moved[row] + 1) % 4
    assert content_digest(changed, y) != content_digest(X, y)
    assert content_digest(X, moved) != content_digest(X, y)


def as_openml_gives_it(name):
    """A real set in the form of OpenML, in an order of its own; skipped without."""
    if not (REAL / f"{name}.npz").is_file():
        pytest.skip(f"{name}.npz is not in the data folder")
    with np.load(REAL / f"{name}.npz") as arrays:
        X = np.concatenate([arrays["X_train"], arrays["X_test"]]).astype(float)
        y = np.concatenate([arrays["y_train"], arrays["y_test"]])
    order = np.random.default_rng(0).permutation(len(y))
    target = pd.Series([chr(ord("A") + k) for k in y[order]], name="class")
    return pd.DataFrame(X[order], columns=[f"f{k}" for k in range(X.shape[1])]), target


def test_a_known_set_is_known_in_any_order(openml):
    openml(*as_openml_gives_it("letter"))
    assert load_dataset("letter").X_train.shape == (13333, 16)


def test_a_known_set_with_another_value_is_refused_and_not_kept(openml, tmp_path):
    frame, target = as_openml_gives_it("letter")
    frame.iloc[777, 3] += 1
    openml(frame, target)
    with pytest.raises(DataError, match=r"sha256 1529d4784bf0.*data_dir"):
        load_dataset("letter")
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("change", ["rows", "features", "classes"])
def test_a_known_set_of_another_size_is_refused_and_not_kept(
    openml,
    tmp_path,
    change,
):
    n_rows, n_features = 20_000, 16
    letters = [chr(ord("A") + k % (25 if change == "classes" else 26)) for k in
               range(n_rows + (change == "rows"))]  # fmt: skip
    n_features += change == "features"
    openml(pd.DataFrame(np.zeros((len(letters), n_features))), pd.Series(letters))
    with pytest.raises(DataError, match="20000 samples, 16 features and 26 classes"):
        load_dataset("letter")
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("name", ["vowel", "letter", "mnist"])
def test_the_pinned_digests_are_those_of_the_paper_s_sets(name):
    frame, target = as_openml_gives_it(name)
    found = content_digest(frame.to_numpy(), target.to_numpy())
    assert found == RECIPES[name].content
