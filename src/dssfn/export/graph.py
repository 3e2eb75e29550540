"""Graph: operators and constants in the order in which they were added.

How this works. A tensor is known by its name. Every operator makes one tensor, whose
name it returns, so that a calculation reads as it does with arrays. Tensors of features
have one column for each sample, (n, J), as everywhere inside this package; how many
samples there are is known when the graph runs.

Nothing here knows ONNX but the names of its operators; `dssfn.export.onnx_model` writes
a graph as a file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dssfn._typing import Numbers

Tensor: TypeAlias = str  # the name of one
Operand: TypeAlias = str | NDArray[Any] | np.generic  # arrays become constants


@dataclass(frozen=True, slots=True)
class Node:
    """One operator.

    Parameters
    ----------
    operator : str
        Its name in ONNX.
    inputs : tuple of str
        The tensors that it takes.
    outputs : tuple of str
        The tensors that it makes, of which the first is used.
    attributes : dict
        Its settings; a type is numpy's.
    """

    operator: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Port:
    """One input or output of a graph, with one row for each sample.

    Parameters
    ----------
    name : str
        Its name.
    dtype : numpy.dtype
        Its type; that of objects stands for text.
    n_columns : int, optional
        How many columns it has; None if it has one number or label for each sample.
    """

    name: str
    dtype: np.dtype[Any]
    n_columns: int | None


class Graph:
    """Operators and constants, to which more can be added.

    Parameters
    ----------
    *inputs : str
        The names of the inputs, which no other tensor takes; one that would is named
        with an underscore behind.

    Examples
    --------
    >>> graph = Graph("X")
    >>> graph.node("Mul", "X", np.float64(2.0))
    'Mul_1'
    >>> with graph.part("layer_1"):
    ...     graph.node("Relu", "Mul_1")
    'layer_1/Relu_2'
    """

    def __init__(self, *inputs: Tensor) -> None:
        self.nodes: list[Node] = []
        self.constants: dict[Tensor, NDArray[Any]] = {}
        self._names: dict[tuple[Any, ...], Tensor] = {}  # of what need not be twice
        self._part = ""
        self._inputs = dict.fromkeys(inputs)  # in their order, and quick to look up

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Name what is added meanwhile after a part of the model."""
        before = self._part
        self._part = f"{before}{name}/"
        try:
            yield
        finally:
            self._part = before

    def node(
        self, operator: str, *inputs: Operand, name: str = "", **attributes: Any
    ) -> Tensor:
        """Add an operator, and return the tensor that it makes."""
        return self._node(operator, inputs, name, 1, attributes)

    def sorted(self, rows: Tensor, n: int) -> Tensor:
        """Return the n numbers of every row, float64, the largest first."""
        # One row more: onnxruntime 1.20 breaks down when it sorts none.
        more = self.node("Concat", rows, np.zeros((1, n)), axis=0)
        count = np.array([n], dtype=np.int64)
        found = self._node("TopK", (more, count), "", 2, {"axis": 1})
        return self.rows(found, 0, -1)

    def _node(
        self,
        operator: str,
        inputs: tuple[Operand, ...],
        name: str,
        n_outputs: int,
        attributes: dict[str, Any],
    ) -> Tensor:
        names = tuple(
            one if isinstance(one, str) else self.constant(np.asarray(one))
            for one in inputs
        )
        output = self._free(name or f"{self._part}{operator}_{len(self.nodes) + 1}")
        more = (self._free(f"{output}/{k}") for k in range(1, n_outputs))
        self.nodes.append(Node(operator, names, (output, *more), attributes))
        return output

    def _free(self, name: Tensor) -> Tensor:
        """Return a name that no input has."""
        while name in self._inputs:
            name += "_"
        return name

    def constant(self, values: NDArray[Any]) -> Tensor:
        """Return a constant; equal ones are kept once."""
        is_text = values.dtype == object
        content = repr(values.tolist()).encode() if is_text else values.tobytes()
        digest = hashlib.sha256(content).digest()
        key = ("constant", values.dtype.str, values.shape, digest)
        if key not in self._names:
            self._names[key] = self._free(f"constant_{len(self.constants) + 1}")
            self.constants[self._names[key]] = values
        return self._names[key]

    def small(self, values: NDArray[np.int8], dtype: type[Any]) -> Tensor:
        """Return a constant that is kept in bytes, and used in another type."""
        kept = self.constant(values)
        key = ("small", kept, dtype)
        if key not in self._names:
            self._names[key] = self.cast(kept, dtype)
        return self._names[key]

    def cast(self, tensor: Tensor, dtype: type[Any]) -> Tensor:
        """Return a tensor in another type."""
        return self.node("Cast", tensor, to=np.dtype(dtype))

    def rows(self, tensor: Tensor, start: int, stop: int, axis: int = 0) -> Tensor:
        """Return some rows of a tensor."""
        ends = (np.array([one], dtype=np.int64) for one in (start, stop, axis))
        return self.node("Slice", tensor, *ends)

    def reshaped(self, tensor: Tensor, *sizes: int, columns: int = 1) -> Tensor:
        """Return a tensor of these sizes, and so many columns for each sample."""
        # No samples are no reason to keep the size that was there.
        shape = self._shape(*sizes, columns=columns)
        return self.node("Reshape", tensor, shape, allowzero=1)

    def same_for_all(self, values: Numbers) -> Tensor:
        """Return values (.., n, 1) with one column for each sample."""
        column = self.constant(values)
        key = ("same", column)
        if key not in self._names:
            shape = self._shape(*values.shape[:-1])
            self._names[key] = self.node("Expand", column, shape)
        return self._names[key]

    def _shape(self, *sizes: int, columns: int = 1) -> Tensor:
        """Return these sizes, and the number of samples times that of columns."""
        key = ("shape", sizes, columns)
        if key not in self._names:
            known = np.array(sizes, dtype=np.int64)
            count = self._count(columns)
            self._names[key] = self.node("Concat", known, count, axis=0)
        return self._names[key]

    def _count(self, columns: int) -> Tensor:
        key = ("count", columns)
        if key not in self._names:
            if columns == 1:
                first = next(iter(self._inputs))
                count = self.node("Shape", first, start=0, end=1)
            else:
                count = self.node("Mul", self._count(1), np.int64(columns))
            self._names[key] = count
        return self._names[key]
