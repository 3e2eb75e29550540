"""Masses: totals and averages come out exactly, however numbers are cut."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from dssfn.consensus.mass import Layout, fingerprint, keys_of, sizes_of

int64 = st.integers(-(2**63), 2**63 - 1)


def nodes_values(elements, dtype):
    shapes = st.tuples(st.integers(1, 40), st.integers(0, 6))
    return shapes.flatmap(lambda s: npst.arrays(dtype, s, elements=elements))


def layout_of(values):
    sizes = np.stack([sizes_of(one) for one in values])
    return Layout(sizes.max(axis=0), len(values))


@given(nodes_values(int64, np.int64))
def test_masses_add_up_to_the_total_modulo_2_to_64(values):
    layout = layout_of(values)
    masses = sum(layout.masses(one) for one in values)
    total = values.sum(axis=0)  # numpy wraps around as well
    np.testing.assert_array_equal(layout.values(layout.rounded(masses)), total)


@given(nodes_values(st.integers(-(2**20), 2**20), np.int64), st.randoms())
def test_a_total_bears_errors_of_nearly_half_a_unit_in_every_mass(values, random):
    layout = layout_of(values)
    masses = sum(layout.masses(one) for one in values)
    most = 2 ** (layout.guard - 1) - 1
    wrong = masses + np.array([random.randint(-most, most) for _ in masses], np.int64)
    total = values.sum(axis=0)
    np.testing.assert_array_equal(layout.values(layout.rounded(wrong)), total)


finite = st.floats(-1e300, 1e300, allow_subnormal=False)


@given(nodes_values(finite, np.float64))
def test_an_average_of_floats_is_right_to_the_digits_of_the_largest(values):
    layout = layout_of(values)
    masses = sum(layout.masses(one) for one in values)
    found = layout.values(layout.rounded(masses))
    largest = np.abs(values).max(axis=0)
    # Each float is off by half a 2^-53 of the largest, and the mean is rounded twice.
    expected = [math.fsum(column) / len(values) for column in values.T]
    tolerance = 2.0**-51 * largest + 1e-300
    assert (np.abs(found - expected) <= tolerance).all()


@given(nodes_values(int64, np.int64), st.integers(0, 99))
def test_fingerprints_add_up_as_masses_do(values, step):
    layout = layout_of(values)
    limbs = [layout.masses(one) >> layout.guard for one in values]
    keys = keys_of(step, len(limbs[0]))
    together = sum(fingerprint(one, keys) for one in limbs) % 2**64
    assert fingerprint(sum(limbs), keys) == together


@given(npst.arrays(np.int64, 5, elements=st.integers(-9, 9)), st.integers(0, 99))
def test_another_total_has_another_fingerprint(errors, step):
    limbs, keys = np.arange(5), keys_of(step, 5)
    is_same = fingerprint(limbs + errors, keys) == fingerprint(limbs, keys)
    assert is_same == (not errors.any())


def test_zeros_take_no_room():
    assert len(layout_of(np.zeros((4, 9), np.int64)).masses(np.zeros(9, np.int64))) == 0


@pytest.mark.parametrize("n_nodes", [1, 2, 20, 1000, 10_000])
def test_no_total_of_masses_overflows(n_nodes):
    layout = Layout(np.array([63], np.uint8), n_nodes)
    largest = max(abs(int(mass)) for mass in layout.masses(np.array([-(2**63)])))
    assert n_nodes * max(largest, 2 ** (layout.limb + layout.guard)) <= 2**62
