"""Named settings: those of the paper, and the defaults of this package."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from dssfn.config import AUTO, Plan
from dssfn.errors import PlanError
from dssfn.hints import unknown

SIZES = ("n_layers", "width", "members")

# One network of fixed size, raw inputs, K = 100 ADMM iterations, gossip.
_PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "n_layers": 20,
        "width": 1000,
        "members": 1,
        "standardize": False,
        "bias": 0.0,
        "gain": 1.0,
        "units": "dense",
        "alpha": 2.0,
        "solver": "admm",
        "consensus": "gossip",
        "tol": 1e-10,
    }
)
_DEFAULTS = {field.name: field.default for field in msgspec.structs.fields(Plan)}

PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        # The size is found by validation, inputs are scaled by agreed means, and layers
        # are solved exactly.
        "default": MappingProxyType({name: _DEFAULTS[name] for name in _PAPER}),
        "paper": _PAPER,
    }
)

# (mu_0, mu_l) of the paper's Table II: centralised, and on 20 nodes.
PAPER_MU: Mapping[str, tuple[tuple[float, float], tuple[float, float]]] = (
    MappingProxyType(
        {
            "vowel": ((1e-3, 1e0), (1e-3, 1e1)),
            "satimage": ((1e-6, 1e1), (1e-4, 1e-1)),
            "caltech101": ((1e1, 1e0), (1e-1, 1e0)),
            "letter": ((1e-4, 1e1), (1e-6, 1e0)),
            "norb": ((1e-1, 1e-1), (1e-2, 1e0)),
            "mnist": ((1e-4, 1e-1), (1e-5, 1e0)),
        }
    )
)


def resolve(preset: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings, those left open (None or "auto") as the preset has them.

    >>> resolve("paper", {"gain": 3.0, "solver": "auto"})["solver"]
    'admm'
    """
    if not isinstance(preset, str) or preset not in PRESETS:
        raise PlanError(unknown("preset", preset, PRESETS))
    preset_values = dict(PRESETS[preset])
    for name in SIZES:
        if _is_auto(given.get(name)) and preset_values[name] != AUTO:
            raise PlanError(
                f"`{name}` must be a number with the preset {preset}, whose network is "
                f'of fixed size, got "auto". Leave it out for {preset_values[name]}.'
            )
    if preset_values["members"] == 1 and given.get("members") not in (None, 1):
        raise PlanError(
            f"`members` must be 1 with the preset {preset}, got {given['members']}. "
            "Leave it or the preset out."
        )
    if preset_values["members"] == 1 and given.get("size") not in (None, AUTO):
        raise PlanError(
            f"`size` = {given['size']!r} finds a size, but that of the preset {preset} "
            "is fixed. Leave one of them out."
        )
    if given.get("solver") not in (None, "auto", preset_values["solver"]):
        preset_values["consensus"] = "auto"  # the preset's is meant for its own solver
    left_open = {
        name: value
        for name, value in preset_values.items()
        if given.get(name) is None or _is_auto(given[name])
    }
    return {**given, **left_open}


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == AUTO


def paper_mu(dataset: str, n_nodes: int) -> tuple[float, float] | None:
    """Return (mu_0, mu_l) of a data set in the paper, or None if it has no such row."""
    row = PAPER_MU.get(dataset)
    return row and row[n_nodes > 1]
