"""The plan that all nodes agree on before training."""

from dssfn.config.limits import (
    AUTO,
    BALANCED,
    FEWEST_FOLDS,
    FOLDS,
    LONGEST_NAME,
    MOST_CLASSES,
    MOST_EXACT_BIAS,
    MOST_EXACT_WIDTH,
    MOST_FEATURES,
    MOST_LAYERS,
    MOST_MEMBERS,
    MOST_WIDTH,
    PRECISIONS,
    SCALES,
    SHORTEST_SIDE,
    SIZES,
    UNITS,
)
from dssfn.config.memory import bytes_of
from dssfn.config.plan import Plan
from dssfn.config.private import n_honest
from dssfn.config.single import check_seed

__all__ = [
    "AUTO",
    "BALANCED",
    "FEWEST_FOLDS",
    "FOLDS",
    "LONGEST_NAME",
    "MOST_CLASSES",
    "MOST_EXACT_BIAS",
    "MOST_EXACT_WIDTH",
    "MOST_FEATURES",
    "MOST_LAYERS",
    "MOST_MEMBERS",
    "MOST_WIDTH",
    "PRECISIONS",
    "SCALES",
    "SHORTEST_SIDE",
    "SIZES",
    "UNITS",
    "Plan",
    "bytes_of",
    "check_seed",
    "n_honest",
]
