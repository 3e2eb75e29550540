"""The models that are compared: ours with their defaults, and the usual ones.

Those that need inputs of one scale are given scikit-learn's StandardScaler. Only SVC is
tuned, by cross-validation over its C. A model is made by its name and a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from dssfn import DSSFNClassifier, SSFNClassifier

Model = Any
Models = Mapping[str, Callable[[int], Model]]
"""How to make a model from a seed, by the name of the model."""

SSFN, DSSFN, FOREST, LOGISTIC = "ssfn", "dssfn", "forest", "logistic"
INTEGER, DENSE = "integer", "dense"
N_NODES = 10

LABELS = {
    SSFN: "SSFN",
    DSSFN: f"dSSFN, {N_NODES} nodes",
    "boosting": "boosting",
    FOREST: "forest",
    "svc": "SVC",
    "mlp": "MLP",
    LOGISTIC: "logistic",
    "ridge": "ridge",
    INTEGER: "SSFN, integer units",
    DENSE: "SSFN, dense units",
}

CLASSIFIERS_ARE = (
    "SSFN and dSSFN with their defaults. Boosting and forest: scikit-learn's "
    "HistGradientBoosting and RandomForest with theirs; SVC: C of 0.1, 1, 10 or 100 by "
    "cross-validation in five parts; MLP: at most 500 epochs; logistic: "
    "LogisticRegression, at most 2,000 iterations. The last three are given "
    "standardised inputs."
)
REGRESSORS_ARE = (
    "SSFN, boosting and forest with their defaults; MLP: at most 500 epochs; ridge: "
    "RidgeCV. The last two are given standardised inputs."
)


def _svc(seed: int) -> Model:
    svc = make_pipeline(StandardScaler(), SVC(random_state=seed))
    return GridSearchCV(svc, {"svc__C": [0.1, 1, 10, 100]}, cv=5)


def _ssfn_regressor(seed: int) -> Model:
    from dssfn import SSFNRegressor

    return SSFNRegressor(random_state=seed)


def _logistic(seed: int, **options: Any) -> Model:
    model = LogisticRegression(max_iter=2000, random_state=seed, **options)
    return make_pipeline(StandardScaler(), model)


CLASSIFIERS: Models = {
    SSFN: lambda seed: SSFNClassifier(random_state=seed),
    DSSFN: lambda seed: DSSFNClassifier(n_nodes=N_NODES, random_state=seed),
    "boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    FOREST: lambda seed: RandomForestClassifier(random_state=seed),
    "svc": _svc,
    "mlp": lambda seed: make_pipeline(
        StandardScaler(), MLPClassifier(max_iter=500, random_state=seed)
    ),
    LOGISTIC: _logistic,
}

REGRESSORS: Models = {
    SSFN: _ssfn_regressor,
    "boosting": lambda seed: HistGradientBoostingRegressor(random_state=seed),
    FOREST: lambda seed: RandomForestRegressor(random_state=seed),
    "mlp": lambda seed: make_pipeline(
        StandardScaler(), MLPRegressor(max_iter=500, random_state=seed)
    ),
    "ridge": lambda seed: make_pipeline(StandardScaler(), RidgeCV()),
}

UNITS: Models = {
    INTEGER: lambda seed: SSFNClassifier(units=INTEGER, random_state=seed),
    DENSE: lambda seed: SSFNClassifier(units=DENSE, random_state=seed),
}

BALANCED: Models = {
    SSFN: lambda seed: SSFNClassifier(class_weight="balanced", random_state=seed),
    LOGISTIC: lambda seed: _logistic(seed, class_weight="balanced"),
}
