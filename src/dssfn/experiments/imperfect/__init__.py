"""Networks that lose, delay and vanish: what each way to solve a layer makes of them.

The paper ends with such networks, and points at relaxed ADMM for them. Here it stands
beside sums that are exact: along a tree with resending, and by push-sum with running
sums. One hidden layer is watched while simulated time passes (`layer.py`); whole
trainings are compared with the one in lockstep (`training.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from dssfn.experiments.imperfect.cases import (
    AWAY,
    BURSTS,
    CONTENDERS,
    FULL,
    LOSSES,
    QUICK,
    SLOW,
    TROUBLES,
    Case,
)
from dssfn.report.evidence.experiment import Experiment, Figure
from dssfn.report.evidence.selection import file_name, grouped, note_on, where
from dssfn.report.html import Headline
from dssfn.report.numbers import NONE, count, digits, small
from dssfn.report.table import Table
from dssfn.rows import Key, Metrics, Row
from dssfn.sweeps import Task

NAME = "imperfect"
LAYER, TRAINING = "layer", "training"
DIVIDED = {"iid": "at random", "by-class": "by class"}
SHOWN = "loss 30"  # the trouble of the figures over time and bytes


def tasks(
    *, quick: bool, seeds: Sequence[int], data_dir: Path | None = None
) -> list[Task]:
    """Return a layer by every contender for every trouble, and whole trainings.

    Examples
    --------
    >>> len(tasks(quick=True, seeds=[0]))
    48
    """
    seed = seeds[0]
    made = []
    for case in QUICK if quick else FULL:
        for partition, trouble, contender in _layers():
            key = _key(case, LAYER, partition, trouble, contender, seed, quick=quick)
            run = partial(_layer, case, contender, trouble, partition, seed, data_dir)
            made.append(Task(NAME, key, run))
        for trouble in (SHOWN, BURSTS):
            for contender in ("tree", "push-sum", "relaxed"):
                key = _key(
                    case, TRAINING, "by-class", trouble, contender, seed, quick=quick
                )
                run = partial(_training, case, contender, trouble, seed, data_dir)
                made.append(Task(NAME, key, run))
    return made


def _layers() -> Iterator[tuple[str, str, str]]:
    """Yield partition, trouble and contender; perfect links have no trouble."""
    for partition in ("iid", "by-class"):
        yield partition, "loss 0", "perfect"
        for trouble in (*LOSSES, SLOW, AWAY, BURSTS):
            for contender in ("tree", "push-sum", "relaxed"):
                if (trouble, contender) != ("loss 0", "tree"):
                    yield partition, trouble, contender


def _key(
    case: Case,
    what: str,
    partition: str,
    trouble: str,
    contender: str,
    seed: int,
    *,
    quick: bool,
) -> Key:
    return {
        "data": case.data,
        "what": what,
        "width": case.width,
        "nodes": case.n_nodes,
        "degree": case.degree,
        "partition": partition,
        "trouble": trouble,
        "contender": contender,
        "seed": seed,
        "quick": quick,
    }


def _layer(
    case: Case,
    contender: str,
    trouble: str,
    partition: str,
    seed: int,
    data_dir: Path | None,
) -> Metrics:
    from dssfn.experiments.imperfect.layer import measured

    return measured(case, contender, trouble, partition, seed, data_dir)


def _training(
    case: Case, contender: str, trouble: str, seed: int, data_dir: Path | None
) -> Metrics:
    from dssfn.experiments.imperfect.training import trained

    return trained(case, contender, trouble, seed, data_dir)


def table(rows: Sequence[Row]) -> Table:
    """Return time and bytes of every contender, by what was wrong."""
    head = (
        "data, samples divided", "solved", "what is wrong", "tree, resending",
        "push-sum", "relaxed ADMM", "its cost gap",
    )  # fmt: skip
    note = (
        "Simulated seconds and megabytes over all links. Cost gap: relative to the "
        "optimum (for a training, to the one over perfect links), at the worst node."
    )
    exact = [row.metrics["distance"] for row in rows if _is_exact(row)]
    if exact:
        note += (
            " Tree and push-sum have none: their matrices are within "
            f"{small(max(exact))} of the best ones, relative."
        )
    groups = grouped(rows, ("data", "partition", "what", "trouble")).values()
    lines = list(map(_line, groups))
    return Table("Lossy, slow and absent", head, lines, 3, note_on(rows, note))


def _is_exact(row: Row) -> bool:
    return row.key["contender"] != "relaxed"


def _line(group: Sequence[Row]) -> tuple[str, ...]:
    key = group[0].key
    by = {str(row.key["contender"]): row.metrics for row in group}
    tree = by.get("tree") or by.get("perfect")  # without losses nothing is sent again
    relaxed = by.get("relaxed")
    return (
        f"{key['data']}, {DIVIDED[str(key['partition'])]}",
        "one layer" if key["what"] == LAYER else "a training",
        TROUBLES[str(key["trouble"])],
        *map(_cell, (tree, by.get("push-sum"), relaxed)),
        small(relaxed["gap"] if relaxed else None),
    )


def _cell(found: Metrics | None) -> str:
    if found is None:
        return NONE
    return f"{digits(found['seconds'])} s, {digits(found['bytes_total'] / 1e6)} MB"


def words(rows: Sequence[Row]) -> list[str]:
    """Return what the contenders are, and what they reach by class at 30 % loss."""
    texts = [
        "Links have lognormal delays with a median of 20 ms and lose messages; nodes "
        "are slow or away. Resending along a tree, and push-sum with running sums, "
        "find exact totals, so they give the model of perfect links. Relaxed ADMM, "
        "which the paper points to, averages nothing: neighbours exchange matrices, "
        "and a lost one does no harm. It gets closer with each iteration and is "
        "stopped after a fixed number. On one layer its penalty is given, and not "
        "charged."
    ]
    shown = where(rows, what=LAYER, partition="by-class", trouble=SHOWN)
    for (data,), group in grouped(shown, ("data",)).items():
        parts = [
            f"{CONTENDERS[str(row.key['contender'])]} {small(row.metrics['gap'])} "
            f"after {digits(row.metrics['seconds'])} s and "
            f"{digits(row.metrics['bytes_total'] / 1e6)} MB"
            for row in group
        ]
        texts.append(f"One layer of {data}, by class, 30 % lost: {'; '.join(parts)}.")
    exact = list(filter(_is_exact, where(rows, what=TRAINING)))
    if exact:
        n_same = sum(bool(row.metrics["same_bits"]) for row in exact)
        texts.append(
            f"Of {count(len(exact))} trainings by exact totals over bad links, "
            f"{count(n_same)} gave the model of perfect links to the last bit."
        )
    return texts


def headlines(rows: Sequence[Row]) -> list[Headline]:
    """Return the gap of relaxed ADMM where push-sum has none."""
    shown = where(
        rows, what=LAYER, partition="by-class", trouble=SHOWN, contender="relaxed"
    )
    return [
        Headline(
            "Lossy links",
            small(row.metrics["gap"]),
            "cost gap of relaxed ADMM when 30 % is lost, where exact totals leave "
            f"none, {row.key['data']} by class",
        )
        for row in shown[:1]
    ]


def figures(rows: Sequence[Row]) -> Iterator[Figure]:
    """Draw gaps against time and bytes, and the time to an exact layer by loss."""
    layers = where(rows, what=LAYER)
    for (data, partition), group in grouped(layers, ("data", "partition")).items():
        curves = [*where(group, contender="perfect"), *where(group, trouble=SHOWN)]
        if len(curves) > 1:
            for metric in ("times", "bytes"):
                yield _curves(str(data), str(partition), metric, curves)
    for (data,), group in grouped(layers, ("data",)).items():
        by_class = where(group, partition="by-class")
        if where(by_class, contender="push-sum"):
            yield _times(str(data), by_class)


def _curves(data: str, partition: str, metric: str, group: Sequence[Row]) -> Figure:
    from dssfn.experiments.imperfect.drawing import draw_curves

    quantity = "time" if metric == "times" else "bytes"
    name = file_name(NAME, data, partition, quantity)
    return Figure(
        draw_curves(name, f"{data}, {DIVIDED[partition]}", metric, group),
        f"{data.capitalize()}, divided {DIVIDED[partition]}, 30 % lost: {quantity}",
        f"How far the worst node is from the optimum, against {quantity}. Lower and "
        "further left is better. Tree and push-sum reach the exact solution; relaxed "
        "ADMM comes closer, but is stopped before.",
    )


def _times(data: str, group: Sequence[Row]) -> Figure:
    from dssfn.experiments.imperfect.drawing import draw_times

    return Figure(
        draw_times(file_name(NAME, data, "losses"), data, group),
        f"{data.capitalize()}, divided by class: time to an exact layer",
        "Simulated time until every node has the optimum, by the share of messages "
        "lost. Lower is better. Relaxed ADMM never reaches it.",
    )


EXPERIMENT = Experiment(
    name=NAME,
    title="Lossy links, delays and absent nodes",
    tasks=tasks,
    table=table,
    words=words,
    figures=figures,
    headlines=headlines,
)
