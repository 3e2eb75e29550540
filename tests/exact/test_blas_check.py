"""A linear algebra library that rounds small integers is refused before it does."""

from __future__ import annotations

import numpy as np
import pytest

from dssfn.errors import NumericalError
from dssfn.exact import blas_check
from dssfn.exact.gram import ExactSums, Layout


@pytest.fixture
def afresh():
    """The check has not been made yet, and is made again for others."""
    blas_check.check_blas.cache_clear()
    yield
    blas_check.check_blas.cache_clear()


def rounding_gram(upper, Y):
    """Y Y^T of numbers whose products have 16 bits, as some processors can be told."""
    products = (Y @ Y.T).astype(np.float32)
    bits = products.view(np.uint32) & np.uint32(0xFFFF0000)
    upper += np.triu(bits.view(np.float32))


def test_this_library_is_exact(afresh):
    blas_check.check_blas()


def test_a_library_that_rounds_to_16_bits_is_refused_with_the_way_out(
    afresh, monkeypatch
):
    monkeypatch.setattr(blas_check, "add_gram", rounding_gram)
    said = (
        r"does not give exact float32 products \(syrk\) of small integers.* "
        r"reduced precision.*`units = \"dense\"`"
    )
    for _ in range(2):  # a failure is not remembered as a success
        with pytest.raises(NumericalError, match=said):
            ExactSums(Layout(n_outputs=2, n_wide=3, first=0, n=5))
