"""Times, bandwidths and delays, as people write them in options."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from dssfn.errors import PlanError
from dssfn.events.delays import Constant, Delay, Exponential, Lognormal, Uniform
from dssfn.hints import unknown

TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
BANDWIDTHS = {"bit": 1.0, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9}


def seconds_of(option: str, text: str) -> float:
    """Return the seconds that an option says.

    >>> seconds_of("--deadline", "600s"), seconds_of("--deadline", "1.5min")
    (600.0, 90.0)
    """
    return _with_unit(
        option, text, TIMES, "a time with a unit, such as 20ms, 5s or 2min"
    )


def bandwidth_of(option: str, text: str) -> float:
    """Return the bits per second that an option says.

    >>> bandwidth_of("--link-bandwidth", "10Mbit")
    10000000.0
    """
    what = "bits per second with a unit, such as 500kbit, 10Mbit or 1Gbit"
    return _with_unit(option, text.removesuffix("/s"), BANDWIDTHS, what)


def interval_of(option: str, text: str) -> tuple[float, float]:
    """Return the two times of an interval.

    >>> interval_of("--away", "20s-1min")
    (20.0, 60.0)
    """
    start, dash, end = text.partition("-")
    if not dash:
        raise PlanError(
            f"`{option}` must have two times, such as 20s-60s, got {text!r}."
        )
    return seconds_of(option, start), seconds_of(option, end)


def delay_of(option: str, text: str) -> Delay:
    """Return the distribution of delays that an option says.

    >>> delay_of("--delay", "20ms")
    Constant(seconds=0.02)
    >>> delay_of("--delay", "lognormal:20ms,0.8")
    Lognormal(median=0.02, sigma=0.8)
    """
    kind, colon, numbers = text.partition(":")
    if not colon:
        kind, numbers = ("constant", text) if text[:1].isdigit() else (text, "")
    if kind not in _DELAYS:
        raise PlanError(unknown(option, kind, _DELAYS))
    if not numbers:
        raise PlanError(
            f"`{option}` must say how long, such as {kind}:{_EXAMPLES[kind]}, got "
            f"{text!r}."
        )
    return _DELAYS[kind](option, numbers)


def _uniform(option: str, text: str) -> Delay:
    return Uniform(*interval_of(option, text))


def _lognormal(option: str, text: str) -> Delay:
    median, comma, sigma = text.partition(",")
    if not comma:
        return Lognormal(seconds_of(option, median))
    try:
        return Lognormal(seconds_of(option, median), float(sigma))
    except ValueError as exc:
        if isinstance(exc, PlanError):
            raise
        raise PlanError(
            f"`{option}`: the sigma of a lognormal delay must be a number, such as "
            f"lognormal:20ms,0.5, got {sigma!r}."
        ) from None


_DELAYS: Mapping[str, Callable[[str, str], Delay]] = {
    "constant": lambda option, text: Constant(seconds_of(option, text)),
    "uniform": _uniform,
    "exponential": lambda option, text: Exponential(seconds_of(option, text)),
    "lognormal": _lognormal,
}
_EXAMPLES = {
    "constant": "20ms",
    "uniform": "10ms-30ms",
    "exponential": "20ms",
    "lognormal": "20ms",
}


def _with_unit(option: str, text: str, units: Mapping[str, float], what: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([A-Za-z]+)", text.strip())
    if found is None or found[2] not in units:
        raise PlanError(f"`{option}` must be {what}, got {text!r}.")
    return float(found[1]) * units[found[2]]
