"""The rules of a plan with a budget of differential privacy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dssfn.config.limits import AUTO
from dssfn.config.single import is_number
from dssfn.errors import PlanError
from dssfn.hints import listing

if TYPE_CHECKING:
    from dssfn.config.plan import Plan

_WHY = "with `epsilon` the whole budget is spent on one hidden layer"


def check_private(plan: Plan) -> None:
    """Refuse settings that a private training does not have."""
    if plan.is_regression:
        raise PlanError(
            "`epsilon` works only for classes, as a regression's targets have no "
            "bound. Leave `epsilon` out, or predict ranges of the number as classes."
        )
    only: dict[str, tuple[Any, ...]] = {
        "n_layers": (1,),
        "members": (1,),
        "ridge": (AUTO,),
        "scale": (AUTO, "columns"),
        "size": (AUTO,),
        "folds": ("rows",),
        "publish_scores": (False,),
        "class_weight": (None,),
        "image_shape": (None,),
    }
    for name, allowed in only.items():
        if getattr(plan, name) not in allowed:
            raise PlanError(
                f"`{name}` must be {allowed[0]!r} or left out, as {_WHY}; got "
                f"{getattr(plan, name)!r}."
            )
    if not plan.is_exact:
        raise PlanError(
            "`epsilon` needs integers, to which exact noise can be added, and those "
            f"need {plan.why_not_exact or '`units` other than dense'}."
        )
    if plan.schema is None:
        _check_ranges(plan)
    else:
        _check_columns(plan)


def n_honest(plan: Plan, n_nodes: int) -> int:
    """Return how many nodes' noise protects: that of all who do not collude.

    A node alone has nobody who could collude: no other adds noise, and none sees more
    than the finished model.
    """
    if n_nodes == 1:
        return 1
    if plan.colluders >= n_nodes:
        raise PlanError(
            f"`colluders` must be fewer than the {n_nodes} nodes, as only the noise of "
            f"the others protects, got {plan.colluders}."
        )
    return n_nodes - plan.colluders


def _check_ranges(plan: Plan) -> None:
    wanted = (
        "`input_low` and `input_high` must be the range of the inputs with `epsilon`, "
        "one number for all inputs or one for each, known beforehand and not taken "
        "from the data"
    )
    ends = []
    for name in ("input_low", "input_high"):
        end = getattr(plan, name)
        if end is None:
            raise PlanError(f"{wanted}; `{name}` is missing.")
        each = end if isinstance(end, tuple) else (end,)
        if not all(map(is_number, each)) or (
            isinstance(end, tuple) and len(end) != plan.n_features
        ):
            raise PlanError(f"{wanted}, got {end!r} for {plan.n_features} inputs.")
        ends.append(each * plan.n_features if len(each) == 1 else each)
    for low, high in zip(*ends, strict=True):
        if low >= high or math.isinf(high - low):
            raise PlanError(f"{wanted}; {low:g} must be below {high:g}.")


def _check_columns(plan: Plan) -> None:
    assert plan.schema is not None
    if plan.input_low is not None or plan.input_high is not None:
        raise PlanError(
            "`input_low` and `input_high` are for data without a schema; write `low` "
            "and `high` of every number column into the schema."
        )
    unknown = [
        column.name
        for column in plan.schema.used
        if column.kind == "number" and column.low is None
    ]
    if unknown:
        raise PlanError(
            "`epsilon` needs the range of every number column, known beforehand and "
            "not taken from the data: write `low` and `high` into the schema for "
            f"{listing(unknown)}."
        )
