"""Programs of baselines in lockstep, their averages charged as those of dSSFN are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from dssfn._typing import Array, Program
from dssfn.consensus import Averaging
from dssfn.network import CHUNK
from dssfn.shard import Samples
from dssfn.simulator import Traffic
from dssfn.training import agree_scaling

Result = TypeVar("Result")


def average_together(
    programs: Sequence[Program[Result]], averaging: Averaging, traffic: Traffic
) -> list[Result]:
    """Answer all programs, which yield arrays alone, until they return.

    Parameters
    ----------
    programs : sequence of Program
        One per node.
    averaging : Averaging
    traffic : Traffic
        Is added to.

    Examples
    --------
    >>> from dssfn.consensus import Tree
    >>> from dssfn.topology import build_topology
    >>> def program(value):
    ...     mean = yield np.array([value])
    ...     return float(mean[0])
    >>> traffic = Traffic()
    >>> tree = Tree(build_topology("circular", 4))
    >>> average_together([program(v) for v in (1.0, 2.0, 3.0, 6.0)], tree, traffic)
    [3.0, 3.0, 3.0, 3.0]
    >>> traffic.bytes_total  # six letters of one number
    48
    """
    replies: Sequence[Any] = [None] * len(programs)
    step, results = 0, list[Result]()
    while not results:
        values: list[Array] = []
        for program, reply in zip(programs, replies, strict=True):
            try:
                wanted = program.send(reply)
                assert isinstance(wanted, np.ndarray)
                values.append(wanted)
            except StopIteration as stop:
                results.append(stop.value)
        if values:
            traffic.add(averaging, values[0].size)
            replies = list(averaging.mix(values, step))
            step += 1
    return results


def scaling_of(
    shards: Sequence[Samples], averaging: Averaging, traffic: Traffic
) -> tuple[Array, Array]:
    """Mean and deviation of every feature, agreed on as dSSFN's nodes do.

    Parameters
    ----------
    shards : sequence of Samples
        One per node.
    averaging, traffic
        As in `average_together`.
    """
    programs = [
        agree_scaling(partial(_inputs, shard), shard.n_samples) for shard in shards
    ]
    return average_together(programs, averaging, traffic)[0]


def _inputs(samples: Samples) -> Iterator[Array]:
    return (X for X, _ in samples.chunks(CHUNK))
