from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dssfn.datasets import (
    BUILTIN_NAMES,
    KNOWN_NAMES,
    Dataset,
    ReadOptions,
    fetch_openml_dataset,
    load,
    load_dataset,
)
from dssfn.datasets.recipes import RECIPES
from dssfn.errors import DataError, InputError, PlanError
from dssfn.schema import Column, Schema, Target
from tests.support.data_sets import ARRAYS, REAL, assert_equal

pytestmark = pytest.mark.usefixtures("offline")


def toy(n_train=6, n_test=4, n_features=3):
    rng = np.random.default_rng(0)
    return {
        "X_train": rng.normal(size=(n_train, n_features)),
        "y_train": np.arange(n_train) % 2,
        "X_test": rng.normal(size=(n_test, n_features)),
        "y_test": np.arange(n_test) % 2,
    }


def save(path, **arrays):
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays)
    return path


# scikit-learn's sets


@pytest.mark.parametrize(
    ("name", "n_samples", "n_features", "n_classes"),
    [
        ("digits", 1797, 64, 10),
        ("wine", 178, 13, 3),
        ("breast_cancer", 569, 30, 2),
        ("iris", 150, 4, 3),
    ],
)
def test_builtin_sets_need_nothing(name, n_samples, n_features, n_classes):
    data = load_dataset(name)
    assert name in BUILTIN_NAMES
    assert data.name == name
    assert len(data.X_train) + len(data.X_test) == n_samples
    assert data.X_train.shape[1] == n_features == len(data.feature_names)
    assert all(isinstance(feature, str) for feature in data.feature_names)
    assert data.X_train.dtype == data.X_test.dtype == np.float64
    assert set(data.y_train) == set(data.y_test) == set(range(n_classes))


# Folders of NPZ files


def test_a_name_is_looked_up_in_the_data_folder_first(tmp_path, monkeypatch):
    for place, shift in (("given", 1), ("environment", 2), ("cache", 3)):
        arrays = toy()
        arrays["X_train"] = arrays["X_train"] * 0 + shift
        save(tmp_path / place / "toy.npz", **arrays)
    assert load_dataset("toy").X_train[0, 0] == 3
    monkeypatch.setenv("DSSFN_DATA_DIR", str(tmp_path / "environment"))
    assert load_dataset("toy").X_train[0, 0] == 2
    assert load_dataset("toy", data_dir=tmp_path / "given").X_train[0, 0] == 1
    monkeypatch.setenv("DSSFN_DATA_DIR", str(tmp_path / "gone"))
    assert load_dataset("toy").X_train[0, 0] == 3


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"DSSFN_CACHE_DIR": "a", "XDG_CACHE_HOME": "b"}, "a"),
        ({"DSSFN_CACHE_DIR": "", "XDG_CACHE_HOME": "b"}, "b/dssfn"),
        ({"DSSFN_CACHE_DIR": "", "XDG_CACHE_HOME": ""}, "home/.cache/dssfn"),
    ],
)
def test_the_cache_folder_follows_the_environment(
    tmp_path, monkeypatch, variables, folder
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    save(tmp_path / folder / "toy.npz", **toy())
    assert load_dataset("toy").X_train.shape == (6, 3)


@pytest.mark.parametrize("name", ["mnist", "norb_subset3"])
def test_pixels_become_fractions_of_255(tmp_path, name):
    arrays = toy() | {
        "X_train": np.full((6, 3), 255, dtype=np.uint8),
        "X_test": np.full((4, 3), 51, dtype=np.uint8),
    }
    save(tmp_path / f"{name}.npz", **arrays)
    save(tmp_path / "other.npz", **arrays)
    data = load_dataset(name, data_dir=tmp_path)
    assert np.array_equal(data.X_train, np.ones((6, 3)))
    assert np.array_equal(data.X_test, np.full((4, 3), 0.2))
    assert load_dataset("other", data_dir=tmp_path).X_train.max() == 255


def test_labels_become_int64_and_features_float64(tmp_path):
    arrays = toy()
    arrays = {name: values.astype(np.float16) for name, values in arrays.items()}
    data = load(str(save(tmp_path / "toy.npz", **arrays)))
    assert data.X_train.dtype == np.float64
    assert data.y_train.dtype == data.y_test.dtype == np.int64


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_test": None}, "no array `y_test`, only `X_train`"),
        (
            {"y_train": np.arange(5)},
            "`X_train` and `y_train` must have the same number of rows",
        ),
        ({"X_test": np.zeros((4, 2))}, "the same number of columns, got 3 and 2"),
        ({"X_train": np.zeros((6, 3, 1))}, "`X_train` must be a matrix"),
        ({"X_test": np.full((4, 3), np.nan)}, "row 1, column 1 of `X_test`"),
        ({"y_train": np.zeros(6)}, r"at least two classes, got \[0\]"),
        ({"y_test": np.full(4, 0.5)}, "needs class labels"),
        ({"feature_names": np.array(["a"])}, "name all 3 features, got 1"),
    ],
)
def test_a_set_with_wrong_arrays_is_refused(tmp_path, change, message):
    arrays = {k: v for k, v in (toy() | change).items() if v is not None}
    save(tmp_path / "toy.npz", **arrays)
    with pytest.raises(DataError, match=message) as caught:
        load_dataset("toy", data_dir=tmp_path)
    assert "toy" in str(caught.value)


