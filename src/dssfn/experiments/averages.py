"""Programs of baselines in lockstep, their averages charged as those of dSSFN are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TypeVar

from dssfn._typing import Array
from dssfn.consensus import Averaging
from dssfn.hosting import Traffic
from dssfn.lockstep import Workers
from dssfn.network import CHUNK
from dssfn.programs import Program
from dssfn.scaling import Weighted, agree_scaling
from dssfn.shard import Samples
from dssfn.simulator import run_programs

Result = TypeVar("Result")


def average_together(
    programs: Sequence[Program[Result]], averaging: Averaging, traffic: Traffic
) -> list[Result]:
    """Run one program per node until they return, and charge what they send.

    Parameters
    ----------
    programs : sequence of Program
        One per node.
    averaging : Averaging
        The averaging scheme.
    traffic : Traffic
        The account that the traffic is added to.

    Examples
    --------
    >>> import numpy as np
    >>> from dssfn.consensus import Tree
    >>> from dssfn.programs import Message
    >>> from dssfn.topology import build_topology
    >>> def program(value):
    ...     mean = yield Message.of(np.array([value]))
    ...     return float(mean[0])
    >>> traffic = Traffic()
    >>> tree = Tree(build_topology("circular", 4))
    >>> average_together([program(v) for v in (1.0, 2.0, 3.0, 6.0)], tree, traffic)
    [3.0, 3.0, 3.0, 3.0]
    >>> traffic.bytes_total  # six letters of one number
    48
    """
    with Workers(len(programs)) as workers:
        return run_programs(
            programs,
            averaging,
            workers,
            on_message=lambda message: traffic.add(averaging, message.size),
        )


def scaling_of(
    shards: Sequence[Samples], averaging: Averaging, traffic: Traffic
) -> tuple[Array, Array]:
    """Return mean and deviation of every feature, agreed on as dSSFN's nodes do.

    Parameters
    ----------
    shards : sequence of Samples
        One per node.
    averaging, traffic
        As in `average_together`.
    """
    programs = [
        agree_scaling(partial(_inputs, shard), shard.weight) for shard in shards
    ]
    moments = average_together(programs, averaging, traffic)[0]
    return moments.shift, moments.scale


def _inputs(samples: Samples) -> Iterator[Weighted]:
    return ((rows.X, rows.weights) for rows in samples.chunks(CHUNK))
