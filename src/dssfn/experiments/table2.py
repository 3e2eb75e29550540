"""The paper's Table II: one place against 20 nodes, its settings beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dssfn.experiments.trial import (
    N_NODES,
    STAND_INS,
    data_of,
    in_range,
    ring,
    settings_of,
    size_of,
    train,
)
from dssfn.rows import Key, Metrics
from dssfn.sweeps import Task

EXPERIMENT = "table2"


class Published(NamedTuple):
    """A row of the paper: accuracies in per cent with their deviation, error in dB."""

    train_accuracy: tuple[float, float]
    train_error_db: float
    test_accuracy: tuple[float, float]


PAPER = {  # one place, and 20 nodes
    "vowel": (
        Published((100.0, 0.0), -53.8, (58.3, 1.7)),
        Published((100.0, 0.0), -51.67, (59.2, 1.1)),
    ),
    "satimage": (
        Published((94.2, 0.21), -10.6, (86.9, 0.37)),
        Published((92.1, 0.10), -9.37, (88.8, 0.08)),
    ),
    "caltech101": (
        Published((99.9, 0.01), -38.9, (73.2, 0.91)),
        Published((99.9, 0.01), -34.94, (75.4, 0.29)),
    ),
    "letter": (
        Published((99.4, 0.02), -19.5, (91.8, 0.23)),
        Published((98.9, 0.03), -17.64, (92.5, 0.22)),
    ),
    "norb": (
        Published((96.7, 0.04), -13.9, (82.5, 0.22)),
        Published((96.7, 0.02), -13.93, (82.6, 0.16)),
    ),
    "mnist": (
        Published((96.8, 0.06), -12.9, (94.8, 0.16)),
        Published((97.0, 0.04), -13.24, (95.1, 0.16)),
    ),
}

SETS = ("vowel", "satimage", "letter", "mnist", "caltech101_spm", "norb_subset3")
QUICK_SETS = ("vowel", "satimage", "letter")


class Column(NamedTuple):
    """One column of the table: how a network is trained, and on how many nodes.

    Parameters
    ----------
    settings : str
        Names it.
    preset : str
    n_nodes : int
    changes : dict
        What is not as in the preset.
    in_range : bool
        Whether inputs are moved to [-1, 1] before training.
    """

    settings: str
    preset: str
    n_nodes: int
    changes: dict[str, Any] = {}
    in_range: bool = False


COLUMNS = (
    Column("paper", "paper", 1),
    Column("paper", "paper", N_NODES),
    Column("default", "default", N_NODES),
    Column("unscaled", "default", N_NODES, {"standardize": False}),
)
RESCALED = (  # what the authors may have done
    Column("range", "paper", N_NODES, in_range=True),
    Column("scaled", "paper", N_NODES, {"standardize": True}),
)
WIDE = Column(
    "wide",
    "default",
    N_NODES,
    {"standardize": False, "n_layers": 4, "width": 3000, "gain": 10.0},
)


def tasks(
    *, quick: bool, seeds: Sequence[int], data_dir: Path | None = None
) -> list[Task]:
    """One row for every data set, column and seed; the quickest sets come first."""
    return [
        _task(name, column, seed, quick=quick, data_dir=data_dir)
        for name in (QUICK_SETS if quick else SETS)
        for column in columns_of(name)
        for seed in seeds
    ]


def columns_of(name: str) -> tuple[Column, ...]:
    """The columns of a data set."""
    columns = COLUMNS if name in STAND_INS else COLUMNS + RESCALED
    return (*columns, WIDE) if name == "mnist" else columns


def _task(
    name: str, column: Column, seed: int, *, quick: bool, data_dir: Path | None
) -> Task:
    def run() -> Metrics:
        data = data_of(name, seed, quick=quick, data_dir=data_dir)
        if column.in_range:
            data = in_range(data)
        settings = settings_of(column.preset, name, column.n_nodes)
        settings |= size_of(quick=quick)._asdict() | column.changes
        figures = of_interest(train(data, ring(column.n_nodes), seed=seed, **settings))
        return figures | published(name, column.n_nodes)

    key: Key = {
        "data": name,
        "settings": column.settings,
        "n_nodes": column.n_nodes,
        "seed": seed,
        "quick": quick,
    }
    return Task(EXPERIMENT, key, run)


def published(name: str, n_nodes: int) -> Metrics:
    """The paper's figures for a row, and for what set they are."""
    set_of_paper = STAND_INS.get(name, name)
    row = PAPER[set_of_paper][n_nodes > 1]
    return {"paper": {"data": set_of_paper, **row._asdict()}}


def of_interest(figures: dict[str, Any]) -> Metrics:
    """The figures that tables show."""
    return {
        "train_accuracy": figures["train_accuracy"],
        "train_error_db": figures["train_error_db"],
        "test_accuracy": figures["test_accuracy"],
        "rounds": figures["communication"]["rounds"],
        "scalars_per_node": figures["communication"]["scalars_per_node"],
        "bytes_total": figures["communication"]["bytes_total"],
        "node_spread": figures["equivalence"]["node_spread"],
        "seconds": figures["seconds"]["training"],
    }
