"""Tables with gaps and categories, real ones and others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from tests.support.trainings import DATA

HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")


def hospitals():
    """All patients, as they are in the files of four hospitals; skips without them."""
    if not (DATA / "heart").is_dir():
        pytest.skip("the hospitals' files are not in the data folder (DSSFN_DATA_DIR)")
    files = [pd.read_csv(DATA / "heart" / f"{name}.csv") for name in HOSPITALS]
    frame = pd.concat(files, ignore_index=True)
    for name in ("sex", "cp", "fbs", "restecg", "exang", "slope", "ca", "thal"):
        frame[name] = frame[name].astype("category")
    return frame


def with_gaps(X, seed=0):
    """Numbers as a table: the first is in five ranges, and a tenth is missing."""
    frame = pd.DataFrame(X, columns=[f"feature {k}" for k in range(X.shape[1])])
    ranges = ["lowest", "low", "middle", "high", "highest"]
    frame["feature 0"] = pd.qcut(
        frame["feature 0"].rank(method="first"), 5, labels=ranges
    )
    return frame.mask(np.random.default_rng(seed).random(X.shape) < 0.1)


def named_table(name):
    """A table and what is to be predicted, by the name of a set."""
    if name == "heart":
        frame = hospitals()
        return frame.drop(columns="num"), np.where(frame["num"] > 0, "sick", "healthy")
    if name == "heart rate":
        frame = hospitals().dropna(subset="thalach")
        return frame.drop(columns=["num", "thalach"]), frame["thalach"].to_numpy()
    if hasattr(datasets, f"load_{name}"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        return with_gaps(X), y
    path = DATA / f"{name}.npz"
    if not path.is_file():
        pytest.skip(f"{name}.npz is not in the data folder (DSSFN_DATA_DIR)")
    with np.load(path) as data:
        return with_gaps(data["X_train"].astype(float)), data["y_train"]
