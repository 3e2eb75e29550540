"""
A network that finds its size
=============================

How many layers? How many units? How much regularisation? Usually one searches a grid,
which takes many trainings, and many rounds of messages between nodes. Here one training
finds all three, from sums that the nodes agree on anyway.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import dssfn

# %%
# Two half moons that overlap: 200 points to learn from, 1000 to test on. No method can
# be right about all of them.

X, y = make_moons(1200, noise=0.3, random_state=0)
X, X_test, y, y_test = X[:200], X[200:], y[:200], y[200:]

# %%
# Found by validation
# -------------------
#
# The network is an ensemble of several members. Each member leaves out some samples,
# and is judged on those. Layer after layer is added, its ridge (how strongly a layer is
# pulled towards the previous one) chosen for the smallest error on samples that were
# left out, until a new layer no longer helps.

found = dssfn.SSFNClassifier(random_state=0).fit(X, y)
print(f"hidden layers: {found.n_layers_}")
print(f"random units in each: {found.width_}")
print(f"members: {found.members_}")
for record in found.history_:
    ridge = "kept as it was" if record.ridge is None else f"ridge {record.ridge:.2g}"
    width = f"{record.width} units" if record.width else "no hidden units"
    print(
        f"layer {record.layer}: {width}, {ridge}, "
        f"validation error {record.validation_error_db:.2f} dB"
    )

# %%
# Widths and scales of the inputs that were tried in the first hidden layer:

for tried in found.history_[1].tried:
    print(f"scale {tried.scale}, {tried.width} units: {tried.error_db:.2f} dB")

ax = dssfn.plot.history(found)

# %%
# A fixed size
# ------------
#
# The paper's network has 20 layers of 1000 random units each, whatever the data. That
# is right for tens of thousands of samples. Here it has room to learn the noise, too:
# its training error falls and falls.

fixed = dssfn.SSFNClassifier(preset="paper", random_state=0).fit(X, y)
ax = dssfn.plot.history(fixed)

# %%
# The map that each of them draws of the plane, from certainly one class to certainly
# the other:

grid = np.linspace(-2, 3, 50), np.linspace(-1.6, 2.1, 37)
plane = np.column_stack([axis.ravel() for axis in np.meshgrid(*grid)])
models = {"found size": found, "20 x 1000": fixed}
right = {
    name: (model.score(X, y), model.score(X_test, y_test))
    for name, model in models.items()
}
figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
axes[0].set_ylabel("second feature")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    shades = model.predict_proba(plane)[:, 1].reshape(37, 50)
    ax.contourf(*grid, shades, levels=np.linspace(0, 1, 11), cmap="RdBu", alpha=0.8)
    for label, mark in enumerate("os"):
        ax.scatter(
            *X[y == label].T, marker=mark, s=18, edgecolor="black", linewidth=0.5,
            color=("#b2182b", "#2166ac")[label],
        )  # fmt: skip
    training, test = right[name]
    ax.set_title(f"{name}: {training:.1%} of training, {test:.1%} of test points")
    ax.set(xlabel="first feature")

# %%
# In short
# --------

for name, (training, test) in right.items():
    print(
        f"{name:>10}: {test:.1%} right on test points, "
        f"{100 * (training - test):.1f} points less than on training points"
    )

# %%
# The fixed network is not wrong; it is the subject of the paper, and
# ``preset="paper"`` keeps it available. With few or noisy samples, let the network
# find its size.
