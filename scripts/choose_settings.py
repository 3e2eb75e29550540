"""Try settings on validation data cut from the training data, never on test data.

    choose_settings.py FILE DATA,.. GAIN,.. ALPHA,.. BIAS,.. WIDTH LAYERS SEEDS [raw]

Appends one JSON row per training to FILE, with the validation accuracy after every
layer, and prints the means over the seeds. Vowel is cut by speaker, since its test
speakers are not among those trained on: one of its four men and one of its four women
in turn. The others lose a random fifth. With `raw` the inputs are not scaled.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

from dssfn.config import Plan
from dssfn.datasets import load
from dssfn.shard import Shard, one_hot
from dssfn.simulator import simulate
from dssfn.topology import build_topology


def held_out(name: str, n_samples: int, seed: int) -> np.ndarray:
    """Which training samples to validate on."""
    if name == "vowel":
        speaker = np.arange(n_samples) // 66  # 11 vowels, 6 frames each; men first
        return speaker % 4 == seed % 4
    return np.random.default_rng(seed).random(n_samples) < 0.2


def try_settings(name: str, seed: int, **settings: float) -> dict[str, object]:
    """Train on the rest, validate after every layer."""
    data = load(name)
    classes, codes = np.unique(data.y_train, return_inverse=True)
    out = held_out(name, len(codes), seed)
    plan = Plan(
        n_features=data.X_train.shape[1],
        classes=tuple(classes.tolist()),
        seed=seed,
        **settings,
    )
    shard = Shard(data.X_train[~out].T, one_hot(codes[~out], len(classes)))
    network = simulate([shard], plan, build_topology("complete", 1)).networks[0]
    X = np.ascontiguousarray(data.X_train[out].T)
    accuracy = [
        float(np.mean(scores.argmax(axis=0) == codes[out]))
        for scores in network.staged_scores(X)
    ]
    return {"data": name, "seed": seed, **settings, "accuracy": accuracy}


def main(file: str, names: str, *grids: str) -> None:
    """Run the grid and print the means."""
    gains, alphas, biases = ([float(v) for v in grid.split(",")] for grid in grids[:3])
    width, n_layers, n_seeds = map(int, grids[3:6])
    standardize = "raw" not in grids[6:]
    rows = defaultdict(list)
    for name, gain, alpha, bias, seed in itertools.product(
        names.split(","), gains, alphas, biases, range(n_seeds)
    ):
        settings = {"gain": gain, "alpha": alpha, "bias": bias, "width": width}
        row = try_settings(
            name, seed, n_layers=n_layers, standardize=standardize, **settings
        )
        with Path(file).open("a") as out:
            out.write(json.dumps(row) + "\n")
        key = (name, gain, alpha, bias)
        rows[key].append(row["accuracy"])
        if len(rows[key]) == n_seeds:
            mean = 100 * np.mean(rows[key], axis=0)
            best = int(mean.argmax())
            print(
                f"{name:9} gain {gain:4g} alpha {alpha:4g} bias {bias:3g}: "
                f"{mean[-1]:.2f} %, best {mean[best]:.2f} after layer {best}",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
