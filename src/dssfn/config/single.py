"""The rules that every setting of a plan keeps by itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dssfn.config.limits import (
    AUTO,
    FOLDS,
    MOST_FEATURES,
    PRECISIONS,
    SCALES,
    SIZES,
    UNITS,
)
from dssfn.errors import PlanError
from dssfn.hints import unknown
from dssfn.registry import AVERAGING, SOLVERS

if TYPE_CHECKING:
    from dssfn.config.plan import Plan

_POSITIVE = (
    "alpha",
    "gain",
    "tol",
    "mu_input",
    "mu_hidden",
    "latency",
    "bandwidth",
    "accuracy",
    "relaxation",
    "residual_tol",
    "epsilon",
    "delta",
)
_MAY_BE_NONE = ("mu_input", "mu_hidden", "residual_tol", "epsilon")
_LEAST = {
    "n_features": 1,
    "n_layers": 0,
    "width": 1,
    "members": 1,
    "n_iter": 1,
    "seed": 0,
    "colluders": 1,
}
_MAY_BE_AUTO = ("n_layers", "width", "members")
_LEAST_IF_GIVEN = {"n_rounds": 1, "patience_input": 0, "patience_hidden": 0}
_MOST = {
    "n_features": MOST_FEATURES,
    "n_layers": 10**4,
    "width": 10**5,
    "members": 100,
    "n_iter": 10**7,
    "n_rounds": 10**7,
    "patience_input": 10**9,
    "patience_hidden": 10**9,
    "seed": 2**63 - 1,
    "colluders": 10**4,
}


def check_each(plan: Plan) -> None:
    """Refuse a setting that is of another kind, too small or too large."""
    _check_sequences(plan)
    for name, least in _LEAST.items():
        if name not in _MAY_BE_AUTO or getattr(plan, name) != AUTO:
            _check_whole(name, getattr(plan, name), least)
    if plan.ridge != AUTO:
        _check_positive("ridge", plan.ridge)
    for name, least in _LEAST_IF_GIVEN.items():
        if getattr(plan, name) is not None:
            _check_whole(name, getattr(plan, name), least)
    for name in _POSITIVE:
        _check_positive(name, getattr(plan, name))
    _check_number("bias", plan.bias, least=0)
    if plan.tol >= 1:
        raise PlanError(f"`tol` must be below 1, got {plan.tol:g}.")
    if plan.relaxation >= 2:
        raise PlanError(f"`relaxation` must be below 2, got {plan.relaxation:g}.")
    if plan.epsilon is not None and not 0.1 <= plan.epsilon <= 1000:
        raise PlanError(
            f"`epsilon` must be from 0.1 to 1000, got {plan.epsilon:g}: with less, "
            "nothing can be learned; with more, nothing is protected."
        )
    if not 1e-15 <= plan.delta < 1:
        raise PlanError(
            f"`delta` is a probability, from 1e-15 to below 1, got {plan.delta:g}."
        )
    _check_choice("precision", plan.precision, PRECISIONS)
    _check_choice("solver", plan.solver, ("auto", *SOLVERS))
    _check_choice("consensus", plan.consensus, ("auto", *AVERAGING))
    _check_choice("scale", plan.scale, (AUTO, *SCALES))
    _check_choice("folds", plan.folds, FOLDS)
    _check_choice("size", plan.size, SIZES)
    _check_choice("units", plan.units, (AUTO, *UNITS))
    for name in ("standardize", "warm_start", "balance_mu", "publish_scores"):
        if not isinstance(getattr(plan, name), bool):
            raise PlanError(
                f"`{name}` must be true or false, got {getattr(plan, name)!r}."
            )


def check_seed(name: str, value: Any) -> None:
    """Refuse what is not a seed, under the name that the caller knows it by."""
    _check_range(name, value, _LEAST["seed"], _MOST["seed"])


def _check_sequences(plan: Plan) -> None:
    """Refuse single values where there must be several; text would be its letters."""
    for name, of in (
        ("classes", "labels"),
        ("targets", "names"),
        ("feature_names", "names"),
    ):
        value = getattr(plan, name)
        if isinstance(value, str):
            raise PlanError(f"`{name}` must be a sequence of {of}, got {value!r}.")
    shape = plan.image_shape
    if shape is not None and not isinstance(shape, tuple | list):
        raise PlanError(
            f"`image_shape` must be a tuple such as (28, 28), got {shape!r}."
        )


def _check_whole(name: str, value: Any, least: int) -> None:
    _check_range(name, value, least, _MOST[name])


def _check_range(name: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise PlanError(
            f"`{name}` must be a whole number of at least {least}, got {value!r}."
        )
    if value > most:
        raise PlanError(f"`{name}` must be at most {most}, got {value}.")


def _check_number(name: str, value: Any, *, least: float) -> None:
    if not is_number(value) or value < least:
        raise PlanError(
            f"`{name}` must be a number of at least {least:g}, got {value!r}."
        )


def _check_positive(name: str, value: Any) -> None:
    if value is None and name in _MAY_BE_NONE:
        return
    if not is_number(value) or value <= 0:
        raise PlanError(f"`{name}` must be a positive number, got {value!r}.")


def is_number(value: Any) -> bool:
    """Return whether a setting is a finite number, which true and false are not."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise PlanError(unknown(name, value, choices))
