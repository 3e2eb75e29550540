"""Proposals say what columns seem to be, and show no value that few rows have."""

from __future__ import annotations

import pytest

from dssfn.schema.proposal import Seen, propose


def seen(kinds, counts=None, *, n_missing=0, n_rows=None, name="a", repeated=None):
    n_values = sum(counts.values()) if counts else (n_rows or 100) - n_missing
    distinct = len(counts) if counts else n_values
    n_repeated = n_values - distinct if repeated is None else repeated
    total = n_values + n_missing
    return Seen(name, set(kinds), total, n_missing, counts, n_repeated)


@pytest.mark.parametrize(
    ("what", "kind", "why"),
    [
        (seen(["number"]), "number", "numbers"),
        (seen(["whole"]), "number", "whole numbers"),
        (seen(["whole", "number"]), "number", "numbers"),
        (seen(["whole"], name="patient_id"), "ignore", "named like an id"),
        (seen(["whole"], {"0": 9, "1": 9}), "boolean", "0 and 1"),
        (seen(["boolean"], {"true": 9}), "boolean", "constant"),
        (seen(["whole"], {"1": 9, "2": 9, "3": 9}), "category", "use kind number"),
        (seen(["text"], {"x": 9, "y": 9}), "category", "text with 2 values"),
        (seen(["text", "whole"], {"x": 9, "1": 9}), "category", "text and numbers"),
        (seen(["text"]), "ignore", "different in every row"),
        (seen(["text"], repeated=20), "ignore", "many values"),
        (seen(["date"]), "ignore", "dates"),
        (seen(["odd"]), "ignore", "neither numbers nor text"),
        (seen([], n_missing=100, n_rows=100), "ignore", "no values"),
    ],
)
def test_a_kind_is_proposed_with_a_reason(what, kind, why):
    found = propose(what)
    assert found.column.kind == kind
    assert why in found.remarks[-1]


@pytest.mark.parametrize(
    ("n_missing", "said"), [(0, None), (1, "under 1"), (30, "11"), (24000, "over 99")]
)
def test_the_share_that_is_missing_is_told(n_missing, said):
    found = propose(seen(["text"], {"x": 120, "y": 119}, n_missing=n_missing))
    assert found.column.missing == (n_missing > 0)
    assert (found.remarks[0] == f"{said} % are missing") == (n_missing > 0)


def test_levels_that_few_rows_have_are_not_shown():
    found = propose(seen(["text"], {"x": 90, "Mr Secret": 4, "y": 5}))
    assert found.column.levels == ("x", "y")
    assert found.column.other
    assert "Secret" not in str(found)
