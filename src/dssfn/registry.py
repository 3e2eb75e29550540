"""Names that a plan may hold, and what each of them stands for.

An implementation is imported when it is first used, so that looking at the names costs
nothing. To add one to dssfn, write its file and one line here; to add one from outside,
call `register`.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from dssfn.errors import PlanError
from dssfn.hints import unknown


class Registry:
    """Implementations by name.

    Parameters
    ----------
    setting : str
        The field of the plan that holds such a name.
    known : dict
        Where the implementation of every name is, as "module:object".

    Examples
    --------
    >>> from fractions import Fraction
    >>> numbers = Registry("kind", {"decimal": "decimal:Decimal"})
    >>> numbers.register("fraction", Fraction)
    >>> list(numbers), numbers["decimal"]("1.5")
    (['decimal', 'fraction'], Decimal('1.5'))
    """

    def __init__(self, setting: str, known: dict[str, str]) -> None:
        self._setting = setting
        self._known: dict[str, Any] = dict(known)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._known

    def __getitem__(self, name: str) -> Any:
        if name not in self._known:
            raise PlanError(unknown(self._setting, name, ["auto", *self]))
        found = self._known[name]
        if isinstance(found, str):
            module, _, attribute = found.partition(":")
            found = self._known[name] = getattr(import_module(module), attribute)
        return found

    def register(self, name: str, implementation: Any) -> None:
        """Add an implementation from outside; names that are taken are refused."""
        if name in self._known or name == "auto":
            raise PlanError(f"`{self._setting}`: the name {name!r} is already taken.")
        self._known[name] = implementation


SOLVERS = Registry(
    "solver",
    {
        "gram": "dssfn.solvers.gram:Gram",
        "krylov": "dssfn.solvers.krylov:Krylov",
        "admm": "dssfn.solvers.admm:Admm",
        "relaxed": "dssfn.solvers.relaxed:Relaxed",
    },
)
"""Ways to solve a layer over the network: each a `dssfn.solvers.Solver`."""

AVERAGING = Registry(
    "consensus",
    {
        "gossip": "dssfn.consensus.polynomial:gossip",
        "chebyshev": "dssfn.consensus.polynomial:chebyshev",
        "exact": "dssfn.consensus.polynomial:exact_if_accurate",
        "tree": "dssfn.consensus.tree:tree",
    },
)
"""Ways to average: each a function of a graph and a wanted accuracy that returns a
`dssfn.consensus.Averaging`, or None where it cannot be that accurate."""

PARTIES = Registry(
    "scheme",
    {
        "gossip": "dssfn.consensus.resending:gossip",
        "chebyshev": "dssfn.consensus.resending:chebyshev",
        "exact": "dssfn.consensus.resending:exact",
        "tree": "dssfn.consensus.resending:tree",
        "push-sum": "dssfn.consensus.push_sum:push_sum",
    },
)
"""Ways to average over links that lose letters: each a function of a graph and a wanted
accuracy that returns a `dssfn.parties.PartyScheme`."""
