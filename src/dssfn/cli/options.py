"""Options that several commands have: one name, one meaning, one line of help."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dssfn.presets import PRESETS
from dssfn.registry import SOLVERS

# Headings of the help text.
DATA, NETWORK, MODEL = "Data", "Network of nodes", "Model"
TRAINING, CERTIFICATES, OUTPUT = "Training", "Certificates", "Output"


def option(help: str, panel: str | None = None, *names: str, **more: Any) -> Any:
    """An option, under a heading of the help text."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


Degree = Annotated[
    int | None, option("Neighbours on each side of a circular graph.", NETWORK)
]
Preset = Annotated[str, option(f"Settings to start from: {', '.join(PRESETS)}.", MODEL)]
Layers = Annotated[int, option("L, hidden layers.", MODEL)]
Width = Annotated[int, option("Random units per layer.", MODEL)]
Alpha = Annotated[
    float | None, option("Radius of the output matrix, in units of sqrt(2Q).", MODEL)
]
Gain = Annotated[float | None, option("Norm of the random features.", MODEL)]
Standardize = Annotated[
    bool | None, option("Scale inputs by the network's mean and spread.", MODEL)
]
Bias = Annotated[float | None, option("Value of a constant input; 0 for none.", MODEL)]
Solver = Annotated[
    str, option(f"How a layer is solved: auto, {', '.join(SOLVERS)}.", TRAINING)
]
JsonOutput = Annotated[
    bool, option("Print one JSON object, nothing else.", OUTPUT, "--json")
]

# For commands with few options, whose help has no headings.
Json = Annotated[bool, option("Print one JSON object, nothing else.", None, "--json")]
