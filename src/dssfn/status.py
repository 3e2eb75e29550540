"""What a running node tells of itself and of the others, as typed values.

Nothing here is computed from a single node's rows: names and numbers of the plan,
figures that all nodes agreed on, times, and traffic.
"""

from __future__ import annotations

from enum import Enum

import msgspec

PAGE, JSON = "/", "/status.json"
"""The paths under which a node shows its status."""


class State(Enum):
    """What one node knows of another."""

    THIS = "this node"
    HERE = "here"
    SLOW = "slow"
    GONE = "gone"
    UNSEEN = "not yet seen"
    FINISHED = "finished"
    LEFT_OUT = "left out"
    UNKNOWN = "no neighbour"


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One node of the plan, as another knows it.

    Parameters
    ----------
    name : str
        Its name in the plan.
    state : State
        Whether it is there.
    since : float, optional
        Seconds for which it has been so, where that is known.
    layer : int, optional
        The layer that it works on, where that is known.
    waits_for : tuple of str
        The nodes whose letters it waits for.
    takes_part : bool, optional
        Whether its samples count in the present layer, where that is known.
    """

    name: str
    state: State
    since: float | None = None
    layer: int | None = None
    waits_for: tuple[str, ...] = ()
    takes_part: bool | None = None


class LinkStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The traffic with one neighbour since this node was started.

    Parameters
    ----------
    name : str
        The neighbour.
    is_connected : bool
        Whether there is a connection now.
    letters_sent, letters_received : int
        Letters since the neighbour was last started.
    bytes_sent, bytes_received : int
        Bytes of letters to it, and of all that came from it.
    seconds_waited : float
        How long this node has waited for its letters, the next one included.
    connections : int
        How many connections there were.
    """

    name: str
    is_connected: bool
    letters_sent: int
    letters_received: int
    bytes_sent: int
    bytes_received: int
    seconds_waited: float
    connections: int


class LayerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A finished layer: figures of all nodes together.

    Parameters
    ----------
    layer : int
        Its number.
    relative_cost : float
        Its cost as a part of that of the first layer which this node knows. (The cost
        itself, beside the error in dB, would tell how many samples there are.)
    train_error_db : float
        The training error.
    validation_error_db : float, optional
        The error on samples that were left out, if some were.
    units : int, optional
        Random units, where they were found and not given.
    """

    layer: int
    relative_cost: float
    train_error_db: float
    validation_error_db: float | None = None
    units: int | None = None


class LogLine(msgspec.Struct, frozen=True):
    """A line of the log, or that there is one which is not to be shown."""

    time: str
    level: str
    text: str


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """A node of a running training, and what it knows of the others.

    Parameters
    ----------
    node : str
        Its name.
    plan : str
        The first digits of the plan's fingerprint, the same at all nodes.
    version : str
        The version of dssfn that it runs.
    made_at : str
        When this was found out, as local time with its distance from UTC.
    seconds : float
        How long the node has been running.
    doing : str
        What it is doing, in a few words.
    waits_for : tuple of str
        The neighbours whose letters it waits for.
    layer : int, optional
        The layer that it works on; None before the first one and after the last.
    depth : int, optional
        The number of the last layer; None if the training finds it.
    solved : int
        How many layers all nodes have solved.
    step, round : int
        The number of the present averaging, and of the exchange within it; -1 before.
    restarts : int
        How often nodes had to go back together.
    certificate_ends : str
        The day on which this node's certificate ends.
    certificate_days : int
        Whole days until then; negative if it has ended.
    graph : str
        The kind of the graph.
    edges : tuple of pairs of int
        Its edges, by the numbers of the nodes.
    nodes : tuple of NodeStatus
        All nodes of the plan, in its order.
    links : tuple of LinkStatus
        The traffic with every neighbour.
    layers : tuple of LayerStatus
        The layers that are finished.
    log : tuple of LogLine
        The latest lines of the log.
    """

    node: str
    plan: str
    version: str
    made_at: str
    seconds: float
    doing: str
    waits_for: tuple[str, ...] = ()
    layer: int | None = None
    depth: int | None = None
    solved: int = 0
    step: int = -1
    round: int = 0
    restarts: int = 0
    certificate_ends: str
    certificate_days: int
    graph: str
    edges: tuple[tuple[int, int], ...]
    nodes: tuple[NodeStatus, ...]
    links: tuple[LinkStatus, ...]
    layers: tuple[LayerStatus, ...] = ()
    log: tuple[LogLine, ...] = ()
