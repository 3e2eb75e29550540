"""Graphs as matrices of all nodes by all nodes, written down as their rules read."""

from __future__ import annotations

import math
import random

import networkx as nx
import numpy as np
from scipy.sparse import csgraph
from scipy.spatial.distance import pdist, squareform


def dense_kind(kind, n_nodes, degree=None, seed=0):
    """The matrix of 0 and 1 of a kind of graph."""
    if kind == "regular":
        return _regular(n_nodes, degree, seed)
    if kind == "geometric":
        joined = _geometric(n_nodes, degree, seed)
    else:
        i, j = np.indices((n_nodes, n_nodes))
        joined = _is_joined(kind, n_nodes, degree, i, j)
    A = joined.astype(float)
    np.fill_diagonal(A, 0)
    return A


def _is_joined(kind, n_nodes, degree, i, j):
    if kind == "path":
        return np.abs(i - j) == 1
    if kind == "star":
        return (i == 0) | (j == 0)
    if kind == "complete":
        return i != j
    if kind == "hypercube":
        return np.vectorize(int.bit_count)((i ^ j).astype(object)) == 1
    if kind == "circular":
        return _around(i, j, n_nodes) <= (degree or 1)
    n_rows = max(r for r in range(1, math.isqrt(n_nodes) + 1) if n_nodes % r == 0)
    n_columns = n_nodes // n_rows
    (row, column), (row_2, column_2) = np.divmod(i, n_columns), np.divmod(j, n_columns)
    if kind == "torus":
        rows, columns = (
            _around(row, row_2, n_rows),
            _around(column, column_2, n_columns),
        )
    else:
        rows, columns = np.abs(row - row_2), np.abs(column - column_2)
    return rows + columns == 1


def _around(i, j, length):
    return np.minimum(np.abs(i - j), length - np.abs(i - j))


def _geometric(n_nodes, degree, seed):
    between = squareform(pdist(np.random.default_rng(seed).random((n_nodes, 2))))
    radius = csgraph.minimum_spanning_tree(between).data.max(initial=0.0)
    if degree is not None:
        radius = max(radius, np.sort(between, axis=None)[n_nodes * (degree + 1) - 1])
    return between <= radius


def _regular(n_nodes, degree, seed):
    if degree is None:
        degree = min(3 + n_nodes % 2, n_nodes - 1)
    rng, others = random.Random(seed), n_nodes - 1 - degree
    if others < degree:
        drawn = nx.random_regular_graph(others, n_nodes, seed=rng)
        return nx.to_numpy_array(nx.complement(drawn))
    while True:
        graph = nx.random_regular_graph(degree, n_nodes, seed=rng)
        if nx.is_connected(graph):
            return nx.to_numpy_array(graph)


def dense_metropolis(A):
    """The Metropolis-Hastings weights of a matrix of 0 and 1."""
    own = 1.0 / (1.0 + A.sum(axis=1))
    H = A * np.minimum.outer(own, own)
    np.fill_diagonal(H, own + (A * own[:, None] - H).sum(axis=1))
    return H
