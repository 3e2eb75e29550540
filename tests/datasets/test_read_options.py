from __future__ import annotations

import numpy as np
import pytest

from dssfn.datasets import (
    FileSamples,
    ReadOptions,
    describe,
    load,
    open_shards,
    read_labelled,
    read_table,
)
from dssfn.errors import DataError, PlanError

COLUMNS = {"id": ["x", "y"], "a": [1, 2], "b": [3, 4], "note": [5, 6], "y": ["u", "v"]}
FORMATS = ["t.csv", "t.tsv", "t.parquet", "t.feather", "t.xlsx"]


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"sep": "x"}, r"`sep` must be one of `,`, `;`, `tab`, `\|`, got 'x'"),
        ({"sep": ""}, "`sep` must be one of"),
        ({"decimal": ";"}, "`decimal` must be one of `.`, `,`, got ';'"),
        ({"sep": ",", "decimal": ","}, "`decimal` must differ from `sep`"),
        ({"encoding": "utf-7"}, r"`encoding` must be one of utf-8.*Did you mean"),
        ({"encoding": "hex"}, "`encoding` must be one of"),
        ({"encoding": "\0"}, "`encoding` must be one of"),
        ({"columns": "ab"}, "`columns` must be a list of names"),
        ({"drop": ["a", "b", "a"]}, "`drop` must name each only once, got 'a' twice"),
        ({"columns": ["a"], "drop": ["a"]}, "`drop` must not name 'a', as `columns`"),
        ({"drop": ["a"], "id": "a"}, "`drop` must not name 'a', as `id` does"),
        ({"columns": ["a"], "id": "a"}, "`id` must not name 'a', as `columns` does"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, rule):
    with pytest.raises(PlanError, match=rule):
        ReadOptions(**options)


def test_lists_are_kept_as_they_cannot_change():
    names = ["a"]
    options = ReadOptions(columns=names, drop=iter("b"), sep="\\t", encoding="UTF8")
    names.append("c")
    assert options == ReadOptions(("a",), ("b",), None, "\t", None, "utf-8")
    assert hash(options) == hash(options)


@pytest.mark.parametrize("name", FORMATS)
def test_columns_are_chosen_in_any_format_and_by_every_reader(write, name):
    path = write(name, COLUMNS)
    for options, features in (
        (ReadOptions(columns=["b", "a"]), ("b", "a")),
        (ReadOptions(drop=["note"], id="id"), ("a", "b")),
        (ReadOptions(columns=["b"], id="id"), ("b",)),
    ):
        X = np.array([COLUMNS[one] for one in features], dtype=float)
        table = read_labelled(path, "y", options=options)
        assert table.feature_names == features
        assert np.array_equal(table.X.T, X)
        assert table.ids == (None if options.id is None else ("x", "y"))
        assert describe(path, "y", options=options).feature_names == features
        for memory in (None, 0):
            samples = FileSamples(
                path, target="y", classes="uv", options=options, memory=memory
            )
            for _ in range(2):
                assert np.array_equal(
                    np.hstack([rows.X for rows in samples.chunks(1)]), X
                )
        files = open_shards([path, path], "y", test=path, options=options)
        assert files.feature_names == features
        assert files.test.feature_names == features
        data = load(str(path), target="y", test_file=path, options=options)
        assert data.feature_names == features
    unlabelled = read_table(path, options=ReadOptions(columns=["a"]))
    assert unlabelled.X.tolist() == [[1], [2]]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("option", ["columns", "drop", "id"])
def test_unknown_columns_are_refused_with_the_near_one(write, name, option):
    path = write(name, COLUMNS)
    given = "notes" if option == "id" else ["notes"]
    options = ReadOptions(**{option: given})
    rule = (
        f"`{name}` has no column `notes`, which `{option}` names, only .*`note`.*"
        "Did you mean `note`"
    )
    with pytest.raises(DataError, match=rule):
        read_labelled(path, "y", options=options)


def test_a_choice_must_fit_the_target_and_the_model(write):
    path = write("t.csv", COLUMNS)
    for option in ("columns", "drop", "id"):
        given = "y" if option == "id" else ["y"]
        with pytest.raises(DataError, match=f"`{option}` must not name the target `y`"):
            read_labelled(path, "y", options=ReadOptions(**{option: given}))
    for option, given in (("columns", ["b"]), ("drop", ["a"]), ("id", "a")):
        options = ReadOptions(**{option: given})
        rule = f"`a` is needed, but `{option}` leaves it out"
        with pytest.raises(DataError, match=rule):
            read_labelled(path, "y", features=["a", "b"], options=options)
    with pytest.raises(DataError, match="no feature columns"):
        read_labelled(path, "y", options=ReadOptions(columns=[]))


def test_the_order_of_a_model_is_kept_whatever_is_dropped(write):
    path = write("t.csv", COLUMNS)
    options = ReadOptions(drop=["note"], id="id")
    table = read_labelled(path, "y", features=["b", "a"], options=options)
    assert table.X.tolist() == [[3, 1], [4, 2]]


@pytest.mark.parametrize("block", [1, 2**21])
def test_what_names_samples_is_text_as_it_stands(write, monkeypatch, block):
    monkeypatch.setattr("dssfn.datasets.csv_file._CSV_BYTES", block)
    path = write("t.csv", "id,a,y\n007,1,u\n1e3,2,v\n,3,v\n true ,4,u\n")
    table = read_labelled(path, "y", options=ReadOptions(id="id"))
    assert table.ids == ("007", "1e3", "", "true")
    assert table.feature_names == ("a",)


def test_the_features_of_an_npz_have_no_names_to_choose(write):
    path = write("t.npz", {"X": np.ones((2, 2)), "y": np.arange(2)})
    for options in ({"columns": ["a"]}, {"drop": ["a"]}, {"id": "a"}):
        with pytest.raises(DataError, match=r"`t\.npz`.*have no names.*left out"):
            read_labelled(path, options=ReadOptions(**options))
    # What says how text is written may stay, for other files beside it.
    assert read_labelled(path, options=ReadOptions(sep=";")).X.shape == (2, 2)


def test_named_sets_are_not_read_from_text():
    with pytest.raises(PlanError, match="`drop` must be left out: `iris` is a named"):
        load("iris", options=ReadOptions(drop=["a"]))
