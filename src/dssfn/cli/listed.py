"""Lists on the command line: names, labels, edges and addresses between commas."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Sequence
from pathlib import Path

from dssfn._typing import Label
from dssfn.datasets import describe
from dssfn.errors import DataError, PlanError


def words(option: str, text: str) -> list[str]:
    """Return the words between commas; one with a comma in it is in double quotes.

    >>> words("--features", 'age, "height, cm"')
    ['age', 'height, cm']
    """
    try:
        (row,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError) as exc:
        raise PlanError(
            f"`{option}` must be a list such as a,b,c, got {text!r}."
        ) from exc
    found = [word.strip() for word in row]
    if not all(found):
        raise PlanError(
            f"`{option}` must not have empty words between commas, got {text!r}."
        )
    twice = [word for k, word in enumerate(found) if word in found[:k]]
    if twice:
        raise PlanError(f"`{option}` must name each only once, got {twice[0]!r} twice.")
    return found


def labels(text: str) -> tuple[Label, ...]:
    """Return class labels, sorted, with the types that they have in a CSV file.

    There `1,2` are whole numbers and `true,false` are no text; `1,x` is text. Labels
    that are all in double quotes are text in any case, as they may be in a Parquet or
    NPZ file.

    >>> labels("yes,no"), labels("1,0"), labels('"1","0"')
    (('no', 'yes'), (0, 1), ('0', '1'))
    """
    found = words("--classes", text)
    if len(found) < 2:
        raise PlanError(f"`--classes` must name at least two classes, got {text!r}.")
    if all(part.strip().startswith('"') for part in text.split(",")):
        return tuple(sorted(found))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.csv"
        try:
            with path.open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows(
                    [("x", "label"), *((0, word) for word in found)]
                )
            classes = describe(path, "label").classes
        except (DataError, UnicodeEncodeError) as exc:
            raise PlanError(
                "`--classes` must be text, whole numbers below 2**63, or true,false; "
                f"got {text!r}."
            ) from exc
    if len(classes) < len(found):
        raise PlanError(f"`--classes` must all differ, got {text!r}.")
    return classes


def edges(text: str, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return pairs of nodes written a-b, or a:b where a name has a '-' in it.

    >>> edges("a-b,b-c-d", ["a", "b", "c-d"])
    (('a', 'b'), ('b', 'c-d'))
    """
    found = [_edge(word, names) for word in words("--edges", text)]
    once = {frozenset(pair): pair for pair in reversed(found)}  # a-b is b-a
    return tuple(reversed(once.values()))


def _edge(word: str, names: Sequence[str]) -> tuple[str, str]:
    cuts = [k for k, letter in enumerate(word) if letter in "-:"]
    pairs = [(word[:k], word[k + 1 :]) for k in cuts]
    known = [(a, b) for a, b in pairs if a in names and b in names and a != b]
    if len(known) == 1:
        return known[0]
    rule = "An edge in `--edges` must be two different nodes with a '-' between them"
    if known:
        raise PlanError(f"{rule}; {word!r} is ambiguous. Write a:b instead.")
    raise PlanError(f"{rule}, from {', '.join(names)}; got {word!r}.")


def addresses(given: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Return where nodes can be reached, each written NAME=host:port."""
    found: dict[str, str] = {}
    for word in given:
        name, equals, address = word.partition("=")
        if not equals or name not in names:
            raise PlanError(
                "`--address` must be NAME=host:port, where NAME is one of "
                f"{', '.join(names)}; got {word!r}."
            )
        if name in found:
            raise PlanError(f"`--address` must name every node once, got {name} twice.")
        found[name] = address
    return found
