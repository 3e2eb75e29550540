"""The totals of hidden layers tell whether a row is among those they are sums of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.privacy.inference import membership_table, rows_table
from benchmarks.privacy.membership import Trials, likelihood_ratio, measure
from benchmarks.privacy.sets import LabelledRows
from benchmarks.privacy.subjects import SUBJECTS, by_totals


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = np.arange(160) % 2
    return LabelledRows(
        "made up", rng.normal(size=(160, 5)) + y[:, None], y.astype(np.intp)
    )


@pytest.fixture(scope="module")
def said(rows):
    """What the totals of the first half say of all rows."""
    return by_totals(rows)(np.arange(80))


def test_with_fewer_rows_than_units_every_member_is_told_from_every_other(said):
    assert said.shape == (160, 5)
    # A row has a leverage of at most one among its own.
    assert -said[:80, 0].min() < 1e-6
    assert said[:80, 1:3].max() < 1e-6
    assert -said[80:, 0].max() > 1
    assert said[80:, 1].min() > 1


def test_members_that_leave_a_row_out_say_nothing_of_it(said):
    for left_out in said.T[3:]:
        inside, others = left_out[:80], left_out[80:]
        assert abs(np.median(inside) - np.median(others)) < others.std()


def test_every_kind_of_model_says_something_of_every_row(rows):
    for attacked in SUBJECTS:
        said = attacked.subject(rows)(np.arange(80)).reshape(160, -1)
        assert said.shape[1] == max(attacked.seen.values())
        assert np.isfinite(said).all()


def test_tables_have_a_line_for_everything_that_is_seen(rows):
    heard = []
    some = [SUBJECTS[-1], replace(SUBJECTS[-1], seen={"once": 1, "again": 1})]
    table = membership_table([rows], 8, heard.append, subjects=some)
    assert len(heard) == len(table.rows) == 3
    assert all(len(line) == len(table.head) for line in table.rows)


def test_the_number_of_rows_is_that_of_a_training(rows):
    (line,) = rows_table(rows, lambda line: None, sizes=(60, 161)).rows
    assert line[:2] == ("made up", "30")
    assert float(line[2].split()[0]) > 0.95


def test_a_network_that_is_too_large_for_its_rows_gives_them_away(rows):
    fixed = SUBJECTS[2].subject(rows)
    rng = np.random.default_rng(1)
    is_member = rng.random((8, 160)) < 0.5
    said = np.stack([fixed(np.flatnonzero(one)) for one in is_member])
    found = measure(likelihood_ratio(Trials(said, is_member)), is_member, seed=0)
    assert found.auc > 0.8
