"""The folder that `--out` names: checked before training, filled after it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from dssfn._atomic import make_writable, no_empty_folders, write_atomically
from dssfn.modelfile import save_network
from dssfn.results import MODEL_FILE, write_result
from dssfn.runs import Outcome

LAYERS_FILE = "layers.jsonl"


@contextmanager
def out_folder(path: Path | None) -> Iterator[None]:
    """Make sure of a writable folder; leave no empty one if what follows fails."""
    if path is None:
        yield
        return
    with no_empty_folders(path):
        make_writable(path, "--out")
        yield


def write_outcome(outcome: Outcome, path: Path) -> None:
    """Write the model, all metrics with the settings, and one row per layer."""
    rows = msgspec.to_builtins(outcome.result.layers)
    layers = "".join(json.dumps(row) + "\n" for row in rows)
    save_network(outcome.network, path / MODEL_FILE)
    write_atomically(path / LAYERS_FILE, layers.encode())
    write_result(outcome.result, path)
