"""Values become features, one for each level, and gaps are told."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dssfn.schema import Column, Encoding, Schema
from dssfn.schema.encoding import GAP, UNKNOWN
from tests.support.strategies import seeds


@given(seeds, st.integers(1, 5), st.booleans(), st.booleans(), st.integers(0, 30))
def test_every_sample_has_one_level(seed, n_levels, missing, other, c):
    rng = np.random.default_rng(seed)
    column = Column(
        name="a", kind="category", levels=tuple(range(n_levels)), missing=missing,
        other=other,
    )  # fmt: skip
    codes = rng.integers(0, n_levels, c)
    if missing:
        codes[rng.random(c) < 0.3] = GAP
    if other:
        codes[rng.random(c) < 0.3] = UNKNOWN
    X = Encoding(Schema(columns=(column,))).features([codes])
    assert X.shape == (n_levels + missing + other, c)
    assert (X.sum(axis=0) == 1).all()
    names = [column.feature_names[k] for k in X.argmax(axis=0)]
    said = {GAP: "a missing", UNKNOWN: "a other"}
    assert names == [said.get(code, f"a={code}") for code in codes.tolist()]


def test_a_level_that_has_no_feature_is_none():
    column = Column(name="a", kind="category", levels=("x",))
    X = Encoding(Schema(columns=(column,))).features([np.array([0, GAP, UNKNOWN])])
    assert X.tolist() == [[1, 0, 0]]


def test_missing_numbers_are_told_and_are_of_one_kind_of_nan():
    other_nan = np.array([0xFFF8000000000123], dtype=np.uint64).view(np.float64)[0]
    columns = tuple(Column(name=n, kind="number", missing=n == "a") for n in "ab")
    values = np.array([1.5, other_nan])
    X = Encoding(Schema(columns=columns)).features([values, values])
    assert X[1].tolist() == [0, 1]
    assert len(X) == 3
    assert X[0, 1].tobytes() == X[2, 1].tobytes() == np.array(np.nan).tobytes()
