"""Claims: what was measured beside what is wanted of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """A measured figure beside what is wanted of it."""

    what: str
    value: float
    wanted: float
    at_most: bool
    command: str

    @property
    def holds(self) -> bool:
        return self.value <= self.wanted if self.at_most else self.value >= self.wanted


def at_least(what: str, value: float, wanted: float, command: str) -> Claim:
    return Claim(what, value, wanted, False, command)


def at_most(what: str, value: float, wanted: float, command: str) -> Claim:
    return Claim(what, value, wanted, True, command)