def test_a_data_folder_that_is_given_must_exist(tmp_path):
    with pytest.raises(DataError, match="`data_dir` must be an existing folder"):
        load_dataset("iris", data_dir=tmp_path / "gone")


def test_an_unknown_name_says_what_was_tried_and_what_is_near(tmp_path):
    save(tmp_path / "plants.npz", **toy())
    for name, near in (("vowle", "vowel"), ("digit", "digits"), ("plnts", "plants")):
        with pytest.raises(DataError) as caught:
            load_dataset(name, data_dir=tmp_path)
        message = str(caught.value)
        assert "\n" not in message
        assert message.startswith(
            f"No data set `{name}` was found. Did you mean `{near}`? Built in"
        )
        for words in (
            f"`{name}`",
            "Built in: digits, wine, breast_cancer, iris. Looked for",
            f"`{tmp_path}`",
            f"{tmp_path / 'cache'}",
            "OpenML",
            "no route to host",
            "`data_dir`",
        ):
            assert words in message
    with pytest.raises(DataError, match="none is set"):
        load_dataset("plants")


@pytest.mark.parametrize("name", ["", "a b", "../iris", ".hidden", "a\\b", "a/b"])
def test_a_name_that_could_be_a_path_is_refused(name):
    for function in (load_dataset, fetch_openml_dataset):
        with pytest.raises(DataError, match="name of a data set must consist"):
            function(name)


def test_known_names_are_those_without_a_file():
    assert set(KNOWN_NAMES) == {*BUILTIN_NAMES, *RECIPES}


# Files


@pytest.fixture
def flowers(tmp_path):
    """A CSV file of forty samples in two classes."""
    frame = pd.DataFrame({"u": np.arange(40.0), "v": 1.0, "kind": ["a", "b"] * 20})
    frame.to_csv(tmp_path / "flowers.csv", index=False)
    return tmp_path / "flowers.csv"


def test_a_file_is_split_by_class(flowers):
    data = load(str(flowers), target="kind", test_size=0.2, seed=3)
    assert data.name == "flowers.csv"
    assert data.X_train.shape == (32, 2)
    assert sorted(data.y_test) == ["a"] * 4 + ["b"] * 4
    assert data.feature_names == ("u", "v")
    again = load(str(flowers), target="kind", test_size=0.2, seed=3)
    assert_equal(data, again)


def test_a_test_file_takes_the_place_of_the_split(flowers, tmp_path):
    frame = pd.DataFrame({"kind": ["b", "c"], "v": [1.0, 2.0], "u": [3.0, 4.0]})
    frame.to_parquet(tmp_path / "test.parquet")
    data = load(str(flowers), target="kind", test_file=tmp_path / "test.parquet")
    assert data.X_train.shape == (40, 2)
    assert data.X_test.tolist() == [[3, 1], [4, 2]]
    assert data.y_test.tolist() == ["b", "c"]


def test_a_test_file_with_other_labels_is_refused(flowers, tmp_path):
    (tmp_path / "t.csv").write_text("u,v,kind\n1,1,0\n")
    with pytest.raises(DataError, match=r"No label of `t.csv` occurs.*0 against 'a'"):
        load(str(flowers), target="kind", test_file=tmp_path / "t.csv")


def test_a_test_file_without_a_feature_is_refused(flowers, tmp_path):
    (tmp_path / "t.csv").write_text("u,kind\n1,a\n")
    rule = "`t.csv` has no column `v`, which the model needs, only `u`, `kind`"
    with pytest.raises(DataError, match=rule):
        load(str(flowers), target="kind", test_file=tmp_path / "t.csv")


def test_a_schema_says_what_a_file_holds(write):
    path = write("t.csv", "size,kind\n" + "1,a\n,b\n" * 20)
    size = Column(name="size", kind="number", missing=True)
    schema = Schema(columns=(size,), target=Target(column="kind", classes=("b", "a")))
    data = load(str(path), schema=schema)
    assert data.feature_names == ("size", "size missing")
    assert data.schema == schema
    assert np.isnan(data.X_train[data.y_train == "b", 0]).all()
    tested = load(str(path), schema=schema, test_file=path)
    assert (len(tested.X_train), len(tested.X_test)) == (40, 40)
    assert tested.schema == schema
    for more, message in (
        ({"schema": schema, "target": "size"}, "`target` must be the schema's target"),
        ({"schema": schema, "options": ReadOptions(drop=["size"])}, "`drop` must be"),
    ):
        with pytest.raises(InputError, match=message):
            load(str(path), **more)
    with pytest.raises(PlanError, match="`schema` must be left out: `iris` is a named"):
        load("iris", schema=schema)


