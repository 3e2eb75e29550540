"""The experiments that `dssfn reproduce` and the page know, by name.

Another one is added here, or from outside with `register`.
"""

from __future__ import annotations

from dssfn.errors import PlanError
from dssfn.experiments import (
    communication,
    comparison,
    convergence,
    degree,
    imperfect,
    satimage,
    table2,
)
from dssfn.report.evidence.experiment import Experiment

ALL = "all"
"""The name of all experiments together in `dssfn reproduce`."""

EXPERIMENTS: dict[str, Experiment] = {}
"""Experiments by name, in the order of their sections on the page."""


def register(experiment: Experiment) -> None:
    """Let `dssfn reproduce` and the page know an experiment.

    Parameters
    ----------
    experiment : Experiment
        The experiment, with a name that no other has.
    """
    if experiment.name in {*EXPERIMENTS, ALL}:
        raise PlanError(
            "`name` must be that of no other experiment, got "
            f"{experiment.name!r}. Choose another name."
        )
    EXPERIMENTS[experiment.name] = experiment


for _module in (
    table2,
    satimage,
    convergence,
    degree,
    communication,
    comparison,
    imperfect,
):
    register(_module.EXPERIMENT)
