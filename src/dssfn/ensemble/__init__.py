"""Networks that find their own size: members that are validated against each other."""

from __future__ import annotations

from dssfn.ensemble.model import Ensemble
from dssfn.ensemble.program import grow_ensemble
from dssfn.ensemble.stages import (
    check_stages,
    ensemble_of,
    is_complete,
    largest_found,
    scores_of,
)
from dssfn.ensemble.validation import AgreedScores, measure_of

__all__ = [
    "AgreedScores",
    "Ensemble",
    "check_stages",
    "ensemble_of",
    "grow_ensemble",
    "is_complete",
    "largest_found",
    "measure_of",
    "scores_of",
]
