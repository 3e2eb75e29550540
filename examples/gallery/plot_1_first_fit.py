"""
A first fit
===========

Five clinics want one classifier of breast tumours. None of them may hand its patients'
data to the others, and there is no central server that all of them trust. In this
example they train together anyway, and end with exactly the model that one machine
would have learned from all the data.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import dssfn

# %%
# The data are measurements of tumours. A quarter of them is set aside for testing.

data = load_breast_cancer()
X, X_test, y, y_test = train_test_split(
    data.data, data.target, random_state=0, stratify=data.target
)
print(f"{len(X)} tumours to train on, {len(X_test)} to test on")
print(f"{X.shape[1]} measurements of each")

# %%
# Fit
# ---
#
# ``DSSFNClassifier`` is a scikit-learn estimator. Here it divides the training samples
# over five nodes on a ring, all of them simulated in this process. Each node talks to
# its two neighbours only. There is no learning rate, no number of epochs and no layer
# size to choose: the network finds its own size.

model = dssfn.DSSFNClassifier(n_nodes=5, random_state=0).fit(X, y)
print(f"{model.n_layers_} hidden layers of {model.width_} random units each")
print(f"accuracy on the test samples: {model.score(X_test, y_test):.1%}")

# %%
# What each of the five nodes held, and who talked to whom:

ax = dssfn.plot.topology(model, held="classes")
names = [str(name) for name in data.target_names]
for text, name in zip(ax.get_legend().get_texts(), names, strict=True):
    text.set_text(name)

# %%
# Probabilities
# -------------
#
# ``predict_proba`` says how sure the model is. The probabilities are calibrated on
# samples that were left out of the training, so 90 % should mean 90 %.

probabilities = model.predict_proba(X_test)
for row in probabilities[:3]:
    print(", ".join(f"{name} {p:.1%}" for name, p in zip(names, row, strict=True)))

is_right = model.predict(X_test) == y_test
certainty = probabilities.max(axis=1)
figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.hist(
    [certainty[is_right], certainty[~is_right]],
    bins=np.linspace(0.5, 1, 11),
    color=["#0072B2", "#E69F00"],
    label=["right", "wrong"],
)
ax.set(
    xlabel="probability of the predicted class",
    ylabel="test samples (logarithmic)",
    yscale="log",
)
legend = ax.legend(title="prediction", loc="upper left", frameon=False)

# %%
# How it grew
# -----------
#
# The network grows layer by layer. Some samples are left out in turn; the depth is
# where the error on those stops falling.

ax = dssfn.plot.history(model)

# %%
# The same as on one machine
# --------------------------
#
# Now the same training on one machine that holds all samples. The two models give the
# same probabilities, not roughly but to the last bit. The nodes only ever add up whole
# numbers, and sums of whole numbers do not depend on the order, nor on who holds what.

alone = dssfn.SSFNClassifier(random_state=0).fit(X, y)
same = np.array_equal(alone.predict_proba(X_test), probabilities)
print(f"all {probabilities.size} probabilities are equal to the last bit: {same}")
assert same
