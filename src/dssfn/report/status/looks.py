"""How the states of nodes look, and what they mean: one line for each."""

from __future__ import annotations

from typing import NamedTuple

from dssfn.status import State


class Look(NamedTuple):
    """The look of a state.

    Parameters
    ----------
    kind : str
        Its class in the style of the page.
    words : str
        What it means, in the same words on the page, in its legend and in a terminal.
    """

    kind: str
    words: str


LOOKS = {
    State.THIS: Look("this", "this node"),
    State.HERE: Look("here", "connected"),
    State.SLOW: Look("slow", "late"),
    State.GONE: Look("gone", "gone"),
    State.UNSEEN: Look("unseen", "not yet seen"),
    State.FINISHED: Look("finished", "finished"),
    State.LEFT_OUT: Look("left-out", "left out"),
    State.UNKNOWN: Look("unknown", "not a neighbour"),
}
