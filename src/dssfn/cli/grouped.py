"""Several options that a command takes as one value.

How this works. Typer makes options of a function's parameters and knows no groups of
them. So a command has one parameter for the group, and `grouped` puts the options in
its place before typer looks.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def grouped(
    command: Callable[..., None],
    name: str,
    make: Callable[..., Any],
    *,
    checked: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Callable[..., None]:
    """Give a command the options that are another function's parameters.

    Parameters
    ----------
    command : callable
        A function with a parameter of that name.
    name : str
        The parameter whose place the options take.
    make : callable
        Returns the value of this parameter from the options; each has a default.
    checked : callable
        Returns a context in which the options are checked.

    Examples
    --------
    >>> def size(width: int = 1, height: int = 1) -> int:
    ...     return width * height
    >>> def show(title: str, area: int = 1, json: bool = False) -> None:
    ...     print(title, area)
    >>> ", ".join(inspect.signature(grouped(show, "area", size)).parameters)
    'title, width, height, json'
    >>> grouped(show, "area", size)(title="area:", width=3, height=2)
    area: 6
    """
    shown = inspect.signature(command, eval_str=True)
    options = inspect.signature(make, eval_str=True).parameters

    @functools.wraps(command)
    def run(**given: Any) -> None:
        said = {key: given.pop(key, one.default) for key, one in options.items()}
        with checked():
            value = make(**said)
        command(**given, **{name: value})

    parameters: list[inspect.Parameter] = []
    for one in shown.parameters.values():
        parameters += options.values() if one.name == name else [one]
    run.__signature__ = shown.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run
