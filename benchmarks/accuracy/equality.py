"""Whether many nodes find the network of a single machine, and its size."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.accuracy.models import DSSFN
from benchmarks.accuracy.part import Choice, Part, command
from benchmarks.claim import Claim, at_least, at_most
from dssfn.datasets import load_dataset
from dssfn.report.evidence.selection import grouped
from dssfn.report.table import Table
from dssfn.rows import Metrics, Row
from dssfn.runs import divided, execute, make_plan, train
from dssfn.sweeps import Task
from dssfn.topology import build_topology

NAME = "equality"
SETS = ("wine", "breast_cancer", "digits", "vowel", "satimage", "letter")
QUICK_SETS = ("wine",)
PARTITIONS = ("iid", "by-class", "dirichlet:0.1")
N_NODES, N_FEW_NODES, FEW = 20, 5, 1_000  # five nodes for less than a thousand rows
# What was sent with the defaults before: twenty layers of a thousand units.
FIXED = {"n_layers": 20, "width": 1000, "members": 1}
SENT, FEWER = "satimage", 5.0


def measure(data: str, how: str, data_dir: Path | None) -> Metrics:
    """Return how far the network of many nodes is from that of one machine."""
    loaded = load_dataset(data, data_dir=data_dir)
    n_nodes = N_NODES if len(loaded.y_train) >= FEW else N_FEW_NODES
    ring = build_topology("circular", n_nodes, degree=2)
    run = divided(loaded, make_plan(loaded), ring, how)
    result = execute(run, check_equivalence=True, on_layer=None).result
    equal, sent = result.equivalence, result.communication
    assert equal is not None
    assert sent is not None
    return {
        "same_choices": float(bool(equal.same_choices)),
        "central_difference": equal.central_difference,
        "prediction_agreement": equal.prediction_agreement,
        "node_spread": equal.node_spread,
        "test_accuracy": result.test_accuracy,
        "scalars_per_node": sent.scalars_per_node,
    }


def measure_fixed(data_dir: Path | None) -> Metrics:
    """Return what a network of twenty layers of a thousand units sends."""
    loaded = load_dataset(SENT, data_dir=data_dir)
    ring = build_topology("circular", N_NODES, degree=2)
    run = divided(loaded, make_plan(loaded, **FIXED), ring, "iid")
    return {"scalars_per_node": train(run).traffic.scalars_per_node}


def tasks(choice: Choice) -> list[Task]:
    """Return every set with every way to divide it."""
    found = [
        Task(
            NAME,
            {"data": data, "model": DSSFN, "partition": how},
            partial(measure, data, how, choice.data_dir),
        )
        for data in (QUICK_SETS if choice.quick else SETS)
        for how in PARTITIONS
    ]
    if not choice.quick:
        key = {"data": SENT, "model": DSSFN, "partition": "20 x 1000"}
        found.append(Task(NAME, key, partial(measure_fixed, choice.data_dir)))
    return found


def _found(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if "same_choices" in row.metrics]


def tables(rows: Sequence[Row]) -> list[Table]:
    """Return the distances by set and partition."""
    lines = [
        (
            str(data),
            str(how),
            "yes" if row.metrics["same_choices"] else "no",
            f"{row.metrics['central_difference']:.1e}",
            f"{row.metrics['prediction_agreement']:.4f}",
            f"{row.metrics['node_spread']:.1e}",
        )
        for (data, how), (row, *_) in grouped(
            _found(rows), ("data", "partition")
        ).items()
    ]
    head = ("data", "divided", "same sizes", "difference", "agreement", "node spread")
    return [Table("Many nodes and one machine", head, lines, 2)]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the worst of all sets, and how many times fewer numbers are sent."""
    metrics = [row.metrics for row in _found(rows)]
    if not metrics:
        return []
    over = f"{len(metrics)} trainings"
    found = [
        at_least(
            f"{over}: share with the same sizes",
            sum(one["same_choices"] for one in metrics) / len(metrics), 1.0,
            command(NAME),
        ),
        at_most(
            f"{over}: largest difference of the output matrices",
            max(one["central_difference"] for one in metrics), 1e-7, command(NAME),
        ),
        at_least(
            f"{over}: smallest agreement of predictions",
            min(one["prediction_agreement"] for one in metrics), 1.0, command(NAME),
        ),
    ]  # fmt: skip
    sent = {
        how: row.metrics["scalars_per_node"]
        for (data, how), (row, *_) in grouped(rows, ("data", "partition")).items()
        if data == SENT
    }
    if "20 x 1000" in sent and "iid" in sent:
        fewer = sent["20 x 1000"] / sent["iid"]
        baseline = "times fewer numbers sent than by 20 layers of 1000"
        what = f"{SENT}, {N_NODES} nodes: {baseline}"
        found.append(at_least(what, fewer, FEWER, command(NAME)))
    return found


PART = Part(
    name=NAME,
    title="Many nodes and one machine",
    about=f"{N_NODES} nodes on a ring with two neighbours on each side, {N_FEW_NODES} "
    "for less than a thousand rows, with the defaults, against the same training by "
    "one machine that holds all samples.",
    tasks=tasks,
    tables=tables,
    claims=claims,
)
