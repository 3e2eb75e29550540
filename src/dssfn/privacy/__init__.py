"""Differential privacy: sums that hardly depend on any single row.

How this works. Every node adds noise to its sums before they are masked, so that nobody
sees less than the noise of all nodes together. It is drawn from the discrete Gaussian,
as wide as one row can change the totals, times a factor that follows from the budget
(epsilon, delta). All else is computed from those totals. There are three releases: the
moments by which inputs are scaled, the sums of the only hidden layer, and the training
errors.

Noise costs what it hides: the model is not that of one machine holding all the data,
and two trainings give two models.
"""

from dssfn.privacy.budget import RELEASES, Budget, budget_of
from dssfn.privacy.noise import NoiseSource, Release
from dssfn.privacy.program import (
    check_stages,
    is_complete,
    network_of,
    train_private,
)

__all__ = [
    "RELEASES",
    "Budget",
    "NoiseSource",
    "Release",
    "budget_of",
    "check_stages",
    "is_complete",
    "network_of",
    "train_private",
]
