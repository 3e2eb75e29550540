"""
What a neighbour sees
=====================

Rows of data never leave a node. But what does leave it is computed from them: sums over
its rows. This example plays the attacker, a curious member who takes part as agreed
and tries to learn from the messages what another node holds; first without masks, then
with them. Masks are on by default for real nodes.

Masks need the extra ``grpc``: ``pip install 'dssfn[grpc,report]'``.
"""

import matplotlib.pyplot as plt
import numpy as np

import dssfn
from dssfn.audit import Wanted, audit_simulated
from dssfn.datasets import load_dataset
from dssfn.presets import resolve
from dssfn.runs import divided, make_plan

# %%
# Five nodes on a star hold handwritten digits, each node a few of the ten. Node 0, the
# hub, is curious about node 4. The command line does the same, for tables of your own
# as well: ``dssfn audit --data digits --nodes 5 --topology star --partition
# by-class``.

data = load_dataset("digits", seed=0)
plan = make_plan(data, seed=0, **resolve("default", {}))
star = dssfn.build_topology("star", 5)
run = divided(data, plan, star, "by-class")
ATTACKER, VICTIM = 0, 4
audit = audit_simulated(run, Wanted(victim=VICTIM, members=frozenset({ATTACKER})))
pictures = {name.replace("\n", " "): images for name, images in audit.pictures}

# %%
# What the attacker recovers
# --------------------------
#
# Each row of pictures is one source of knowledge, each column a digit.


def show(rows):
    """Show rows of pictures, one below the other; a blank where nothing was found."""
    _, axes = plt.subplots(
        len(rows), 10, figsize=(9, 1.05 * len(rows)), layout="constrained"
    )
    for digit, ax in enumerate(axes[0]):
        ax.set_title(digit, fontsize=10)
    for line, (label, key) in zip(axes, rows.items(), strict=True):
        for digit, ax in enumerate(line):
            ax.set_axis_off()
            if np.isfinite(pictures[key][digit]).all():
                ax.imshow(pictures[key][digit], cmap="gray_r")
        line[0].text(
            -0.4, 0.5, label, ha="right", va="center", transform=line[0].transAxes
        )


show({
    "truth: mean of\neach digit at node 4": "true means",
    "recovered,\nwithout masks": "letters, masks off",
    "recovered,\nwith masks": "letters, masks on",
})  # fmt: skip

# %%
# Without masks the hub has the mean picture of every digit that node 4 holds, exactly.
# With masks it has noise: before a node sends its sums, it adds random numbers that it
# shares with other nodes, who subtract them. They cancel in the total and nowhere else.
#
# In numbers, relative to the truth: 0 means that everything was found, 1 that nothing
# was. The noise differs from run to run, as the masks come from fresh random keys.

for attack in audit.report.attacks:
    masks = "with masks   " if attack.masked else "without masks"
    letters = attack.letters
    print(
        f"{masks}: error of the class means {letters.class_means_error:.1g}, "
        f"single rows found: {letters.rows}"
    )

# %%
# Single rows
# -----------
#
# A sum over one row is that row. Where a class has only one sample in one of the parts
# into which a node divides its rows for validation, the attacker gets a patient, or
# here a picture, as it is:

show({
    "single rows,\nwithout masks": "single rows, masks off",
    "truth: mean of\neach digit at node 4": "true means",
})  # fmt: skip

# %%
# What no mask hides
# ------------------
#
# Every member learns the total of all nodes: that is the purpose of the training. A
# member can subtract its own part, and has the sum of the others.

show({
    "from the total:\nmean of all others": "the total alone",
    "truth: mean of\neach digit at node 4": "true means",
})  # fmt: skip
total = audit.report.attacks[-1].total
print(
    f"nodes in that sum: {', '.join(total.nodes)}; "
    f"error about node 4 alone: {total.class_means_error:.2g}"
)

# %%
# The more nodes there are, the less that says about any one of them. But the limits
# are real:
#
# * If all other nodes put together what they know, nothing protects the last one.
# * The total itself can tell whether a certain row took part. Differential privacy
#   (``epsilon``) bounds that, at a price in accuracy.
# * Masks need the exact solver, which is the default.
# * This attacker follows the protocol. Others may lie; see the chapter on security.

everybody = Wanted(victim=VICTIM, members=frozenset({0, 1, 2, 3}))
for attack in audit_simulated(run, everybody).report.attacks:
    masks = "with masks   " if attack.masked else "without masks"
    found = attack.total.class_means_error
    print(f"all others together, {masks}: error of the class means {found:.1g}")
