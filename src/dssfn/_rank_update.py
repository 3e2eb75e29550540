"""Add Y Y^T to a symmetric matrix, with Python's lock let go.

BLAS's `syrk` does this at the speed of dense products, and half their work. scipy
offers it twice: `scipy.linalg.blas` keeps Python's lock while it runs, so that nodes on
several threads would wait for each other; `scipy.linalg.cython_blas` publishes the
address of the routine itself, which ctypes calls without the lock.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cython_blas

from dssfn._typing import Array

_TEXT, _WHOLE, _ARRAY = ctypes.c_char_p, ctypes.POINTER(ctypes.c_int), ctypes.c_void_p


def _routine(name: str, number: Any) -> Callable[..., None]:
    capsule = cython_blas.__pyx_capi__[name]
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    scalar = ctypes.POINTER(number)
    signature = ctypes.CFUNCTYPE(
        None, _TEXT, _TEXT, _WHOLE, _WHOLE, scalar, _ARRAY, _WHOLE, scalar, _ARRAY,
        _WHOLE,
    )  # uplo, trans, n, k, alpha, a, lda, beta, c, ldc  # fmt: skip
    return signature(get_pointer(capsule, get_name(capsule)))


_ROUTINES = {
    np.dtype(np.float64): (_routine("dsyrk", ctypes.c_double), ctypes.c_double),
    np.dtype(np.float32): (_routine("ssyrk", ctypes.c_float), ctypes.c_float),
}


def add_gram(upper: Array, Y: Array | NDArray[np.float32]) -> None:
    """Add Y Y^T to the upper triangle of a matrix, in place.

    Products of float32 features are taken in single precision and added in double.

    Parameters
    ----------
    upper : float64 array of shape (n, n)
        In Fortran's order. What lies below the diagonal is left alone.
    Y : array of shape (n, J)
        The features; columns are samples.
    """
    n = len(Y)
    assert upper.shape == (n, n)
    assert upper.dtype == np.float64
    assert upper.flags.f_contiguous
    if Y.dtype == np.float64:
        update_gram(upper, Y)
    else:
        products = _scratch(n)
        update_gram(products, Y, kept=0.0)
        np.add(upper, products, out=upper)


_kept = threading.local()


def _scratch(n: int) -> NDArray[np.float32]:
    """Return this thread's matrix for products; below the diagonal it is zero."""
    products: NDArray[np.float32] | None = getattr(_kept, "products", None)
    if products is None or len(products) != n:
        _kept.products = products = np.zeros((n, n), np.float32, order="F")
    return products


def update_gram(upper: NDArray[Any], Y: NDArray[Any], kept: float = 1.0) -> None:
    """Make the upper triangle of a matrix `kept` times itself plus Y Y^T, in place.

    Both are of one precision, in which the sums are taken.
    """
    assert upper.dtype == Y.dtype
    Y = np.ascontiguousarray(Y)  # its rows are the columns of Fortran's A = Y^T
    routine, number = _ROUTINES[Y.dtype]
    n, J = (ctypes.c_int(size) for size in Y.shape)
    routine(
        b"U", b"T", n, J, number(1.0), Y.ctypes.data, J, number(kept),
        upper.ctypes.data, n,
    )  # fmt: skip
