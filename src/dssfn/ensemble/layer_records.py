"""The record of a layer that nodes have agreed on: its errors, and what was chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from dssfn._typing import Array
from dssfn.config import Plan
from dssfn.ensemble.basis import Basis
from dssfn.ensemble.choices import Rules
from dssfn.ensemble.stages import scale_names, width_of
from dssfn.progress import Progress, Stage
from dssfn.records import LayerRecord, Tried, decibel, record_of, share


def layer_record(
    plan: Plan,
    basis: Basis,
    rules: Rules,
    progress: Progress,
    layer: int,
    tally: Array,
    number: int,
) -> LayerRecord:
    """Return the record of a layer.

    Parameters
    ----------
    plan, basis, rules : Plan, Basis, Rules
        What the training goes by.
    progress : Progress
        The layers that are solved.
    layer : int
        The number of the layer.
    tally : ndarray
        Its sums over all nodes, as a track counts them.
    number : int
        The number of the input scale among those that were tried.
    """
    of_zero, validated = tally[4:].tolist()
    stage = progress.layers[layer]
    error, correct, choice = stage["validation"][number].tolist()
    ridge, afresh = rules.pulls(layer)[int(choice)]
    is_one = basis.n_members == 1
    is_validated = validated > 0 and not is_one
    has_classes = not plan.is_regression
    has_accuracy = is_validated and has_classes
    found: dict[str, Any] = {
        "width": width_of(stage["O"]) if layer else None,
        "ridge": ridge if np.isfinite(ridge) else None,
        "afresh": afresh,
        "validation_error_db": decibel(error, of_zero) if is_validated else None,
        "validation_accuracy": share(correct, validated) if has_accuracy else None,
        "tried": _tried(plan, stage, float(tally[1]) if is_one else of_zero),
    }
    if layer == 0:
        found["unvalidated"], found["unaware"] = map(int, stage["gaps"])
    n_averagings = progress.iterations[layer]
    return record_of(layer, tally[:4], n_averagings, has_classes=has_classes, **found)


def _tried(plan: Plan, stage: Stage, of: float) -> tuple[Tried, ...]:
    """Return what was tried in a layer, if there was a choice."""
    tries = stage.get("tries", np.empty((0, 3)))
    names = scale_names(plan)
    return tuple(
        Tried(names[int(number)], int(width), decibel(error, of))
        for number, width, error in (tries if len(tries) > 1 else ())
    )
