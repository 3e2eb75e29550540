"""Exported models take raw columns as the library reads them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from dssfn import DSSFNClassifier, SSFNClassifier, SSFNRegressor, load_network
from dssfn.datasets.checks import Source
from dssfn.datasets.column_blocks import ColumnBlock
from dssfn.datasets.table_values import column_values
from dssfn.errors import DataError
from dssfn.export import to_onnx
from dssfn.modelfile import save_network
from dssfn.schema import Column, Encoding, Schema
from tests.support.networks import ensemble
from tests.support.onnx_runs import (
    answers,
    assert_same_answers,
    columns_of,
    onnx,
    session,
)
from tests.support.strategies import seeds
from tests.support.tables import named_table

SMALL = {"members": 3, "n_layers": 1, "width": 20, "random_state": 0}

AGE = Column(name="age", kind="number", missing=True, unit="years")
SIZE = Column(name="size", kind="number")
PAIN = Column(name="pain", kind="category", levels=(1, 2), missing=True)
SEX = Column(name="sex", kind="category", levels=("f", "m"), same={"M": "m"})
TREE = Column(name="tree", kind="category", levels=("ash",), other=True)
SMOKES = Column(name="smokes", kind="boolean", missing=True)
OLD = Column(name="old", kind="boolean")
ID = Column(name="id", kind="ignore")
SCHEMA = Schema(columns=(AGE, SIZE, ID, PAIN, SEX, TREE, SMOKES, OLD))
ROWS = {
    "age": [30.0, np.nan, 41.5],
    "size": [1.5, 2.0, -7.0],
    "pain": ["1", "2.0", ""],
    "sex": ["f", "M", "m"],
    "tree": ["ash", "oak", "elm"],
    "smokes": ["yes", "", "FALSE"],
    "old": ["1", "0.0", "True"],
}


def model_of(schema, seed=0, **kind):
    """Members with random weights that take what a schema gives."""
    names = schema.feature_names
    return ensemble(seed, P=len(names), schema=schema, feature_names=names, **kind)


def read(rows, schema):
    """The features of a table, as the library reads them; (J, P)."""
    frame = pl.DataFrame({name: list(values) for name, values in rows.items()})
    block = ColumnBlock(frame, Source("table"))
    values = [column_values(block, column) for column in schema.used]
    return Encoding(schema).features(values).T


def as_inputs(rows, schema):
    return columns_of(pd.DataFrame(rows), schema)


@pytest.mark.parametrize("kind", [{}, {"targets": ("a", "b")}, {"units": "dense"}])
def test_a_table_has_the_answers_of_the_library(kind):
    model = model_of(SCHEMA, **kind)
    inputs = as_inputs(ROWS, SCHEMA)
    rtol = 1e-12 if "units" in kind else 0
    assert_same_answers(model, read(ROWS, SCHEMA), columns=inputs, rtol=rtol)


def test_inputs_are_named_and_typed_as_the_columns():
    taken = {one.name: (one.type, one.shape) for one in session(
        to_onnx(model_of(SCHEMA))
    ).get_inputs()}  # fmt: skip
    number, text = ("tensor(double)", ["N", 1]), ("tensor(string)", ["N", 1])
    assert taken == {
        "age": number, "size": number, "pain": text, "sex": text, "tree": text,
        "smokes": text, "old": text,
    }  # fmt: skip
    (one,) = session(to_onnx(model_of(SCHEMA), encoded=True)).get_inputs()
    assert (one.name, one.shape) == ("X", ["N", len(SCHEMA.feature_names)])


def test_files_are_standard():
    proto = onnx.load_from_string(to_onnx(model_of(SCHEMA)))
    onnx.checker.check_model(proto, full_check=True)
    opsets = {one.domain: one.version for one in proto.opset_import}
    assert opsets == {"": 17, "ai.onnx.ml": 3}
    numbers = Schema(columns=(AGE, SIZE))
    proto = onnx.load_from_string(to_onnx(model_of(numbers)))
    assert [one.domain for one in proto.opset_import] == [""]


def test_equal_models_are_equal_files(tmp_path):
    model = model_of(SCHEMA)
    save_network(model, tmp_path / "m.safetensors")
    assert to_onnx(load_network(tmp_path / "m.safetensors")) == to_onnx(model)


def test_the_file_says_what_its_columns_hold():
    told = session(to_onnx(model_of(SCHEMA))).get_modelmeta().custom_metadata_map
    columns = {one["name"]: one for one in json.loads(told["columns"])}
    assert list(columns) == list(ROWS)
    assert columns["age"]["unit"] == "years"
    assert columns["sex"] == {
        "name": "sex", "kind": "category", "levels": ["f", "m"], "same": {"M": "m"},
        "other": False, "missing": False, "unit": "",
    }  # fmt: skip
    assert columns["pain"]["levels"] == ["1", "2"]
    assert json.loads(told["unseen"]) == "refused"
    encoded = session(to_onnx(model_of(SCHEMA), encoded=True)).get_modelmeta()
    assert "columns" not in encoded.custom_metadata_map


@pytest.mark.parametrize("n", [0, 1, 2])
def test_any_number_of_samples_has_answers(n):
    inputs = {name: one[:n] for name, one in as_inputs(ROWS, SCHEMA).items()}
    found = answers(to_onnx(model_of(SCHEMA)), inputs)
    assert found["label"].shape == (n,)
    assert found["scores"].shape == (n, 2)


def test_columns_of_other_lengths_are_refused():
    inputs = as_inputs(ROWS, SCHEMA)
    for name in ("age", "old"):
        with pytest.raises(Exception, match=r"[Dd]im"):
            answers(to_onnx(model_of(SCHEMA)), inputs | {name: inputs[name][:1]})


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("size", np.nan, "size_must_hold_finite_numbers"),
        ("size", np.inf, "size_must_hold_finite_numbers"),
        ("age", -np.inf, "age_must_hold_finite_numbers"),
        ("pain", "3", "pain_must_be_one_of_its_levels"),
        ("sex", "", "sex_must_be_one_of_its_levels"),
        ("sex", "F", "sex_must_be_one_of_its_levels"),
        ("tree", "", "tree_must_be_one_of_its_levels"),
        ("smokes", "perhaps", "smokes_must_be_true_or_false"),
        ("old", "", "old_must_be_true_or_false"),
    ],
)
def test_what_the_schema_does_not_allow_is_refused_with_the_name(name, value, said):
    wrong = ROWS | {name: [*ROWS[name][:2], value]}
    with pytest.raises(DataError, match=f"column `{name}`"):
        read(wrong, SCHEMA)
    with pytest.raises(Exception, match=said):
        answers(to_onnx(model_of(SCHEMA)), as_inputs(wrong, SCHEMA))


def test_names_of_columns_come_before_those_of_the_graph():
    names = ["label", "label_", "scores", "Gather_1", "constant_1", "X", "a b/ü"]
    schema = Schema(columns=tuple(Column(name=one, kind="number") for one in names))
    rows = np.random.default_rng(0).normal(size=(5, len(names)))
    inputs = {name: rows[:, [k]] for k, name in enumerate(names)}
    model = model_of(schema)
    found = answers(to_onnx(model), inputs)
    assert list(found) == ["label__", "probabilities", "scores_"]
    assert (found["scores_"] == model.scores(rows.T).T).all()


TEXTS = ["a", "b", "B b", "ü", "1", "2", "-3", "0.5", "true", "x.0"]
NAMES = ["age", "scores", "Concat_2", "constant_3", "größe", "a b"]


@st.composite
def columns(draw, name):
    kind = draw(st.sampled_from(["number", "category", "category", "boolean"]))
    missing = draw(st.booleans())
    if kind != "category":
        return Column(name=name, kind=kind, missing=missing)
    levels = draw(st.lists(st.sampled_from(TEXTS), min_size=1, unique=True))
    others = [text for text in TEXTS if text not in levels]
    same = draw(st.lists(st.sampled_from(others), unique=True)) if others else []
    return Column(
        name=name,
        kind=kind,
        levels=tuple(levels),
        same={text: levels[k % len(levels)] for k, text in enumerate(same)},
        other=draw(st.booleans()),
        missing=missing,
    )


def values_of(column):
    """Values that a column may have, and some that it may not have."""
    if column.kind == "number":
        sizes = st.floats(-1e9, 1e9)
        return st.one_of(sizes, sizes, sizes, st.just(np.nan))
    if column.kind == "boolean":
        return st.sampled_from(["true", "False", "YES", "no", "0", "1.0", "1", ""])
    wholes = ["1.0", "2.", "-3.000", "none of them", ""]
    return st.sampled_from([*column.level_texts, *column.same, *TEXTS, *wholes])


@st.composite
def tables(draw):
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    schema = Schema(columns=tuple(draw(columns(name)) for name in names))
    n = draw(st.integers(1, 6))
    rows = {
        column.name: draw(st.lists(values_of(column), min_size=n, max_size=n))
        for column in schema.columns
    }
    return schema, rows


@settings(max_examples=100)
@given(tables(), seeds)
@example((SCHEMA, ROWS), 0)
def test_any_table_is_read_alike_or_refused_alike(table, seed):
    schema, rows = table
    model = model_of(schema, seed % 100, K=1, widths=(3,))  # quick to load
    inputs = as_inputs(rows, schema)
    try:
        X = read(rows, schema)
    except DataError:
        with pytest.raises(Exception, match="_must_"):
            answers(to_onnx(model), inputs)
        return
    found = answers(to_onnx(model), inputs)
    name = next(name for name in found if name.startswith("scores"))
    assert (found[name] == model.scores(X.T).T).all()


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 200
    kind = pd.Series(rng.choice(["ash", "oak", "elm"], n))
    return pd.DataFrame(
        {
            "kind": kind.mask(rng.random(n) < 0.1).astype("category"),
            "grade": pd.Categorical(rng.choice([1.0, 2.0, 2.5], n)),
            "grown": pd.Categorical(rng.random(n) < 0.5),
            "height": rng.normal(size=n),
            "width": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
            "wild": rng.random(n) < 0.5,
        }
    )


@pytest.fixture(scope="module")
def fitted(frame):
    y = np.where(frame["height"] + (frame["kind"] == "oak") > 0, "tall", "low")
    return SSFNClassifier(**SMALL).fit(frame, y)


def assert_same_from_columns(model, frame, *, rtol=0.0):
    """Compare an estimator with its graph, both of which see the raw table."""
    schema = model.network_.plan.schema
    inputs = columns_of(frame, schema)
    assert_same_answers(model, model._columns(frame).T, columns=inputs, rtol=rtol)
    found, wanted = answers(to_onnx(model), inputs), model.predict(frame)
    if isinstance(model, SSFNRegressor):
        np.testing.assert_allclose(found["prediction"][:, 0], wanted, rtol=10 * rtol)
    else:
        assert (found["label"] == wanted).all()


def test_estimators_take_the_columns_that_they_were_fitted_on(fitted, frame):
    assert_same_from_columns(fitted, frame)
    again = SSFNClassifier.from_network(fitted.network_)
    assert to_onnx(again) == to_onnx(fitted)


def test_nodes_take_the_same_columns(fitted, frame):
    y = fitted.predict(frame)
    nodes = DSSFNClassifier(3, **SMALL).fit(frame, y)
    assert_same_from_columns(nodes, frame)


def test_numbers_are_predicted_from_columns(frame):
    model = SSFNRegressor(**SMALL).fit(frame, frame["height"] ** 2)
    assert_same_from_columns(model, frame)


def test_what_an_estimator_never_saw_counts_as_missing(fitted, frame):
    for name, value in (("kind", "pine"), ("kind", None), ("grade", 7), ("grade", "")):
        unseen = frame.assign(**{name: pd.Categorical([value] * len(frame))})
        assert_same_from_columns(fitted, unseen)
    assert_same_from_columns(fitted, frame.assign(height=np.nan))
    told = session(to_onnx(fitted)).get_modelmeta().custom_metadata_map
    assert json.loads(told["unseen"]) == "missing"
    inputs = columns_of(
        frame.assign(kind=pd.Categorical(["pine"] * len(frame))),
        fitted.network_.plan.schema,
    )
    with pytest.raises(Exception, match="kind_must_be_one_of_its_levels"):
        answers(to_onnx(fitted.network_), inputs)


def test_a_gap_is_refused_where_no_number_was_missing(fitted, frame):
    X = frame[["kind", "height"]]
    model = SSFNClassifier(**SMALL).fit(X, fitted.predict(frame))
    gone = X.assign(height=np.nan)
    with pytest.raises(DataError):
        model.predict(gone)
    with pytest.raises(Exception, match="height_must_hold_finite_numbers"):
        answers(to_onnx(model), columns_of(gone, model.network_.plan.schema))


def test_empty_text_may_be_a_level_of_an_estimator():
    X = pd.DataFrame({"a": pd.Categorical(["", "x", None, "y"] * 15)})
    model = SSFNClassifier(**SMALL).fit(X, [0, 1, 1, 0] * 15)
    assert_same_from_columns(model, X.dropna())


def test_columns_without_names_have_their_numbers():
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[::7, 0] = np.nan
    model = SSFNClassifier(**SMALL).fit(X, X[:, 1] > 0)
    found = answers(to_onnx(model), {"x0": X[:, [0]], "x1": X[:, [1]]})
    assert (found["label"] == model.predict(X)).all()


SETS = [
    "iris", "wine", "breast_cancer", "digits", "diabetes", "satimage", "heart",
    "heart rate",
]  # fmt: skip
NUMBERS = ("diabetes", "heart rate")


def round_trip(name, **settings):
    X, y = named_table(name)
    X, X_test, y, _ = train_test_split(X, y, random_state=0)
    kind = SSFNRegressor if name in NUMBERS else SSFNClassifier
    rtol = 1e-12 if settings.get("units") == "dense" else 0.0
    model = kind(**settings).fit(X, y)
    assert_same_from_columns(model, X_test, rtol=rtol)


@pytest.mark.parametrize("name", ["wine", "diabetes", "heart", "heart rate"])
def test_small_models_answer_the_same_from_columns(name):
    round_trip(name, **SMALL)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::dssfn.OverfitWarning")
@pytest.mark.parametrize("units", ["integer", "dense"])
@pytest.mark.parametrize("name", SETS)
def test_defaults_answer_the_same_from_columns_of_eight_sets(name, units):
    round_trip(name, units=units, random_state=0)
