"""The rules that settings of a plan keep together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dssfn.config.limits import (
    AUTO,
    BALANCED,
    LONGEST_NAME,
    MOST_CLASSES,
    SHORTEST_SIDE,
)
from dssfn.config.private import check_private
from dssfn.config.single import is_number
from dssfn.errors import PlanError
from dssfn.hints import listing

if TYPE_CHECKING:
    from dssfn.config.plan import Plan


def check_together(plan: Plan) -> None:
    """Refuse settings that make no sense beside others."""
    _check_schema(plan)
    _check_names(plan)
    _check_class_weight(plan)
    _check_image(plan)
    if plan.is_private:
        check_private(plan)
    elif plan.finds_size:
        _check_found_size(plan)
    else:
        _check_fixed_size(plan)
    if plan.units == "integer" and plan.why_not_exact:
        raise PlanError(
            f"`units`: integers need {plan.why_not_exact}. Change it, or leave "
            "`units` out."
        )


def _check_found_size(plan: Plan) -> None:
    """Refuse settings that mean something for a network of fixed size only."""
    way = "give `n_layers`, `width` and `members = 1`"
    if plan.size == "ssfn" and plan.members not in (AUTO, 1):
        raise PlanError(
            "`size`: ssfn grows one network, so `members` must be left out, got "
            f"{plan.members}."
        )
    if plan.size == "ssfn":
        _check_validated(plan, "`size`: ssfn leaves no samples out for validation")
    if plan.scale != AUTO and not plan.standardize:
        raise PlanError(
            f"`scale` = {plan.scale!r} needs standardised inputs; leave it out with "
            "`standardize = false`."
        )
    if plan.solver not in (AUTO, "gram"):
        raise PlanError(
            f"`solver`: {plan.solver} solves layers of a fixed size; a network that "
            f"chooses its own size needs gram. Leave `solver` out, or {way}."
        )
    if plan.consensus not in (AUTO, "tree") or plan.n_rounds is not None:
        came = "n_rounds" if plan.n_rounds is not None else plan.consensus
        raise PlanError(
            "`consensus`: a network that chooses its own size needs averages that are "
            f"equal to the last bit on all nodes, as with tree, but not with {came}. "
            f"Leave it out, or {way}."
        )
    if plan.precision != "float64":
        raise PlanError(
            "`precision`: a network that chooses its own size needs float64, got "
            f"{plan.precision}. Leave it out, or {way}."
        )


def _check_fixed_size(plan: Plan) -> None:
    """Refuse settings that need validation samples, which one network has not."""
    if plan.open_sizes:
        raise PlanError(
            f"`{plan.open_sizes[0]}` must be a number with `members = 1`, which "
            'leaves no samples out to choose it by validation, got "auto". Give more '
            'members, a number, or `size = "ssfn"`.'
        )
    if plan.ridge != AUTO:
        raise PlanError(
            f"`ridge` = {plan.ridge!r} needs `members` of at least 2: one network "
            "of fixed size has none."
        )
    if plan.scale not in (AUTO, "columns"):
        raise PlanError(
            f"`scale` = {plan.scale!r} needs `members` of at least 2: one network "
            "of fixed size divides every column by its standard deviation."
        )
    _check_validated(plan, "one network of fixed size leaves no samples out")


def _check_validated(plan: Plan, why: str) -> None:
    """Refuse settings about samples that members leave out."""
    for name, only in (("folds", "rows"), ("publish_scores", False)):
        if getattr(plan, name) != only:
            raise PlanError(
                f"`{name}` = {getattr(plan, name)!r} needs `members` of at least "
                f"2; {why}."
            )


def _check_image(plan: Plan) -> None:
    shape = plan.image_shape
    if shape is None:
        return
    wanted = (
        "`image_shape` must be the height and width of the images, and the number of "
        "channels if there are several"
    )
    if len(shape) not in (2, 3) or not all(
        isinstance(side, int) and not isinstance(side, bool) and side > 0
        for side in shape
    ):
        raise PlanError(f"{wanted}, got {list(shape)}.")
    if math.prod(shape) != plan.n_features:
        raise PlanError(
            f"{wanted}: {math.prod(shape)} numbers, but there are "
            f"{plan.n_features} features; got {list(shape)}."
        )
    if min(shape[:2]) < SHORTEST_SIDE:
        raise PlanError(
            f"`image_shape` must have sides of at least {SHORTEST_SIDE} pixels, "
            f"got {list(shape)}."
        )
    if not plan.finds_size:
        raise PlanError(
            "`image_shape` needs `members` of at least 2: a single network of fixed "
            "size is the paper's, which ignores it."
        )
    if plan.scale == "columns":
        raise PlanError(
            "`scale`: pixels share a scale, so with `image_shape` it must be "
            "common, or left out; got columns."
        )
    if not plan.is_exact:
        raise PlanError(
            "`image_shape` needs integer units, which need "
            f"{plan.why_not_exact or '`units` other than dense'}."
        )


def _check_class_weight(plan: Plan) -> None:
    given = plan.class_weight
    if given is None or (given == BALANCED and plan.classes):
        return
    if not isinstance(given, tuple | list) or not plan.classes:
        raise PlanError(
            f'`class_weight` must be "{BALANCED}" or one weight for each class, '
            f"got {given!r}{'' if plan.classes else ' for a regression'}."
        )
    if len(given) != len(plan.classes) or not all(
        is_number(weight) and weight > 0 for weight in given
    ):
        raise PlanError(
            f"`class_weight` must be a positive number for each of the "
            f"{len(plan.classes)} classes, got {list(given)}."
        )


def _check_names(plan: Plan) -> None:
    if plan.targets and plan.classes:
        raise PlanError("`targets` are for a regression, which has no `classes`.")
    if plan.targets and len(set(plan.targets)) == len(plan.targets):
        return _check_feature_names(plan)
    if len(plan.classes) < 2:
        raise PlanError(
            f"`classes` must name at least two classes, got {list(plan.classes)}."
        )
    if len(plan.classes) > MOST_CLASSES:
        raise PlanError(
            f"`classes` must be at most {MOST_CLASSES}, got {len(plan.classes)}."
        )
    if len(set(plan.classes)) < len(plan.classes):
        raise PlanError(f"`classes` must be different, got {list(plan.classes)}.")
    _check_feature_names(plan)


def _check_feature_names(plan: Plan) -> None:
    names = plan.feature_names
    for field, some in (("classes", plan.classes), ("feature_names", names or ())):
        longest = max((len(one) for one in some if isinstance(one, str)), default=0)
        if longest > LONGEST_NAME:
            raise PlanError(
                f"`{field}` must have at most {LONGEST_NAME} characters each, got one "
                f"with {longest}."
            )
    if names is not None and len(names) != plan.n_features:
        raise PlanError(
            f"`feature_names` must name all {plan.n_features} features, "
            f"got {len(names)} names."
        )


def _check_schema(plan: Plan) -> None:
    if plan.schema is None:
        return
    for name, wanted in plan.schema.settings().items():
        if getattr(plan, name) != wanted:
            raise PlanError(
                f"`{name}` must be as in the schema, {_shown(wanted)}, got "
                f"{_shown(getattr(plan, name))}. Leave it out."
            )


def _shown(value: Any) -> str:
    """Return a setting for a message, shortened."""
    return listing(list(map(str, value))) if isinstance(value, tuple) else repr(value)
