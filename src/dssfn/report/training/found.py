"""What a network found of its own size, in words for a page and a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from dssfn.config import AUTO, MOST_LAYERS, Plan
from dssfn.records import warning_about
from dssfn.report.numbers import count, plural
from dssfn.results import Result

AFRESH = "fitted to the targets from scratch, not to what the previous layer left over"

_SCALES = {
    "columns": "each column divided by its own standard deviation",
    "common": "all columns divided by one standard deviation",
}


def is_validated(result: Result) -> bool:
    """Return whether some samples were left out to validate on."""
    return any(row.validation_error_db is not None for row in result.layers)


def judged_by(result: Result) -> str:
    """Return which error decided about the size: training, or validation."""
    return "training" if result.settings.size == "ssfn" else "validation"


def members(result: Result) -> str:
    """Return how many networks there are, and what each leaves out."""
    if not is_validated(result):
        return "1, trained on all samples"
    left_out = "nodes" if result.settings.folds == "nodes" else "samples"
    first = result.layers[0]
    gaps = [
        f"; {n} of them {what}"
        for n, what in (
            (first.unvalidated, "on none, because the part they leave out is empty"),
            (first.unaware, "trained without any sample of some class"),
        )
        if n
    ]
    said = f"{result.settings.members}, each validated on {left_out} it left out"
    return said + "".join(gaps)


def input_scale(result: Result) -> str:
    """Return what the inputs are divided by."""
    return scale_in_words(result.settings)


def scale_in_words(plan: Plan) -> str:
    """Return what the inputs of a trained model are divided by.

    >>> scale_in_words(Plan(n_features=2, classes=("a", "b"), n_layers=1, width=9))
    'each column divided by its own standard deviation'
    """
    if not plan.standardize:
        return "inputs are used as given"
    # A network of fixed size leaves it open, and has but one way.
    return _SCALES["columns" if plan.scale == AUTO else plan.scale]


def width(result: Result) -> str:
    """Return the random units of the layers that are kept."""
    depth = result.settings.depth
    widths = [row.width or 0 for row in result.layers if 0 < row.layer <= depth]
    if len(set(widths)) > 1:
        return f"{', '.join(map(count, widths))} random units, layer by layer"
    return plural(widths[0], "random unit") if widths else "none: a linear model"


def depth(result: Result) -> str:
    """Return the number of hidden layers, and why there are no more of them."""
    return f"{plural(result.settings.depth, 'hidden layer')}: {why_no_deeper(result)}"


def why_no_deeper(result: Result) -> str:
    """Return why the network has the depth that it has."""
    depth, error = result.settings.depth, f"the {judged_by(result)} error"
    tried = [row.layer for row in result.layers if row.layer > depth]
    if tried:
        fell = "hardly fell" if result.settings.size == "ssfn" else "did not fall"
        return f"{error} {fell} in {_layers(tried)}; layer {depth} is kept"
    if "n_layers" not in result.settings.found:
        return "as many as the settings ask for"
    if depth == MOST_LAYERS:
        return f"{error} still fell, but more layers are not tried"
    return f"{error} hardly fell in the last layers"


def _layers(numbers: Sequence[int]) -> str:
    """Return the names of some layers.

    >>> _layers([9]), _layers([9, 10]), _layers([3, 4, 5])
    ('layer 9', 'layers 9 and 10', 'layers 3, 4 and 5')
    """
    *others, last = map(str, numbers)
    return f"layers {', '.join(others)} and {last}" if others else f"layer {last}"


def warning(result: Result) -> str:
    """Return what to beware of, such as a training accuracy that promises too much."""
    return warning_about(result.kept) if result.kept else ""
