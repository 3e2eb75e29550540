"""A star of real nodes that have digits; the first one is its hub."""

from __future__ import annotations

from tests.support.federations import local
from tests.support.lab import FEATURES, digits_of

NAMES = ("hub", "one", "two", "three")
LEAVES = NAMES[1:]


def star_of_digits(folder, *settings):
    """Set up the nodes, with their rows in data.csv and some settings of the plan."""
    classes = ",".join(map(str, range(10)))
    data = ("--classes", classes, "--features", ",".join(FEATURES))
    edges = ",".join(f"hub-{leaf}" for leaf in LEAVES)
    local(folder, NAMES, *data, "--target", "digit", "--edges", edges, *settings)
    for k, name in enumerate(NAMES):
        X, y = digits_of(k, len(NAMES))
        rows = [",".join([*FEATURES, "digit"])]
        rows += [
            ",".join([*map(str, x), str(label)]) for x, label in zip(X, y, strict=True)
        ]
        (folder / name / "data.csv").write_text("\n".join(rows) + "\n")
    return folder
