"""What nodes find out together is what one machine would find, to the last bit."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.config import Plan
from dssfn.errors import DataError
from dssfn.node.statistics import own_totals
from dssfn.programs import Message
from dssfn.schema.encoding import GAP, UNKNOWN
from dssfn.shard import Shard, one_hot
from dssfn.statistics.asked import Questions
from dssfn.statistics.program import Site, agree_figures
from dssfn.statistics.publishing import figures, shown
from dssfn.statistics.totals import largest_sum
from tests.support.random_tables import NUMBERS_PLAN, PLAN, divided, tables, together

QUESTIONS = Questions.of(PLAN)


def agreed(parts, plan=PLAN, *, least=5, publishes=False):
    """The bytes of what every node ends with."""
    questions, shards = Questions.of(plan), [part.shard(plan) for part in parts]
    found = together(
        [
            agree_figures(
                shard,
                questions,
                least=least,
                site=Site(node, len(parts), own_totals(shard, questions))
                if publishes
                else None,
            )
            for node, shard in enumerate(shards)
        ]
    )
    return [msgspec.json.encode(one) for one in found]


@pytest.mark.parametrize("plan", [PLAN, NUMBERS_PLAN], ids=["classes", "numbers"])
@given(split=divided(), least=st.integers(1, 6))
@settings(max_examples=60)
def test_the_same_bytes_at_all_nodes_however_rows_are_divided(plan, split, least):
    table, parts = split
    (alone,) = agreed([table], plan, least=least)
    assert set(agreed(parts, plan, least=least)) == {alone}


def _near(found, numbers):
    """To a few units in the last place, from sums without any rounding."""
    exact = [Fraction(x) for x in numbers]
    mean = sum(exact) / len(exact)
    variance = sum((x - mean) ** 2 for x in exact) / len(exact)
    scale = float(max(map(abs, exact)))
    assert abs(Fraction(found[0]) - mean) <= 4e-16 * scale
    assert found[1] == pytest.approx(
        float(variance) ** 0.5, rel=1e-12, abs=1e-12 * scale
    )


@given(tables())
@settings(max_examples=60)
def test_all_figures_are_those_of_pandas(table):
    found = figures(
        shown(own_totals(table.shard(), QUESTIONS), QUESTIONS, 1), QUESTIONS, 1
    )
    age, pain, sex, smokes, height = found.columns
    assert found.rows == table.n
    frame = pd.DataFrame(vars(table))
    assert (age.there, age.missing) == (frame.age.count(), frame.age.isna().sum())
    assert (height.there, height.missing) == (table.n, 0)
    codes = frame.pain.value_counts()
    assert [one.name for one in pain.levels] == ["no", "some", "3"]
    assert [one.count for one in pain.levels] == [codes.get(k, 0) for k in range(3)]
    assert (pain.other, pain.missing) == (codes.get(UNKNOWN, 0), codes.get(GAP, 0))
    assert [one.count for one in sex.levels] == [sum(table.sex == k) for k in (0, 1)]
    assert sex.other is None
    truths = frame.smokes.value_counts()
    assert [(one.name, one.count) for one in smokes.levels] == [
        ("false", truths.get(0.0, 0)), ("true", truths.get(1.0, 0)),
    ]  # fmt: skip
    assert smokes.missing == frame.smokes.isna().sum()
    assert [one.count for one in found.target.levels] == [
        sum(table.outcome == k) for k in (0, 1)
    ]
    _near((height.mean, height.deviation), table.height)
    if age.there:
        _near((age.mean, age.deviation), frame.age.dropna())
    else:
        assert age.mean is age.deviation is None


@given(divided(min_rows=8), st.integers(2, 6))
@settings(max_examples=40)
def test_published_sites_are_what_each_would_show_of_itself(split, least):
    _, parts = split
    (first, *others) = agreed(parts, least=least, publishes=True)
    assert set(others) <= {first}
    _, sites = msgspec.json.decode(first)
    assert sites == [
        msgspec.json.decode(agreed([part], least=least)[0])[0] for part in parts
    ]


def test_a_plan_without_a_schema_asks_for_numbers_and_classes():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(3, 50)), rng.integers(3, size=50)
    plan = Plan(n_features=3, classes=("a", "b", "c"), feature_names=("x", "y", "z"))
    questions = Questions.of(plan)
    totals = own_totals(Shard(X, one_hot(codes, 3)), questions)
    found = figures(shown(totals, questions, 5), questions, 5)
    assert [one.name for one in found.columns] == ["x", "y", "z"]
    assert [one.mean for one in found.columns] == pytest.approx(X.mean(axis=1).tolist())
    assert [one.deviation for one in found.columns] == pytest.approx(
        X.std(axis=1).tolist()
    )
    assert [one.count for one in found.target.levels] == np.bincount(codes).tolist()
    unnamed = Questions.of(Plan(n_features=2, classes=("a", "b")))
    assert [one.name for one in unnamed.columns] == ["feature 1", "feature 2"]


@given(divided())
@settings(max_examples=20)
def test_no_message_is_larger_than_foreseen(split):
    _, parts = split
    largest = 0

    def watched(program):
        nonlocal largest
        reply = None
        while True:
            try:
                request = program.send(reply)
            except StopIteration as stop:
                return stop.value
            assert isinstance(request, Message)
            assert request.exact
            largest = max(largest, request.size)
            reply = yield request

    shards = [part.shard() for part in parts]
    together(
        [
            watched(
                agree_figures(
                    one, QUESTIONS, least=5,
                    site=Site(node, len(parts), own_totals(one, QUESTIONS)),
                )
            )
            for node, one in enumerate(shards)
        ]
    )  # fmt: skip
    assert largest <= largest_sum(QUESTIONS, len(parts))


def test_a_number_that_cannot_be_added_up_is_refused_by_its_column():
    X = np.array([[1.0, 2.0], [3.0, -1e39]])
    questions = Questions.of(
        Plan(n_features=2, classes=("a", "b"), feature_names=("age", "bmi"))
    )
    with pytest.raises(
        DataError, match="Column `bmi`: numbers must be below"
    ) as caught:
        own_totals(Shard(X, np.eye(2)), questions)
    assert "1e+39" not in str(caught.value)
