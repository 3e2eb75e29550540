"""The lines of a log that others may read."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.node.few_rows import few_samples
from dssfn.node.log_tail import LENGTH, NOT_SHOWN, ShownWords, log_tail
from dssfn.transports import Reason

NAMES = ("north", "south", "a.east-2")
MARKER = "planted-marker-0815"
WORDS = ShownWords(NAMES)
DIGEST = "7f" * 32

WHOLE = [
    "attempt 3: taking part are north, south; without a.east-2",
    "attempt 1: taking part are north, south, a.east-2",
    "received 4 solved layers from a neighbour",
    "waiting for all to agree on who takes part",
    "south is back after a restart",
    "north starts: plan 0123456789abcdef",
    "south is connected",
    "south is back",
    "south is back after a restart; all nodes return to the last layer that all have",
    "south has finished",
    f"north has finished: {DIGEST}",
    "resuming after layer 7, from the checkpoint",
    "layer 8 begins",
    "all nodes have all layers",
    "south is not connected, but no longer needed: this node's model is complete",
    "waiting for south, a.east-2",
    "waiting for south for 30 s: it is connected and busy",
    "waiting for south for 30 s: it waits for a.east-2",
    "starting again together, attempt 3: a.east-2 was restarted, as south says",
    "messages are masked with south, a.east-2",
    "messages are masked with 9 partners",
    "the nodes' layers differ by rounding (1.2e-09): averaging them",
    "nodes hold layers of different trainings: starting from scratch",
    "loaded a new revocation list: certificate valid until 2027-01-02 10:11 UTC, 3 "
    "revoked",
    *(f"south is gone: {reason.value}" for reason in Reason),
    "south is gone: it gave up waiting for a.east-2",
]
PARTS = {
    "layer 8/20  300 units  cost 12.345  -9.12 dB  validation -8.10 dB"
    "  train accuracy 97.10 %  averagings: 3": "layer 8/20  300 units  -9.12 dB  "
    "validation -8.10 dB",
    "layer 0  cost 1e+03  -9.12 dB  averagings: 3": "layer 0  -9.12 dB",
    f"south is gone: {MARKER}": "south is gone",
    f"waiting for south for 3 s: it has not connected yet ({MARKER})": "waiting for "
    "south for 3 s: it has not connected yet",
    f"refused a connection: {MARKER}": "refused a connection",
    f"stopped. 3 layers are saved; to resume: dssfn node run /{MARKER}": "stopped",
    "south is back (and 12 more like this that were not logged)": "south is back",
}
HIDDEN = [
    f"/home/{MARKER}/checkpoint cannot be used (damaged): starting from scratch",
    f"`age` must be a number, got '{MARKER}'. (told the other nodes: its data)",
    f"the model cannot be scored: {MARKER}",
    (
        f"The private key `/home/{MARKER}/node.key` can be read by other users of this "
        "machine."
    ),
    f"{MARKER} is connected",
    f"waiting for {MARKER}",
    f"north starts: plan 0123456789abcdef\n{MARKER}",
    *few_samples(7),
]


@pytest.mark.parametrize("line", WHOLE)
def test_fixed_words_with_names_of_the_plan_are_shown(line):
    assert WORDS.of(line) == line


@pytest.mark.parametrize("line", PARTS)
def test_of_some_lines_a_part_is_shown(line):
    assert WORDS.of(line) == PARTS[line]


@pytest.mark.parametrize("line", HIDDEN)
def test_all_other_lines_are_hidden(line):
    assert WORDS.of(line) is None


@given(st.sampled_from([*WHOLE, *PARTS]), st.data())
def test_nothing_that_is_planted_in_a_line_is_ever_shown(line, data):
    place = data.draw(st.integers(0, len(line)))
    shown = WORDS.of(line[:place] + MARKER + line[place:])
    assert MARKER not in (shown or "")


def test_the_latest_lines_are_kept_and_hidden_ones_are_told_of():
    log = logging.getLogger("dssfn.node")
    before = log.level
    log.setLevel(logging.DEBUG)
    try:
        with log_tail(NAMES) as tail:
            for k in range(LENGTH):
                log.info("layer %d begins", k)
            log.debug("layer 1000 begins")
            log.warning("%s", MARKER)
        log.info("layer 2000 begins")
    finally:
        log.setLevel(before)
    lines = tail.lines()
    assert [line.text for line in lines[:2]] == ["layer 1 begins", "layer 2 begins"]
    assert len(lines) == LENGTH
    assert (lines[-1].level, lines[-1].text) == ("WARNING", NOT_SHOWN)
