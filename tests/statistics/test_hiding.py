"""No small count is shown, and none follows from what is."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.statistics.asked import Asked, Questions
from dssfn.statistics.hiding import FEWER, WITHHELD, hidden
from dssfn.statistics.publishing import Shown, figures, shown
from dssfn.statistics.totals import Totals

counts = st.lists(st.integers(0, 30) | st.integers(0, 6), min_size=2, max_size=7)


@given(counts, st.integers(1, 8))
def test_counts_are_shown_as_they_are_or_not_at_all(table, least):
    found = hidden(table, least)
    for n, code in zip(table, found, strict=True):
        is_small = 0 < n < least
        assert code in ([FEWER, WITHHELD] if is_small else [n, WITHHELD])
    if all(n == 0 or n >= least for n in table):
        assert found == table


@given(counts, st.integers(2, 8))
def test_one_hidden_count_is_never_alone(table, least):
    found = hidden(table, least)
    left = [n for n, code in zip(table, found, strict=True) if code < 0]
    assert len(left) != 1
    assert not left or sum(left) >= least or sum(left) == sum(table)


def _tables(total, n_cells):
    if n_cells == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _tables(total - first, n_cells - 1):
            yield (first, *rest)


@pytest.mark.parametrize(("n_cells", "most"), [(2, 40), (3, 30), (4, 21)])
def test_whoever_knows_the_rule_and_all_that_is_shown_learns_no_small_count(
    n_cells, most
):
    least = 5
    for total in range(least, most):
        alike = defaultdict(list)  # tables that look the same
        for table in _tables(total, n_cells):
            alike[tuple(hidden(table, least))].append(table)
        for found, some in alike.items():
            for cell, code in enumerate(found):
                may_be = {table[cell] for table in some}
                if code == FEWER:
                    assert may_be == set(range(1, least)), (found, some)
                elif code == WITHHELD:
                    assert len(may_be) > 1 or min(may_be) >= least, (found, some)


# --- figures ------------------------------------------------------------------------

AGE = Asked("age", "number", slice(0, 1))
SEX = Asked("sex", "category", slice(1, 3), ("f", "m"))
OUTCOME = Asked("outcome", "class", slice(0, 2), ("no", "yes"))
QUESTIONS = Questions((AGE, SEX), OUTCOME)


def totals(age=(80, 20), sex=(60, 40, 0), outcome=(50, 50, 0), mean=61.375, dev=9.25):
    cells = np.array([*age, *sex, *outcome])
    return Totals(sum(age), cells, np.array([mean]), np.array([dev]))


def published(some, least=5, sites=()):
    return figures(shown(some, QUESTIONS, least, sites), QUESTIONS, least)


def test_what_is_large_enough_is_shown_to_the_last_bit():
    found = published(totals())
    age, sex = found.columns
    assert (found.rows, age.there, age.missing) == (100, 80, 20)
    assert (age.mean, age.deviation) == (61.375, 9.25)
    assert [one.count for one in sex.levels] == [60, 40]
    assert (sex.other, sex.missing) == (None, 0)


@pytest.mark.parametrize("there", [1, 4])
def test_mean_and_deviation_of_few_numbers_are_hidden(there):
    age, _ = published(totals(age=(there, 100 - there))).columns
    assert age.mean is age.deviation is None
    assert (age.there, age.missing) == ("fewer than 5", "not shown")


def test_no_numbers_have_no_mean():
    age, _ = published(totals(age=(0, 100), mean=0.0, dev=0.0)).columns
    assert (age.there, age.missing, age.mean, age.deviation) == (0, 100, None, None)


def test_where_the_count_is_hidden_the_mean_does_not_give_it_away():
    age, _ = published(totals(age=(97, 3))).columns
    assert (age.there, age.missing) == ("not shown", "fewer than 5")
    assert (age.mean, age.deviation) == (61.0, 9.0)
    # With all digits, whole numbers have a mean of which only the true count makes one.
    sums = {n: 61 * n for n in range(96, 100)}
    assert all(abs(total / n - age.mean) < 0.5 for n, total in sums.items())


def test_a_small_deviation_never_reads_as_none():
    age, _ = published(totals(age=(8, 2), mean=0.625, dev=0.43)).columns
    assert (age.there, age.mean, age.deviation) == ("not shown", 1.0, 0.4)


def test_a_constant_has_no_digits_that_tell_a_count():
    age, _ = published(totals(age=(97, 3), mean=0.1, dev=0.0)).columns
    assert (age.mean, age.deviation) == (0.1, 0.0)


def test_fewer_rows_than_a_cell_are_not_even_counted():
    few = totals(age=(3, 0), sex=(2, 1, 0), outcome=(3, 0, 0))
    found = published(few)
    assert found.rows == "fewer than 5"
    age, sex = found.columns
    assert age.mean is None
    cells = [age.there, age.missing, sex.missing, found.target.missing]
    cells += [one.count for column in (sex, found.target) for one in column.levels]
    assert set(cells) == {"not shown"}


def test_the_total_tells_nothing_that_a_site_has_hidden():
    large, small = totals(), totals(age=(20, 0), sex=(17, 3, 0), outcome=(10, 10, 0))
    both = totals(age=(100, 20), sex=(77, 43, 0), outcome=(60, 60, 0))
    sites = [shown(one, QUESTIONS, 5) for one in (large, small)]
    age, sex = published(both, sites=sites).columns
    assert [one.count for one in sex.levels] == ["not shown", "not shown"]
    assert (age.there, age.missing, age.mean) == (100, 20, 61.375)
    assert [one.count for one in published(both).columns[1].levels] == [77, 43]


def test_the_mean_of_all_does_not_give_away_that_of_a_site():
    few = totals(age=(4, 16), sex=(10, 10, 0), outcome=(10, 10, 0))
    both = totals(age=(84, 36), sex=(70, 50, 0), outcome=(60, 60, 0))
    sites = [shown(one, QUESTIONS, 5) for one in (totals(), few)]
    age, _ = published(both, sites=sites).columns
    assert (age.mean, age.there, age.missing) == (None, "not shown", "not shown")


@given(
    st.lists(st.integers(-2, 2**40), min_size=8, max_size=8),
    st.floats(allow_nan=True, allow_infinity=False),
)
def test_what_is_shown_can_be_sent_as_integers(cells, mean):
    mine = Shown(cells[0], np.array(cells), np.array([mean]), np.array([1.5]))
    again = Shown.read(mine.numbers() + 0, QUESTIONS)
    assert again.n_rows == mine.n_rows
    assert again.counts.tolist() == cells
    assert np.array_equal(again.means, mine.means, equal_nan=True)
    assert again.deviations.tolist() == [1.5]
