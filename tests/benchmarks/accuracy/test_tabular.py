"""Tables become the same arrays for all models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.accuracy.tabular import LARGEST, LabelledTable, divide, read_keel

KEEL_TEXT = """\
5.1, red, 1, yes
4.0, blue, ?, no
<null>, red, 3, yes
2.5, NA, 4, no
"""


@pytest.fixture
def table():
    return read_keel(KEEL_TEXT * 10)


def test_the_last_column_of_a_keel_text_is_the_class(table):
    assert table.target[:4].tolist() == [1, 0, 1, 0]
    assert table.columns.shape == (40, 3)


def test_question_marks_and_nulls_are_missing_and_na_is_a_level(table):
    assert table.columns[0][:4].tolist()[:2] == [5.1, 4.0]
    assert table.columns.isna().sum().tolist() == [10, 0, 10]
    assert set(table.columns[1]) == {"red", "blue", "NA"}


def test_every_level_becomes_a_column_and_gaps_the_median_of_training_rows(table):
    split = divide(table, 0, stratified=True)
    assert split.X_train.shape == (28, 2 + 3)
    assert set(np.unique(split.X_train[:, 2:])) == {0, 1}
    assert (split.X_train[:, 2:].sum(axis=1) == 1).all()
    first = set(np.unique(split.X_train[:, 0]))
    assert first - {5.1, 4.0, 2.5} in (set(), {3.25}, {4.55})
    assert not np.isnan(split.X_test).any()


def test_a_missing_category_is_a_level_of_its_own():
    columns = pd.DataFrame({"colour": ["red", None] * 10})
    split = divide(LabelledTable(columns, np.arange(20) % 2), 0, stratified=True)
    assert split.X_train.shape[1] == 2
    assert (split.X_train.sum(axis=1) == 1).all()


def test_a_level_that_only_test_rows_have_is_all_zeros():
    columns = pd.DataFrame({"level": [f"level {k}" for k in range(10)]})
    split = divide(LabelledTable(columns, np.arange(10.0)), 0, stratified=False)
    assert not split.X_test.any()


def test_splits_keep_the_share_of_every_class_and_depend_on_the_seed_alone(table):
    one, same, other = (divide(table, seed, stratified=True) for seed in (1, 1, 2))
    assert one.y_test.mean() == one.y_train.mean() == 0.5
    assert np.array_equal(one.X_test, same.X_test)
    assert not np.array_equal(one.X_test, other.X_test)


def test_of_a_large_table_at_most_4000_rows_are_for_training():
    n = LARGEST + 3000
    columns = pd.DataFrame({"row": np.arange(n)})
    split = divide(LabelledTable(columns, np.arange(n) % 2), 0, stratified=True)
    assert 3990 <= len(split.y_train) <= 4000
    assert len(split.y_test) == pytest.approx(0.3 * LARGEST, abs=1)
    assert not set(split.X_train[:, 0]) & set(split.X_test[:, 0])
