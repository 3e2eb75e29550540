"""Printed text with wildcards: does an output match it, and what does it become?

A line that is `...`, without spaces before it, stands for any lines, and `...` inside a
line for any text. Spaces at the end of a line do not count.

When an output has changed, the text is aligned with it, line by line and then word by
word, as an edit distance is computed. So a wildcard stays where it was, and everything
else is what was printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

ANY = "..."
WORDS = re.compile(r"(\s+|\.\.\.)")
# What an edit costs. To replace a part is cheaper than to leave it out, even if a
# wildcard beside it could swallow the new one.
REPLACED, ADDED, SWALLOWED = 0.9, 1.0, 0.001

Same = Callable[[str, str], bool]
Pair = tuple[str | None, list[str]]  # a part of the text, and what it stands for


def matches(text: str, output: str) -> bool:
    """Whether an output is what a text says.

    >>> matches("layer 1\\n...\\ntook ... s", "layer 1\\nlayer 2\\ntook 0.3 s")
    True
    >>> matches("layer 1", "layer 1\\nlayer 2")
    False
    """
    return re.fullmatch(_pattern(trimmed(text)), trimmed(output) + "\n") is not None


def renewed(text: str, output: str) -> str:
    """Return the text that an output matches, with the wildcards of the one before.

    >>> print(renewed("took ... s\\n3 layers\\n...", "took 0.3 s\\n4 layers\\nmore"))
    took ... s
    4 layers
    ...
    """
    old, new = trimmed(text), trimmed(output)
    if matches(old, new):
        return old
    pairs = _aligned(old.splitlines(), new.splitlines(), matches)
    lines = [line for part, run in pairs for line in _line(part, run)]
    return "\n".join(lines)


def trimmed(text: str) -> str:
    """Return a text without spaces at ends of lines, and empty lines around it."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def _pattern(text: str) -> str:
    lines = (
        r"(?:.*\n)*" if line == ANY else re.escape(line) + r"\n"
        for line in text.splitlines()
    )
    return "".join(lines).replace(re.escape(ANY), ".*") or r"\n"


def _line(part: str | None, run: list[str]) -> list[str]:
    """Return the lines of the new text that come of one of the old."""
    if part is None or not run:
        return [ANY] if part is not None and part == ANY else run
    if part == ANY or matches(part, run[0]):
        return [part]
    return [_words(part, run[0])] if ANY in part else run


def _words(part: str, line: str) -> str:
    """Return a line that differs from one with wildcards, with them."""
    parts = [list(filter(None, WORDS.split(one))) for one in (part, line)]
    pairs = _aligned(*parts, str.__eq__)
    return "".join(ANY if word == ANY else "".join(run) for word, run in pairs)


def _aligned(old: Sequence[str], new: Sequence[str], same: Same) -> list[Pair]:
    """Return the parts of an old sequence with those of a new one, by fewest edits."""
    # best[i][j]: what it costs to make the first j of new of the first i of old, and
    # the last step to there: how many of both it takes.
    best: list[list[tuple[float, int, int]]] = []
    for i in range(len(old) + 1):
        best.append([])
        for j in range(len(new) + 1):
            ways = [] if i or j else [(0.0, 0, 0)]
            if i:
                free = old[i - 1] == ANY
                ways.append((best[i - 1][j][0] + (0 if free else ADDED), 1, 0))
            if j:
                ways.append((best[i][j - 1][0] + ADDED, 0, 1))
            if i and j:
                if free:
                    ways.append((best[i - 1][j - 1][0] + SWALLOWED, 1, 1))
                    ways.append((best[i][j - 1][0] + SWALLOWED, 0, 1))
                else:
                    cost = 0.0 if same(old[i - 1], new[j - 1]) else REPLACED
                    ways.append((best[i - 1][j - 1][0] + cost, 1, 1))
            best[i].append(min(ways))
    return _traced(old, new, best)


def _traced(
    old: Sequence[str], new: Sequence[str], best: list[list[tuple[float, int, int]]]
) -> list[Pair]:
    pairs: list[Pair] = []
    i, j = len(old), len(new)
    swallowed: list[str] = []
    while i or j:
        _, of_old, of_new = best[i][j]
        free = i > 0 and old[i - 1] == ANY
        run = list(new[j - of_new : j])
        if of_old:
            pairs.append((old[i - 1], run + swallowed))
            swallowed = []
        elif free:
            swallowed = run + swallowed
        else:
            pairs.append((None, run))
        i, j = i - of_old, j - of_new
    return pairs[::-1]
