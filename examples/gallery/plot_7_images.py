"""
Pictures
========

If the features are pixels, say so: with ``image_shape`` the units of the first layer
look at small patches of the picture instead of at all pixels at once.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import dssfn

# %%
# Handwritten digits of 8 x 8 pixels. We learn from half of them, so that some mistakes
# are left to look at.

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

print(f"{len(X)} digits to learn from, {len(X_test)} to test on")
MODELS = {
    "all pixels at once": dssfn.DSSFNClassifier(n_nodes=10, random_state=0),
    "patches": dssfn.DSSFNClassifier(n_nodes=10, image_shape=(8, 8), random_state=0),
}
for name, model in MODELS.items():
    n_wrong = int(np.sum(model.fit(X, y).predict(X_test) != y_test))
    print(f"{name:>18}: {n_wrong} of {len(y_test)} digits read wrongly")

# %%
# One division into training and test samples is an anecdote. The other way round, what
# was tested on is learned from; so every digit is tested once:

for name, model in MODELS.items():
    shares = [model.score(X_test, y_test), clone(model).fit(X_test, y_test).score(X, y)]
    print(f"{name:>18}: {np.mean(shares):.2%} read correctly on average")

# %%
# How each of them grew, layer by layer:

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, MODELS.items(), strict=True):
    dssfn.plot.history(model, ax=ax).set_title(name)

# %%
# Mistakes
# --------
#
# Digits that the model of all pixels gets wrong, with the answers of both models and
# the probabilities that they give to them. Some would make a human reader hesitate as
# well.

answers = {name: model.predict_proba(X_test) for name, model in MODELS.items()}
pixels = answers["all pixels at once"]
is_right = pixels.argmax(axis=1) == y_test
figure, axes = plt.subplots(2, 4, figsize=(9, 6), layout="constrained")
for ax in axes.flat:
    ax.set_axis_off()
for ax, sample in zip(axes.flat, np.flatnonzero(~is_right), strict=False):
    ax.imshow(X_test[sample].reshape(8, 8), cmap="gray_r")
    said = [
        f"{name}: {answer[sample].argmax()} ({answer[sample].max():.0%})"
        for name, answer in answers.items()
    ]
    ax.set_title("\n".join([f"a {y_test[sample]}", *said]), fontsize=9)

# %%
# Where a model is wrong it is mostly less sure, and that is what probabilities are for:
# send such samples to a person.

certainty = pixels.max(axis=1)
print(f"median certainty where right: {np.median(certainty[is_right]):.1%}")
print(f"median certainty where wrong: {np.median(certainty[~is_right]):.1%}")
