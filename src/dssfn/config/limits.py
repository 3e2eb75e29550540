"""What settings of a plan may be called, and how large they may be."""

from __future__ import annotations

AUTO = "auto"
PRECISIONS = ("float64", "float32")
SCALES = ("columns", "common")
FOLDS = ("rows", "nodes")
SIZES = (AUTO, "ssfn")
UNITS = ("integer", "dense")
BALANCED = "balanced"
MOST_LAYERS, MOST_WIDTH, MOST_MEMBERS = 20, 1600, 20  # of what is found
MOST_EXACT_WIDTH, MOST_EXACT_BIAS = 8192, 7  # see `dssfn.exact.bounds`
SHORTEST_SIDE = 3  # of a picture
PRIVATE_WIDTH = 600  # of a private network; 300 to 1000 do as well
FEWEST_FOLDS = 5  # so that a member trains on four fifths of the samples or more

# Far beyond any network that was ever trained, but near enough that a plan from a
# stranger takes neither all memory nor all time before it is found to be nonsense.
MOST_FEATURES, MOST_CLASSES, LONGEST_NAME = 10**6, 10**4, 1000
