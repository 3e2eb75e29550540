"""Sums of products are those of Python's own integers, however they are added up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dssfn.exact import gram
from dssfn.exact.bounds import CHUNK, TOP, WIDE, WIDE_CHUNK
from dssfn.exact.gram import ExactSums, Layout, read_products
from tests.support.strategies import seeds


def draw(rng, Q, n_wide, n_units, c, *, extreme):
    """Wide numbers, units and what is left over, large or as large as can be."""
    if extreme:
        W, D = (WIDE * rng.choice([-1.0, 1.0], size=(m, c)) for m in (n_wide, Q))
        return W, np.full((n_units, c), TOP, dtype=np.uint8), D
    W, D = (rng.integers(-WIDE, WIDE + 1, (m, c)).astype(float) for m in (n_wide, Q))
    return W, rng.integers(0, TOP + 1, (n_units, c)).astype(np.uint8), D


def python_products(W, U, D, first):
    """Cross products, upper triangle and C, of object arrays of whole numbers."""
    F = np.array([[int(x) for x in row] for row in [*W, *U]], dtype=object)
    F = F.reshape(len(W) + len(U), W.shape[1])
    left = np.array([[int(x) for x in row] for row in D], dtype=object)
    new = F[first:]
    return new @ F[:first].T, np.triu(new @ new.T), left @ new.T


def message_of(sums, layout):
    into = np.zeros(layout.size, dtype=np.int64)
    sums.write(into)
    return into


def sums_of(layout, *samples):
    sums = ExactSums(layout)
    sums.add(*samples)
    return sums


def assert_right(message, layout, W, U, D):
    """Every sum is that of whole numbers, rounded once to a float."""
    expected = python_products(W, U, D, layout.first)
    for found, exact in zip(read_products(message, layout), expected, strict=True):
        assert found.shape == exact.shape
        assert found.tolist() == [[float(x) for x in row] for row in exact]


layouts = st.tuples(
    st.integers(1, 3), st.integers(1, 6), st.integers(0, 9), st.floats(0, 1)
).map(lambda s: Layout(s[0], s[1], int(s[3] * (s[1] + s[2] - 1)), s[1] + s[2]))


@given(seeds, layouts, st.integers(1, 60), st.booleans())
def test_sums_are_those_of_whole_numbers(seed, layout, c, extreme):
    rng = np.random.default_rng(seed)
    n_units = layout.n - layout.n_wide
    samples = draw(rng, layout.n_outputs, layout.n_wide, n_units, c, extreme=extreme)
    message = message_of(sums_of(layout, *samples), layout)
    assert_right(message, layout, *samples)


KINDS = {
    "all at once": Layout(2, 5, 0, 12),
    "wider units": Layout(2, 5, 8, 12),
    "from the first unit on": Layout(2, 5, 5, 12),
    "wider from among the wide": Layout(2, 5, 3, 12),
    "no units": Layout(2, 12, 0, 12),
    "no units, wider": Layout(2, 12, 7, 12),
    "nothing old but the constant": Layout(2, 1, 1, 12),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("c", [CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 7])
def test_chunks_of_the_largest_numbers_are_exact(kind, c):
    layout = KINDS[kind]
    rng = np.random.default_rng(c)
    n_units = layout.n - layout.n_wide
    samples = draw(rng, 2, layout.n_wide, n_units, c, extreme=True)
    samples[0][0] = WIDE  # one sum of squares is as large as can be
    message = message_of(sums_of(layout, *samples), layout)
    assert_right(message, layout, *samples)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_sums_are_moved_before_they_grow_too_large(kind, seed):
    rng, layout = np.random.default_rng(seed), KINDS[kind]
    sums, samples = ExactSums(layout), []
    for size in rng.permutation([0.0, 0.01, 0.1, 0.3, 0.5, 0.7, 1.0, 1.0, 1.0]):
        n_units = layout.n - layout.n_wide
        W, U, D = draw(rng, layout.n_outputs, layout.n_wide, n_units, 400, extreme=True)
        one = np.rint(size * W), (size * U).astype(np.uint8), np.rint(size * D)
        sums.add(*one)
        samples.append(one)
    together = [np.hstack(parts) for parts in zip(*samples, strict=True)]
    assert_right(message_of(sums, layout), layout, *together)


def test_a_sum_that_is_at_the_limit_takes_nothing_more():
    layout, units = Layout(n_outputs=1, n_wide=1, first=0, n=1), np.zeros((0, 1))
    full = np.full((1, WIDE_CHUNK), float(WIDE))  # its sum of squares is 2^53
    sums = sums_of(layout, full, np.zeros((0, WIDE_CHUNK), np.uint8), 0 * full)
    for _ in range(3):  # 2^53 + 1 would be 2^53 again
        sums.add(np.ones((1, 1)), units.astype(np.uint8), np.zeros((1, 1)))
    found = read_products(message_of(sums, layout), layout)
    assert found.upper[0, 0] == float(2**53 + 3)


@settings(max_examples=40)
@given(seeds, layouts, st.integers(1, 40), st.integers(1, 5), st.integers(1, 9))
def test_no_split_and_no_chunk_changes_a_total(seed, layout, c, n_nodes, chunk):
    rng = np.random.default_rng(seed)
    n_units = layout.n - layout.n_wide
    samples = draw(rng, layout.n_outputs, layout.n_wide, n_units, c, extreme=False)
    owner = rng.integers(n_nodes, size=c)
    total = np.zeros(layout.size, dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gram, "CHUNK", chunk)
        for node in range(n_nodes):
            mine = [A[:, owner == node] for A in samples]
            total += message_of(sums_of(layout, *mine), layout)
    assert_right(total, layout, *samples)


@given(seeds, layouts, st.integers(1, 30), st.integers(0, 30))
def test_merged_sums_are_those_of_all_samples(seed, layout, c, at):
    rng = np.random.default_rng(seed)
    n_units = layout.n - layout.n_wide
    samples = draw(rng, layout.n_outputs, layout.n_wide, n_units, c, extreme=False)
    one, other = (
        sums_of(layout, *(A[:, columns] for A in samples))
        for columns in (slice(at), slice(at, None))
    )
    one.merge(other)
    assert_right(message_of(one, layout), layout, *samples)


@given(seeds, layouts, st.integers(1, 9), st.integers(2, 40))
def test_sums_that_are_merged_several_times_count_so_often(seed, layout, c, times):
    rng = np.random.default_rng(seed)
    n_units = layout.n - layout.n_wide
    samples = draw(rng, layout.n_outputs, layout.n_wide, n_units, c, extreme=True)
    sums = sums_of(layout, *samples)
    sums.merge(sums_of(layout, *samples), times - 1)
    often = [np.tile(A, times) for A in samples]
    assert_right(message_of(sums, layout), layout, *often)


def test_a_sum_of_more_bits_than_a_float_has_is_rounded_once():
    """Sums of squares of 2^21 pass 2^53 after 2^11 samples, and are odd here."""
    layout = Layout(1, 2, 0, 2)
    W = np.full((2, 3000), float(WIDE - 1))
    samples = W, np.empty((0, 3000), dtype=np.uint8), W[:1]
    message = 1001 * message_of(sums_of(layout, *samples), layout)
    exact = 1001 * 3000 * (WIDE - 1) ** 2
    assert read_products(message, layout).upper[0, 0] == float(exact)
