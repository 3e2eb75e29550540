"""The latest lines of a node's log, as far as others may read them.

How this works. A line of the log may hold a path, a label, a value of a bad row or the
number of this node's rows. So a line is shown only if all of it, or a part that can
stand alone, is one of the sentences below: fixed words, names of the plan, and numbers
that all nodes know. Of any other line it is told that it is there.
"""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from dssfn.status import LogLine
from dssfn.transports import Reason

LENGTH = 50  # lines
NOT_SHOWN = "(shown only in this node's own log, as it may contain data)"

log = logging.getLogger("dssfn.node")

# What is in << >> may be anything, and is left out. N is a name of the plan, NN are
# several; D is a whole number and F any; R is a reason for which a node leaves.
_SENTENCES = (
    r"N starts: plan [0-9a-f]{16}",
    r"resuming after layer D, from the checkpoint",
    r"layer D begins",
    r"layer D(?:/D)?(?:  D units)?<<  cost F>>  F dB(?:  validation F dB)?"
    r"<<(?:  train accuracy F %)?  averagings: D>>",
    r"all nodes have all layers",
    r"N is (?:connected|back)",
    r"N is back after a restart; all nodes return to the last layer that all have",
    r"N is back after a restart",
    r"attempt D: taking part are NN(?:; without NN)?",
    r"received D solved layers from a neighbour",
    r"waiting for all to agree on who takes part",
    r"N is gone: R(?: for NN)?",
    r"N is gone<<: .*>>",
    r"N has finished(?:: [0-9a-f]{64})?",
    r"N is not connected, but no longer needed: this node's model is complete",
    r"messages are masked with (?:NN|D partners)",
    r"starting again together, attempt D: N was restarted(?:, as N says)?",
    r"waiting for NN",
    r"waiting for N for D s: it is (?:gone|connected and busy)<<(?: \(.*\))?>>",
    r"waiting for N for D s: it has not connected yet<<(?: \(.*\))?>>",
    r"waiting for N for D s: it waits for NN",
    r"nodes hold layers of different trainings: starting from scratch",
    r"the nodes' layers differ by rounding \(F\): averaging them",
    r"training a model on this node's samples alone, for comparison",
    r"loaded a new (?:certificate, key or authorities|revocation list): "
    r"certificate valid until [-0-9]{10} [0-9]{2}:[0-9]{2} UTC, D revoked",
    r"refused a connection<<: .*>>",
    r"N cannot be reached<< at .*>>",
    r"stopped<<\. .*>>",
)
_MORE = r"(?: \(and \d+ more like this that were not logged\))?"


class ShownWords:
    """The sentences of the log that may be shown, with the names of a plan in them.

    Parameters
    ----------
    names : sequence of str
        The names of all nodes.
    """

    def __init__(self, names: Sequence[str]) -> None:
        name = "(?:" + "|".join(map(re.escape, sorted(names, key=len)[::-1])) + ")"
        reason = "(?:" + "|".join(re.escape(one.value) for one in Reason) + ")"
        words = {
            "NN": f"{name}(?:, {name})*",
            "N": name,
            "D": r"\d+",
            "F": r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?",
            "R": reason,
        }
        self._patterns = [
            re.compile(_with_words(sentence, words)) for sentence in _SENTENCES
        ]

    def of(self, message: str) -> str | None:
        """Return the part of a message that may be shown; None if there is none.

        >>> ShownWords(["north"]).of("north is gone: /home/of/somebody")
        'north is gone'
        """
        for pattern in self._patterns:
            if found := pattern.fullmatch(message):
                return "".join(part or "" for part in found.groups())
        return None


def _with_words(sentence: str, words: dict[str, str]) -> str:
    """Return a pattern whose groups are the parts that are shown."""

    def filled(part: str) -> str:
        return re.sub(r"\b(NN|N|D|F|R)\b", lambda found: words[found[1]], part)

    parts = re.split("<<|>>", sentence)
    shown = [
        f"(?:{filled(part)})" if place % 2 else f"({filled(part)})"
        for place, part in enumerate(parts)
        if part
    ]
    return "".join(shown) + _MORE


class LogTail(logging.Handler):
    """Keeps the latest lines at INFO and above, as others may read them.

    Parameters
    ----------
    names : sequence of str
        The names of all nodes.
    """

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(logging.INFO)
        self._words = ShownWords(names)
        self._lines: deque[LogLine] = deque(maxlen=LENGTH)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        moment = datetime.fromtimestamp(record.created).astimezone()
        text = self._words.of(record.getMessage())
        line = LogLine(
            moment.isoformat(timespec="seconds"), record.levelname, text or NOT_SHOWN
        )
        self._lines.append(line)

    def lines(self) -> tuple[LogLine, ...]:
        """Return the lines, the latest last."""
        self.acquire()  # as for `emit`
        try:
            return tuple(self._lines)
        finally:
            self.release()


@contextmanager
def log_tail(names: Sequence[str]) -> Iterator[LogTail]:
    """Keep the latest lines of the node's log until the context ends."""
    tail = LogTail(names)
    log.addHandler(tail)
    try:
        yield tail
    finally:
        log.removeHandler(tail)
        tail.close()
