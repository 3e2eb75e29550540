"""
Predicting numbers, and how sure they are
=========================================

``DSSFNRegressor`` predicts numbers instead of classes. Its members also say how much
they disagree, which is one part, and only one, of how uncertain a prediction is.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_score, train_test_split

import dssfn

# %%
# Measurements of diabetes patients, and how far the disease had progressed a year
# later. Six nodes hold the patients between them.

X, y = load_diabetes(return_X_y=True)
print(f"{len(X)} patients, {X.shape[1]} measurements of each")
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
model = dssfn.DSSFNRegressor(n_nodes=6, random_state=0).fit(X, y)
ax = dssfn.plot.history(model)

# %%
# Predictions and their spread
# ----------------------------
#
# ``return_std=True`` also returns the standard deviation over the members of the
# ensemble: how much a prediction depends on which patients were there to learn from.

predicted, spread = model.predict(X_test, return_std=True)
figure, ax = plt.subplots(figsize=(5.2, 5), layout="constrained")
ax.errorbar(
    y_test, predicted, yerr=2 * spread, fmt="o", markersize=4, linewidth=1,
    color="#0072B2", ecolor="#56B4E9",
)  # fmt: skip
ends = [min(y_test.min(), predicted.min()), max(y_test.max(), predicted.max())]
ax.plot(ends, ends, "--", color="gray", linewidth=1)
ax.set(xlabel="true progression", ylabel="predicted, with two standard deviations")
ax.set_aspect("equal")

# %%
# The bars are short, and most points lie outside of them. That is no mistake. The
# spread says how well the *model* is known. How much patients differ for reasons that
# these measurements do not show comes on top, and here it is most of the error:

error = np.sqrt(np.mean((predicted - y_test) ** 2))
inside = np.mean(np.abs(predicted - y_test) < 2 * spread)
print(f"typical error (root mean square): {error:.0f}")
print(f"typical spread between members: {spread.mean():.0f}")
print(f"true values within two standard deviations: {inside:.0%}")

# %%
# So do not take the spread for an interval of prediction. Take it to see where the
# model is on thin ice: it grows where there were few patients like this one.

centre = X.mean(axis=0)
distances = np.linspace(0, 8, 30)
directions = X_test - centre
typical = np.linalg.norm(directions, axis=1).mean()
away = [
    model.predict(
        centre + distance * typical * directions
        / np.linalg.norm(directions, axis=1, keepdims=True),
        return_std=True,
    )[1].mean()
    for distance in distances
]  # fmt: skip
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.plot(distances, away, color="#0072B2", linewidth=2)
ax.axvline(1, color="gray", linestyle=":", label="a typical patient")
ax.set(
    xlabel="distance from the mean patient, in typical distances",
    ylabel="mean spread between members",
    ylim=(0, None),
)
legend = ax.legend(frameon=False, loc="lower right")

# %%
# Beside others
# -------------
#
# Five-fold cross-validation, the same folds for all. R2 is 1 for perfect predictions
# and 0 for always predicting the mean.

X, y = load_diabetes(return_X_y=True)
folds = KFold(5, shuffle=True, random_state=0)
others = {
    "dssfn, six nodes": dssfn.DSSFNRegressor(n_nodes=6, random_state=0),
    "ridge regression": RidgeCV(np.logspace(-4, 2, 25)),
    "gradient boosting": HistGradientBoostingRegressor(random_state=0),
}
scores = {name: cross_val_score(one, X, y, cv=folds) for name, one in others.items()}
for name, found in scores.items():
    print(
        f"{name:<18} R2 {found.mean():.3f}, "
        f"folds from {found.min():.3f} to {found.max():.3f}"
    )

figure, ax = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
for row, found in enumerate(scores.values()):
    ax.plot(found, np.full(len(found), -row), "o", color="#56B4E9", markersize=6)
    ax.plot(found.mean(), -row, "D", color="#D55E00", markersize=8)
ax.set_yticks([-row for row in range(len(scores))], list(scores))
ax.set_ylim(0.5 - len(scores), 0.5)
ax.set(xlabel="R2 of each fold (circles) and their mean (diamonds)")
ax.grid(axis="x", alpha=0.4)

# %%
# This is a small set with a nearly linear law, so ridge regression is hard to beat on
# it; dssfn and ridge are closer to each other than one fold is to the next. The point
# is that nothing is lost although no node sees another's patients. On targets with
# sharp peaks trees can be far ahead: see the page on accuracy.
