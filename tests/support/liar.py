"""Nodes that lie: they send sums which none of their rows give.

`python -m tests.support.liar LIE node run FOLDER` runs a real node that tells one lie.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

from dssfn.exact.gram_bounds import GramBounds
from dssfn.exact.limbs import LOWEST, N_LIMBS, add_exactly
from dssfn.exact.tally_bounds import TallyBounds
from dssfn.programs import INPUTS, Message
from dssfn.sum_bounds import CountBounds, JoinedBounds

UNITS = -LOWEST // 28  # the place of whole numbers below 2^28
DESCRIBED = (4, 6, 12)  # sums that describe a layer, with one input scale or two


def parts(bounds, at=0):
    """All bounds of a message that are not joined, and where their numbers begin."""
    if not isinstance(bounds, JoinedBounds):
        yield at, bounds
        return
    for size, one in bounds.parts:
        yield from parts(one, at)
        at += size


def place(message, kind):
    """Where the last sums of a kind begin, and their bounds; None if there are none."""
    found = [one for one in parts(message.bounds) if isinstance(one[1], kind)]
    return found[-1] if found else None


def units(layout):
    """Where the packed triangle of new units begins, in sums of products."""
    words = 2 * sum(int(np.prod(shape)) for shape in layout.wide_shapes)
    return words + sum(int(np.prod(shape)) for shape in layout.narrow_shapes[:2])


def in_gram(change):
    """A lie about the units of a hidden layer."""

    def lie(message, values):
        found = place(message, GramBounds)
        if found is None or message.layer < 1:
            return
        at, bounds = found
        m = bounds.layout.new_units
        first = at + units(bounds.layout)
        change(values[first : first + m * (m + 1) // 2])

    return lie


def oversized(triangle):
    triangle[0] += 127**2 * 10**6


def negative(triangle):
    triangle[0] = -triangle[0] - 10**6


def uncorrelated(triangle):
    """The product of the first two units, above those of their squares."""
    triangle[1] = triangle[0] + triangle[2] + 10**6


def in_tally(number, by):
    """A lie about the last tally that rides along with a layer."""

    def lie(message, values):
        found = place(message, TallyBounds)
        if found is not None and message.layer >= 1 and len(found[1].low) in DESCRIBED:
            values[found[0] + number * N_LIMBS + UNITS] += by

    return lie


def targets(message, values):
    """Products of targets and units, above what both can be."""
    found = place(message, GramBounds)
    if found is not None and message.layer >= 1:
        at, bounds = found
        values[at + bounds.layout.size - 1] += 2**60


def apart(message, values):
    """A negative count of samples that are not at the mean."""
    found = place(message, CountBounds)
    if found is not None and message.layer == INPUTS:
        values[found[0]] -= 10**9


def weight(message, values):
    """More samples than there are."""
    at, bounds = next(parts(message.bounds))
    if isinstance(bounds, TallyBounds) and bounds.is_stated:
        more = np.zeros(N_LIMBS, dtype=np.int64)
        add_exactly(np.array([1e6]), more)
        values[at : at + N_LIMBS] += more


LIES = {
    "oversized": in_gram(oversized),
    "negative squares": in_gram(negative),
    "uncorrelated": in_gram(uncorrelated),
    "targets": targets,
    "negative correct": in_tally(2, -(10**6)),
    "more samples": in_tally(3, 10**6),
    "apart": apart,
    "weight": weight,
}


def lying(program, lie):
    """The same program, with one lie in all its messages that have room for it."""

    def told(message):
        def fill(into):
            message.fill(into)
            if message.bounds is not None:
                lie(message, into)

        return replace(message, fill=fill)

    reply = None
    while True:
        try:
            request = program.send(reply)
        except StopIteration as stop:
            return stop.value
        reply = yield told(request) if isinstance(request, Message) else request


if __name__ == "__main__":
    from dssfn.cli.main import run
    from dssfn.node import runtime

    honest = runtime.train_node
    lie = LIES[sys.argv.pop(1).replace("-", " ")]
    runtime.train_node = lambda *args, **settings: lying(honest(*args, **settings), lie)
    run()
