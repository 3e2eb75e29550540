"""The status of a node as tables, for the page and for a terminal alike."""

from __future__ import annotations

from collections.abc import Sequence

from dssfn.report.numbers import NONE, clean, count, plural, seconds, setting, size
from dssfn.report.status.looks import LOOKS
from dssfn.report.table import Table
from dssfn.status import NodeStatus, State, Status

MOST_LISTED = 10  # nodes: of more, only those are listed of which something is known


def nodes_table(status: Status, *, numbered: bool = False) -> Table:
    """Return what is known of the nodes; of many others only how many there are.

    Parameters
    ----------
    status : Status
        The status.
    numbered : bool
        Whether nodes have their numbers in the plan beside their names.
    """
    awaited = {name for node in status.nodes for name in node.waits_for}
    shown = [
        (number, node)
        for number, node in enumerate(status.nodes)
        if len(status.nodes) <= MOST_LISTED
        or node.state is not State.UNKNOWN
        or node.name in awaited
    ]
    knows_parts = any(node.takes_part is not None for node in status.nodes)
    n_others = len(status.nodes) - len(shown)
    note = "Layer: the last one that a neighbour has reported."
    if n_others:
        few = plural(n_others, "more node is not", "more nodes are not")
        note = f"{few} connected to this node directly. {note}"
    return Table(
        "Nodes",
        (
            *(["No."] * numbered),
            *("Node", "State", "Since", "Layer", "Waits for"),
            *(["Takes part"] * knows_parts),
        ),
        [
            (
                *([str(number)] * numbered),
                *_node_row(node),
                *([setting(node.takes_part)] * knows_parts),
            )
            for number, node in shown
        ],
        numeric_from=7,
        note=note,
    )


def _node_row(node: NodeStatus) -> Sequence[str]:
    return (
        clean(node.name),
        LOOKS[node.state].words,
        NONE if node.since is None else seconds(node.since),
        NONE if node.layer is None else str(node.layer),
        some_names(node.waits_for) or NONE,
    )


def some_names(names: Sequence[str]) -> str:
    """Return names, and of many how many more there are.

    >>> some_names(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    shown = ", ".join(clean(name) for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def links_table(status: Status) -> Table:
    """Return the traffic with every neighbour."""
    return Table(
        "Traffic with each neighbour",
        ("Neighbour", "Connected", "Sent", "Received", "Waited", "Opened"),
        [
            (
                clean(one.name),
                "yes" if one.is_connected else "no",
                f"{count(one.letters_sent)} ({size(one.bytes_sent)})",
                f"{count(one.letters_received)} ({size(one.bytes_received)})",
                seconds(one.seconds_waited),
                count(one.connections),
            )
            for one in status.links
        ],
        numeric_from=2,
        note="Sent and received: messages since the neighbour last started, and bytes "
        "since this node started. Waited: total time spent waiting for the "
        "neighbour's messages. Opened: how often the connection was made.",
    )


def layers_table(status: Status) -> Table | None:
    """Return the layers that are finished; None before the first one is."""
    if not status.layers:
        return None
    return Table(
        "Layers (cost: share of the first layer's)",
        ("Layer", "Units", "Cost", "Training error", "Validation error"),
        [
            (
                str(one.layer),
                NONE if one.units is None else count(one.units),
                f"{100 * one.relative_cost:.3g} %",
                f"{one.train_error_db:.2f} dB",
                NONE
                if one.validation_error_db is None
                else f"{one.validation_error_db:.2f} dB",
            )
            for one in status.layers
        ],
    )


def log_table(status: Status) -> Table | None:
    """Return the latest lines of the log, the newest first."""
    if not status.log:
        return None
    return Table(
        "Latest lines, newest first",
        ("Time (UTC)", "Level", "Message"),
        [
            (clean(one.time[11:19]), clean(one.level.lower()), clean(one.text, 400))
            for one in reversed(status.log)
        ],
        numeric_from=3,
    )