def test_a_schema_may_name_a_number_to_predict(write):
    path = write("t.csv", "size,price\n" + "".join(f"{k},{k / 4}\n" for k in range(8)))
    size, price = (
        Column(name="size", kind="number"),
        Target(column="price", kind="number"),
    )
    data = load(str(path), schema=Schema(columns=(size,), target=price))
    assert data.targets == ("price",)
    assert (data.y_train == data.X_train[:, 0] / 4).all()
    tested = load(str(path), schema=data.schema, test_file=path)
    assert tested.targets == ("price",)
    assert tested.y_test.tolist() == [k / 4 for k in range(8)]


def test_a_csv_file_needs_a_target(flowers):
    with pytest.raises(DataError, match=r"`target` must name.*`u`, `v`, `kind`"):
        load(str(flowers))


def test_a_users_npz_needs_no_target(tmp_path):
    path = save(tmp_path / "mine.npz", X=np.eye(8), y=np.arange(8) % 2)
    assert load(str(path)).X_test.shape == (2, 8)


def test_an_npz_with_its_own_split_keeps_it(tmp_path):
    arrays = toy()
    data = load(str(save(tmp_path / "toy.npz", **arrays)), test_size=0.9)
    for name in ARRAYS:
        assert np.array_equal(getattr(data, name), arrays[name])


def test_one_class_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,x\n2,x\n3,x\n")
    with pytest.raises(DataError, match=r"at least two classes, got \['x'\]"):
        load(str(tmp_path / "t.csv"), target="y")


def test_what_only_a_file_can_have_is_refused_for_names(tmp_path):
    with pytest.raises(PlanError, match="`target` must be left out: `iris`"):
        load("iris", target="species")
    with pytest.raises(PlanError, match="`test_file` must be left out: `iris`"):
        load("iris", test_file="t.csv")
    path = save(tmp_path / "toy.npz", **toy())
    with pytest.raises(PlanError, match=r"`toy.npz` is already split"):
        load(str(path), target="y")


def test_a_built_in_set_with_a_suffix_is_told_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rule = "`iris.csv` does not exist. `iris` is a built-in data set: give its name"
    with pytest.raises(DataError, match=rule):
        load("iris.csv", target="label")
    for name in ("irises.csv", f"{tmp_path}/iris.csv"):
        with pytest.raises(DataError, match=r"does not exist\. Check the path"):
            load(name, target="label")


def test_a_source_is_a_path_if_it_looks_like_one(flowers, monkeypatch):
    monkeypatch.chdir(flowers.parent)
    assert load("flowers.csv", target="kind").name == "flowers.csv"
    assert load("iris").name == "iris"
    with pytest.raises(DataError, match=r"does not exist. Did you mean `flowers.csv`"):
        load("flower.csv", target="kind")
    with pytest.raises(DataError, match="nor does its folder"):
        load("folder/iris")
    (flowers.parent / "plain").write_text("a,y\n1,2\n")
    with pytest.raises(DataError, match="must end in one of"):
        load("plain", target="y")


# The paper's sets, where they are at hand


@pytest.fixture(scope="module")
def real():
    """Load a real set once."""
    loaded: dict[str, Dataset] = {}

    def get(name):
        if not (REAL / f"{name}.npz").is_file():
            pytest.skip(f"{name}.npz is not in the data folder")
        if name not in loaded:
            loaded[name] = load_dataset(name, data_dir=REAL)
        return loaded[name]

    return get


@pytest.mark.parametrize(
    ("name", "n_train", "n_test", "n_features", "n_classes", "low", "high"),
    [
        ("vowel", 528, 462, 10, 11, -6, 6),
        ("satimage", 4435, 2000, 36, 6, 27, 157),
        ("letter", 13333, 6667, 16, 26, 0, 15),
        ("mnist", 60000, 10000, 784, 10, 0, 1),
    ],
)
def test_real_sets_have_the_papers_sizes(
    real, name, n_train, n_test, n_features, n_classes, low, high
):
    data = real(name)
    assert data.X_train.shape == (n_train, n_features)
    assert data.X_test.shape == (n_test, n_features)
    assert data.X_train.dtype == data.X_test.dtype == np.float64
    assert data.y_train.dtype == data.y_test.dtype == np.int64
    assert set(data.y_train.tolist()) == set(range(n_classes))
    assert set(data.y_test.tolist()) == set(range(n_classes))
    for X in (data.X_train, data.X_test):
        assert low <= X.min() < X.max() <= high


def test_real_vowel_lists_classes_in_the_order_that_the_download_assumes(real):
    assert real("vowel").y_train[:11].tolist() == list(range(11))


def test_a_real_set_is_the_same_by_path_and_by_name(real):
    assert_equal(real("vowel"), load(str(REAL / "vowel.npz")))
