"""Options that several commands have: one name, one meaning, one line of help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dssfn.config import AUTO, FOLDS
from dssfn.errors import PlanError
from dssfn.presets import PRESETS, resolve
from dssfn.registry import SOLVERS

# Headings of the help text.
DATA, NETWORK, MODEL, PRIVACY = "Data", "Network", "Model", "Privacy"
TRAINING, CERTIFICATES, OUTPUT = "Training", "Certificates", "Output"


def option(help: str, panel: str | None = None, *names: str, **more: Any) -> Any:
    """Return an option, under a heading of the help text."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


Preset = Annotated[str, option(f"Settings to start from: {', '.join(PRESETS)}.", MODEL)]
Layers = Annotated[str | None, option("Number of hidden layers, L, or auto.", MODEL)]
Width = Annotated[
    str | None, option("Random units per hidden layer: a number, or auto.", MODEL)
]
Members = Annotated[
    str | None,
    option(
        "Networks in the ensemble, each validated on the samples that it left out: a "
        "number, or auto.",
        MODEL,
    ),
]
Ridge = Annotated[str, option("Regularisation strength: a number, or auto.", MODEL)]
Scale = Annotated[
    str,
    option(
        "How inputs are scaled: auto, columns (each by its own standard deviation) or "
        "common (all by the same one, as for pixels).",
        MODEL,
    ),
]
Folds = Annotated[
    str,
    option(
        f"What each member leaves out for validation: {', '.join(FOLDS)}.",
        MODEL,
        "--folds",
    ),
]
Size = Annotated[
    str,
    option(
        "How the network's size is chosen: auto (by validation) or ssfn (grow one "
        "network by its training error, as in the SSFN papers; slower, and it can "
        "overfit).",
        MODEL,
    ),
]
ClassWeight = Annotated[
    str | None, option("balanced: rare classes count as much as common ones.", MODEL)
]
Alpha = Annotated[
    float | None,
    option(
        "Bound on the norm of the output matrices, in units of sqrt(2 x classes).",
        MODEL,
    ),
]
Gain = Annotated[
    float | None,
    option(
        "Size of the random units before the ReLU, beside the scores: the norm of all "
        "units of a sample if layers and width are given, else the root mean square "
        "of each unit.",
        MODEL,
    ),
]
Standardize = Annotated[
    bool | None, option("Scale inputs by the mean and spread over all nodes.", MODEL)
]
Bias = Annotated[
    float | None, option("Value of a constant input that is added; 0 for none.", MODEL)
]
Units = Annotated[
    str,
    option(
        "Arithmetic of the hidden units: auto, integer (sums are exact to the last "
        "bit) or dense.",
        MODEL,
    ),
]
ImageShape = Annotated[
    str | None,
    option(
        "Height and width of images, such as 28x28, or 32x32x3 with channels.", MODEL
    ),
]
Epsilon = Annotated[
    float | None,
    option(
        "Privacy budget of differential privacy; noise is added to the sums. Off by "
        "default.",
        PRIVACY,
    ),
]
Delta = Annotated[
    float, option("Probability that more than epsilon is revealed.", PRIVACY)
]
Colluders = Annotated[
    int,
    option(
        "How many nodes may collude without weakening epsilon; fewer than all nodes.",
        PRIVACY,
    ),
]
InputLow = Annotated[
    float | None,
    option(
        "Lower bound of all inputs, needed for --epsilon unless the schema has it.",
        PRIVACY,
    ),
]
InputHigh = Annotated[
    float | None, option("Upper bound of all inputs, likewise.", PRIVACY)
]
Solver = Annotated[
    str, option(f"How a layer is solved: auto, {', '.join(SOLVERS)}.", TRAINING)
]
Target = Annotated[str | None, option("The column to predict, in a file.", DATA)]
TestFile = Annotated[Path | None, option("A separate file to test on.", DATA, "--test")]
TestSize = Annotated[
    float,
    option(
        "Share of samples held out for testing if there is no separate test set.", DATA
    ),
]
DataDir = Annotated[
    Path | None,
    option("Folder with NAME.npz files; by default that in DSSFN_DATA_DIR.", DATA),
]
Out = Annotated[
    Path | None,
    option(
        "Folder for the model, metrics and report; earlier ones are replaced.", OUTPUT
    ),
]
Quiet = Annotated[bool, option("Show no progress.", OUTPUT, "--quiet")]
_JSON = "Print one JSON object and nothing else."
JsonOutput = Annotated[bool, option(_JSON, OUTPUT, "--json")]

# For commands with few options, whose help has no headings.
Json = Annotated[bool, option(_JSON, None, "--json")]


def training_settings(
    preset: str,
    *,
    layers: str | None,
    width: str | None,
    members: str | None,
    ridge: str,
    alpha: float | None,
    gain: float | None,
    standardize: bool | None,
    bias: float | None,
    units: str,
    image_shape: str | None,
    solver: str,
    consensus: str,
    seed: int,
    tol: float | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Return the settings of a plan from options; those left open are the preset's."""
    given = {
        "n_layers": number_or_auto("--layers", layers),
        "width": number_or_auto("--width", width),
        "members": number_or_auto("--members", members),
        "ridge": number_or_auto("--ridge", ridge, whole=False),
        "alpha": alpha, "gain": gain, "standardize": standardize, "bias": bias,
        "units": units, "solver": solver, "consensus": consensus, "tol": tol,
        "image_shape": sides(image_shape),
    }  # fmt: skip
    return {"seed": seed, **others, **resolve(preset, given)}


def sides(text: str | None) -> tuple[int, ...] | None:
    """Return the sides of a picture, and its channels.

    >>> sides("28x28"), sides("32 x 32 x 3")
    ((28, 28), (32, 32, 3))
    """
    if text is None:
        return None
    try:
        return tuple(int(side) for side in text.lower().split("x"))
    except ValueError:
        raise PlanError(
            f"`--image-shape` must be like 28x28 or 32x32x3, got {text!r}."
        ) from None


def number_or_auto(
    name: str, text: str | None, *, whole: bool = True
) -> float | str | None:
    """Return the number that an option has, or "auto"; None if it was left out.

    >>> number_or_auto("--layers", "20"), number_or_auto("--layers", "auto")
    (20, 'auto')
    """
    if text is None or text == AUTO:
        return text
    try:
        return int(text) if whole else float(text)
    except ValueError:
        kind = "a whole number" if whole else "a number"
        raise PlanError(f"`{name}` must be {kind} or auto, got {text!r}.") from None
