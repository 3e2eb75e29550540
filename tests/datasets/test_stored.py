"""A downloaded set is kept, and used again only if it is still the same."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dssfn.datasets import load_dataset
from dssfn.datasets.recipes import RECIPES, Recipe
from dssfn.errors import DataError
from tests.support.data_sets import assert_equal, other_frame

pytestmark = pytest.mark.usefixtures("offline")


def test_a_set_from_openml_is_kept_in_the_cache(openml, tmp_path):
    frame, target = other_frame()
    asked = openml(frame, target)
    first = load_dataset("other")
    second = load_dataset("other")
    assert [which["name"] for which in asked] == ["other"]
    assert_equal(first, second)
    assert first.feature_names == ("a", "b", "c")
    kept = {path.name for path in (tmp_path / "cache").iterdir()}
    assert kept == {"other.npz", "other.npz.sha256"}


def test_pixels_from_openml_are_scaled_once(openml, tmp_path, monkeypatch):
    n_rows = 60010
    small = Recipe(554, n_train=60000, shape=(n_rows, 1), n_classes=10)
    monkeypatch.setitem(RECIPES, "mnist", small)
    pixels = pd.DataFrame({"p": np.arange(n_rows) % 256})
    asked = openml(pixels, pd.Series(np.arange(n_rows) % 10, name="class"))
    first, second = load_dataset("mnist"), load_dataset("mnist")
    assert [which["data_id"] for which in asked] == [554]
    assert first.X_train.max() == 1
    assert_equal(first, second)
    with np.load(tmp_path / "cache" / "mnist.npz") as stored:
        assert stored["X_train"].dtype == np.uint8


def test_a_cache_that_cannot_be_written_is_a_warning(openml, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DSSFN_CACHE_DIR", str(tmp_path / "file"))
    openml(*other_frame())
    with pytest.warns(UserWarning, match="could not be saved.*DSSFN_CACHE_DIR"):
        assert load_dataset("other").X_train.shape == (14, 3)


@pytest.fixture
def cached(openml, tmp_path):
    openml(*other_frame())
    load_dataset("other")
    return tmp_path / "cache" / "other.npz"


def test_a_cached_file_that_has_changed_is_refused_with_the_way_out(cached):
    with np.load(cached) as arrays:
        content = dict(arrays)
    content["X_train"][0, 0] += 1
    np.savez(cached, **content)
    with pytest.raises(DataError, match=r"other\.npz.*has changed.*Remove") as caught:
        load_dataset("other")
    assert "\n" not in str(caught.value)
    cached.unlink()
    assert load_dataset("other").X_train.shape == (14, 3)


def test_a_file_that_somebody_put_into_the_cache_is_taken(cached):
    cached.with_name("other.npz.sha256").unlink()
    assert load_dataset("other").X_train.shape == (14, 3)
