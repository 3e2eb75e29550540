"""`dssfn demo`: the main job on data that come along."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from dssfn._atomic import write_atomically
from dssfn.cli.options import Json
from dssfn.cli.outcome import show_lines
from dssfn.cli.presentation import Presentation
from dssfn.datasets import Dataset, load_dataset
from dssfn.presets import resolve
from dssfn.results import MODEL_FILE
from dssfn.runs import divided, execute, make_plan
from dssfn.topology import build_topology

NODES = 10
TEST_FILE, TARGET = "test.csv", "digit"

_INTRODUCTION = """\
{n_images} images of digits, sorted by digit and divided among {nodes} nodes on a ring.
Each node holds one or two of the digits and talks to two neighbours only.
"""


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the model, the metrics and the report.")
    ] = Path("dssfn-demo"),
    json: Json = False,
) -> None:
    """Try it out: ten nodes on a ring learn digits, each holding one or two of them.

    No node sees all the digits and none sends a sample, yet every node ends up with the
    model that one machine holding all of them would have learned.
    """
    data = load_dataset("digits")
    plan = make_plan(data, **resolve("default", {}))
    ring = build_topology("circular", NODES)
    run = divided(data, plan, ring, "by-class")
    model, test = out / MODEL_FILE, out / TEST_FILE
    output = Presentation(out, as_json=json, quiet=json)
    with output.folder(), output.progress(plan) as on_layer:
        if not json:
            show_lines(_INTRODUCTION.format(n_images=len(data.y_train), nodes=NODES))
        outcome = execute(run, check_equivalence=True, on_layer=on_layer)
        output.write(outcome)
        write_atomically(test, _csv(data).encode())
    output.show(outcome, beside_model=f", test images in {test}")
    if not json:
        dssfn = _command()
        show_lines(
            "Next:\n"
            f"  {dssfn} info {model}\n"
            f"  {dssfn} evaluate {model} {test} --target {TARGET}"
        )


def _command() -> str:
    """Return how this program is called: by its path if the shell does not find it."""
    called = Path(sys.argv[0])
    is_hidden = called.name == "dssfn" and shutil.which("dssfn") is None
    return str(called) if is_hidden else "dssfn"


def _csv(data: Dataset) -> str:
    header = ",".join([*(data.feature_names or ()), TARGET])
    rows = np.column_stack([data.X_test, data.y_test]).astype(int)
    return "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n"
