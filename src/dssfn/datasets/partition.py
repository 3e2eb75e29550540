"""Divide samples among nodes: at random, by class, unevenly, or as given.

The result of training does not depend on the division; these are the ways to show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dssfn.errors import DataError, PlanError
from dssfn.hints import did_you_mean

PARTITIONS = ("iid", "by-class", "dirichlet:A")
"""The named ways to divide, for help texts."""

_MOST_DRAWS = 1000


def partition(
    y_codes: NDArray[Any],
    n_nodes: int,
    how: str | Sequence[int] | NDArray[Any] = "iid",
    *,
    rng: np.random.Generator,
) -> list[NDArray[np.intp]]:
    """Return the indices of the samples that each node holds.

    Parameters
    ----------
    y_codes : int array of shape (J,)
        The class of every sample.
    n_nodes : int
        M, how many nodes share the samples, at most J.
    how : {"iid", "by-class", "dirichlet:A"} or int array of shape (J,)
        "iid" deals at random, sizes differ by at most one. "by-class" cuts the samples,
        sorted by class, into parts of nearly equal size, so a node sees few classes.
        "dirichlet:A" draws each class's shares over the nodes from Dirichlet(A): the
        smaller A, the more uneven. An array gives each sample's node, 0..M-1.
    rng : numpy.random.Generator
        Source of randomness; not used by "by-class" or an array.

    Returns
    -------
    list of M int arrays
        Sorted, disjoint, none empty, together every index of 0..J-1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [part.tolist() for part in partition([1, 0, 1, 0], 2, "by-class", rng=rng)]
    [[1, 3], [0, 2]]
    """
    codes = np.asarray(y_codes)
    if codes.ndim != 1 or (codes.size and codes.dtype.kind not in "iu"):
        raise DataError(
            "`y_codes` must be a vector of whole numbers, got shape "
            f"{codes.shape} and dtype {codes.dtype}."
        )
    _check_n_nodes(n_nodes, len(codes))
    if not isinstance(how, str):
        try:
            ids = np.asarray(how)
        except ValueError as exc:  # ragged
            raise PlanError(
                f"`partition` must give one node id per sample: {exc}."
            ) from exc
        return _as_told(ids, n_nodes, len(codes))
    name, colon, parameter = how.partition(":")
    if how == "iid":
        parts = np.array_split(rng.permutation(len(codes)), n_nodes)
    elif how == "by-class":
        parts = np.array_split(np.argsort(codes, kind="stable"), n_nodes)
    elif name == "dirichlet" and colon:
        parts = _dirichlet(codes, n_nodes, _concentration(parameter), rng)
    else:
        raise PlanError(
            f"`partition` must be one of {', '.join(PARTITIONS)} or one node id per "
            f"sample, got {how!r}.{_near(how)}"
        )
    return [np.sort(part) for part in parts]


def _check_n_nodes(n_nodes: int, n_samples: int) -> None:
    whole = isinstance(n_nodes, int | np.integer) and not isinstance(n_nodes, bool)
    if not whole or n_nodes < 1:
        raise PlanError(
            f"`n_nodes` must be a whole number of at least 1, got {n_nodes!r}."
        )
    if n_nodes > n_samples:
        raise DataError(
            "`n_nodes` must not exceed the number of samples: "
            f"got {n_nodes} nodes for {n_samples} samples."
        )


def _concentration(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not 0 < value < np.inf:
        raise PlanError(
            "`partition` dirichlet:A needs a positive number A, such as "
            f"dirichlet:0.1, got {text!r}."
        )
    return value


def _dirichlet(
    codes: NDArray[Any], n_nodes: int, concentration: float, rng: np.random.Generator
) -> list[NDArray[np.intp]]:
    sizes = np.unique(codes, return_counts=True)[1]  # (Q,)
    for _ in range(_MOST_DRAWS):
        shares = rng.dirichlet(np.full(n_nodes, concentration), size=len(sizes))
        ends = np.rint(np.cumsum(shares, axis=1) * sizes[:, None]).astype(np.intp)
        ends[:, -1] = sizes  # (Q, M) where each node's part of a class ends
        counts = np.diff(ends, axis=1, prepend=0)
        if counts.sum(axis=0).all():
            return _deal(codes, counts, rng)
    raise DataError(
        f"`partition` dirichlet:{concentration:g} left a node without samples in all "
        f"{_MOST_DRAWS} draws for {n_nodes} nodes and {len(codes)} samples. "
        "Raise A, or use fewer nodes or `iid`."
    )


def _deal(
    codes: NDArray[Any], counts: NDArray[np.intp], rng: np.random.Generator
) -> list[NDArray[np.intp]]:
    """Give node m `counts[q, m]` random samples of the q-th class."""
    owner = np.empty(len(codes), dtype=np.intp)
    for label, row in zip(np.unique(codes), counts, strict=True):
        nodes = np.repeat(np.arange(len(row)), row)
        owner[codes == label] = rng.permutation(nodes)
    return [np.flatnonzero(owner == node) for node in range(counts.shape[1])]


def _as_told(ids: NDArray[Any], n_nodes: int, n_samples: int) -> list[NDArray[np.intp]]:
    if ids.shape != (n_samples,) or ids.dtype.kind not in "iu":
        raise PlanError(
            "`partition` must give one whole node id per sample: expected shape "
            f"({n_samples},), got shape {ids.shape} and dtype {ids.dtype}."
        )
    outside = ids[(ids < 0) | (ids >= n_nodes)]
    if outside.size:
        raise PlanError(
            f"`partition` must hold node ids 0..{n_nodes - 1}, got {outside[0]}."
        )
    parts = [np.flatnonzero(ids == node) for node in range(n_nodes)]
    for node, part in enumerate(parts):
        if not part.size:
            raise DataError(
                f"`partition` gives node {node} no samples. Give it some, or lower "
                f"`n_nodes` from {n_nodes}."
            )
    return parts


def _near(how: str) -> str:
    if how.startswith("dirichlet"):
        return " Did you mean `dirichlet:0.1`?"
    return did_you_mean(how, PARTITIONS)
