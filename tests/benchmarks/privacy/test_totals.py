"""What is read from totals is what the other nodes have."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.privacy.sets import LabelledRows
from benchmarks.privacy.totals import (
    errors_of,
    few_rows_table,
    matches,
    rare_class_table,
    read_few,
    subtract,
    subtraction_table,
)
from benchmarks.privacy.view import stacked, view_of

J = 120


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = np.arange(J) % 3
    X = np.column_stack(
        [
            rng.integers(0, 50, J) + 10 * y,
            rng.integers(0, 2, J),
            np.round(rng.random(J), 1),
        ]
    ).astype(float)
    return LabelledRows("made up", X, y.astype(np.intp), np.arange(J) // 40)


def test_a_member_has_the_sums_of_all_others(rows):
    parts = np.array_split(np.random.default_rng(1).permutation(J), 4)
    view, z = view_of(rows, parts), stacked(rows, 3)
    others = np.concatenate(parts[1:])
    for found, some in ((view.total, z), (view.others, z[others])):
        truth = some.T @ some
        assert np.allclose(found.sum(axis=0), truth, rtol=1e-4, atol=1e-3)
        assert np.array_equal(np.round(found[:, 0, 0], 6), np.rint(found[:, 0, 0]))


def test_of_two_nodes_each_has_the_other_ones_sums(rows):
    found = subtract(rows, [np.arange(70), np.arange(70, J)])
    assert max(found.by_totals) < 1e-4
    assert min(found.by_guess) > 0.05
    assert found.n_others == 50


def test_of_three_nodes_none_has(rows):
    found = subtract(rows, np.array_split(np.arange(J), 3))
    assert min(found.by_totals) > 0.01


def test_errors_are_relative(rows):
    view, z = view_of(rows, [np.arange(60), np.arange(60, J)]), stacked(rows, 3)
    truth = z.T @ z
    assert errors_of(truth, truth, view) == (0, 0, 0)
    doubled = errors_of(2 * truth, truth, view)
    assert doubled == pytest.approx((1, 0, 1), abs=1e-9)


@pytest.mark.parametrize("n_few", [1, 2])
def test_the_rows_of_a_node_that_has_few_are_the_difference_of_two_trainings(
    rows, n_few
):
    few, rest = np.arange(n_few), np.array_split(np.arange(n_few, J), 3)
    with_it, without = view_of(rows, [*rest, few]), view_of(rows, rest)
    difference = with_it.total - without.total
    truth = stacked(rows, 3)[few]
    assert read_few(difference, truth, with_it, rows) == (1, 1, 0)
    assert read_few(with_it.others, truth, with_it, rows).rows == 0


def test_rows_match_in_all_fields_or_not_at_all():
    truth = np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 3.0]])
    assert matches(np.array([[1.0, 3.0], [1.0, 9.0]]), truth).tolist() == [1, 2]
    assert matches(np.empty((0, 2)), truth).tolist() == []


def test_tables_have_a_line_for_every_case(rows):
    tables = [
        make([rows], 1)
        for make in (subtraction_table, few_rows_table, rare_class_table)
    ]
    assert [len(table.rows) for table in tables] == [7, 5, 4]
    for table in tables:
        assert all(len(line) == len(table.head) for line in table.rows)
        assert "benchmarks.privacy totals" in table.note
