"""
Who talks to whom
=================

Nodes exchange messages with their neighbours on a graph, and only with them. Any
connected graph will do; the model is the same on all of them. What the graph decides is
how many rounds of exchange it takes until everybody knows the average of what all nodes
hold, and how many messages a node must handle.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from sklearn.datasets import load_iris

import dssfn
from dssfn.consensus import every_averaging

N_NODES = 16
GRAPHS = {
    "ring": dssfn.build_topology("circular", N_NODES),
    "torus": dssfn.build_topology("torus", N_NODES),
    "star": dssfn.build_topology("star", N_NODES),
    "random, 4 neighbours": dssfn.build_topology("regular", N_NODES, degree=4),
    "random points": dssfn.build_topology("geometric", N_NODES),
    "complete": dssfn.build_topology("complete", N_NODES),
}

# %%
# Six graphs of sixteen nodes
# ---------------------------

figure, axes = plt.subplots(2, 3, figsize=(10, 7.4), layout="constrained")
for ax, (name, graph) in zip(axes.flat, GRAPHS.items(), strict=True):
    dssfn.plot.topology(graph, ax=ax)
    ax.set_title(f"{name}\n{len(graph.edges())} links, diameter {graph.diameter}")

# %%
# Rounds
# ------
#
# A scheme is a way to average. *Gossip* is the classic: every node replaces its number
# by a weighted mean of its own and its neighbours', again and again, until the
# disagreement has shrunk enough; we ask for one part in ten billion. *Chebyshev* does
# the same with memory, and needs about the square root of the rounds. *Exact* chooses
# the weights of each round such that nothing is left of the disagreement, after as many
# rounds as the graph's matrix has distinct eigenvalues besides one. A *tree* sends sums
# up to a root and the total down again. Integer units, the default, use the tree, which
# adds exactly; with dense units dssfn takes the fastest.

TOLERANCE = 1e-10
schemes = {name: every_averaging(graph, TOLERANCE) for name, graph in GRAPHS.items()}
kinds = sorted({kind for found in schemes.values() for kind in found})
print(f"{'rounds':<22}" + "".join(f"{kind:>11}" for kind in kinds))
for name, found in schemes.items():
    cells = [str(found[kind].n_rounds) if kind in found else "-" for kind in kinds]
    print(f"{name:<22}" + "".join(f"{cell:>11}" for cell in cells))

# %%
# On a logarithmic axis, since gossip on a ring is in a class of its own:

figure, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
looks = {
    "gossip": ("o", "#009E73"),
    "chebyshev": ("s", "#0072B2"),
    "tree": ("D", "#CC79A7"),
    "exact": ("^", "#E69F00"),
}
for place, (kind, (mark, colour)) in enumerate(looks.items()):
    rounds = [
        found[kind].n_rounds if kind in found else np.nan for found in schemes.values()
    ]
    beside = np.arange(len(GRAPHS)) + 0.12 * (place - 1.5)
    ax.plot(beside, rounds, mark, color=colour, markersize=9, label=kind)
ax.set_yscale("log")
ax.set(ylabel=f"rounds for one average to {TOLERANCE:g}")
ax.set_xticks(range(len(GRAPHS)), list(GRAPHS), rotation=20, ha="right")
legend = ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)

# %%
# Few rounds are not everything. In the complete graph each node talks to all others in
# every round, and in a star the hub is in every conversation: if it fails, everything
# stops. Messages, over all links, for one average by the fastest scheme:

for name, found in schemes.items():
    best = min(found.values(), key=lambda one: (one.n_rounds, one.n_letters))
    busiest = max(GRAPHS[name].degrees)
    print(
        f"{name:<22} {best.name:<10} {best.n_letters:>4} messages, "
        f"at most {busiest} neighbours"
    )

# %%
# A graph of your own
# -------------------
#
# Any undirected networkx graph can be used, and its nodes keep their names. We train on
# two very different graphs, and get one model.

cities = nx.Graph([
    ("Basel", "Zurich"), ("Zurich", "Lugano"), ("Basel", "Geneva"),
    ("Geneva", "Bern"), ("Bern", "Zurich"),
])  # fmt: skip
X, y = load_iris(return_X_y=True)
on_cities = dssfn.DSSFNClassifier(topology=cities, random_state=0).fit(X, y)
on_star = dssfn.DSSFNClassifier(n_nodes=9, topology="star", random_state=0).fit(X, y)
same = np.array_equal(on_cities.decision_function(X), on_star.decision_function(X))
print(f"the same model on both graphs, to the last bit: {same}")
assert same

ax = dssfn.plot.topology(on_cities, held="samples")

# %%
# What one training sends over all links of that graph, layer by layer:

ax = dssfn.plot.traffic(on_cities)
