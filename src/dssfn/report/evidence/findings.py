"""What the rows say, in words and headlines. Every number is taken from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dssfn.report.evidence.select import (
    averagings_of_both,
    best_of,
    degree_rows,
    deviation,
    grouped,
    is_papers,
    is_quick,
    largest_descent,
    mean,
    reached,
    where,
)
from dssfn.report.evidence.tables import METHODS, place
from dssfn.report.html import Headline
from dssfn.report.numbers import count, decibel, digits, plural, small
from dssfn.rows import Row

AS_PUBLISHED = "as published"
NEAR_DB, NEAR_POINTS = 1.0, 1.5  # what counts as the paper's figure
SHOWN = (1, 2, 4, 7, 10)  # degrees whose times are told
MOST_SAVED = 0.9  # of the rounds that any degree can save


def about_table2(rows: Sequence[Row]) -> list[str]:
    """How near the paper's figures are, and where ours are ahead."""
    if is_quick(rows):
        return [
            "Small networks and few samples, with the paper's settings and with ours, "
            "to see that everything runs: the differences to the paper mean nothing."
        ]
    near, far = _near_and_far(rows, "paper")
    said = [
        "The paper's settings again: 20 layers of width 1000, 100 ADMM iterations a "
        "layer, its mu for every set; all data in one place, and divided between 20 "
        "nodes on a circle of degree 4."
    ]
    if near or far:
        said[0] += (
            f" {len(near)} of {len(near) + len(far)} columns are within {NEAR_DB:g} dB "
            f"and {NEAR_POINTS:g} points of what was published"
            + (f"; not {', '.join(far)}." if far else ".")
        )
    for settings, inputs in (("range", "in [-1, 1]"), ("scaled", "scaled")):
        near, far = _near_and_far(rows, settings)
        if near or far:
            said.append(
                f"With inputs {inputs}, {', '.join(near) or 'none'} would be"
                + (f"; not {', '.join(far)}." if far else ".")
            )
    ahead, behind = _ahead(rows)
    if ahead or behind:
        said.append(
            "Our default settings on 20 nodes are ahead of the published test accuracy "
            f"on {', '.join(ahead) or 'none'}"
            + (f", and behind on {', '.join(behind)}" if behind else "")
            + ". They were compared on validation data, but not without any knowledge "
            "of test results: docs/performance.md tells how."
        )
    if any(not is_papers(row) for row in rows):
        said.append(
            "Sets that only take the place of one of the paper's are named as such and "
            "not compared."
        )
    return said


def _near_and_far(rows: Sequence[Row], settings: str) -> tuple[list[str], list[str]]:
    """The columns of Table II that are met, and those that are not and by how much."""
    near: list[str] = []
    far: list[str] = []
    ours = [row for row in where(rows, "table2", settings=settings) if is_papers(row)]
    for (data, n_nodes), group in grouped(ours, ("data", "n_nodes")).items():
        paper = group[0].metrics["paper"]
        decibels = mean(group, "train_error_db") - paper["train_error_db"]
        points = 100 * mean(group, "test_accuracy") - paper["test_accuracy"][0]
        name = f"{data} ({place(n_nodes)}: {decibels:+.2f} dB, {points:+.2f} points)"
        is_near = abs(decibels) <= NEAR_DB and abs(points) <= NEAR_POINTS
        (near if is_near else far).append(name.replace("-", "−"))
    return near, far


def _ahead(rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    ahead: list[str] = []
    behind: list[str] = []
    ours = [row for row in where(rows, "table2", settings="default") if is_papers(row)]
    for (data,), group in grouped(ours, ("data",)).items():
        published = group[0].metrics["paper"]["test_accuracy"][0]
        found = 100 * mean(group, "test_accuracy")
        around = 100 * deviation(group, "test_accuracy")
        told = f"{data} ({found:.2f} ± {around:.2f} against {published:g} %)"
        (ahead if found > published else behind).append(told)
    return ahead, behind


def about_satimage(rows: Sequence[Row]) -> list[str]:
    """Which change comes nearest to the published error."""
    if is_quick(rows):
        return ["A small network and few samples, to see that everything runs."]
    paper = rows[0].metrics["paper"]["train_error_db"]
    errors = {
        str(change): mean(group, "train_error_db")
        for (change,), group in grouped(rows, ("change",)).items()
    }
    said = [f"The published train error on 20 nodes is {decibel(paper)}."]
    if AS_PUBLISHED in errors:
        said[0] += f" The published settings give {decibel(errors[AS_PUBLISHED])}."
    nearest = min(errors, key=lambda change: abs(errors[change] - paper))
    said[0] += (
        " Here one thing is changed at a time. What comes nearest to the published "
        f"error is: {nearest} ({decibel(errors[nearest])})."
    )
    return said


def about_convergence(rows: Sequence[Row]) -> list[str]:
    """What the stairs are, and what krylov needs for the same."""
    said = [
        "ADMM goes down in stairs, one for every layer; it starts each of them from "
        "nothing, which shows as a spike where a layer gains little. Over all layers "
        "the cost falls about as a power of the number of averagings. krylov solves "
        "every layer exactly with few averagings; its marks are the ends of layers."
    ]
    for data, (admm, krylov) in averagings_of_both(rows).items():
        said[0] += (
            f" On {data} it takes {count(krylov)} averagings for all layers, ADMM "
            f"{count(admm)}."
        )
    return said


def about_degree(rows: Sequence[Row]) -> list[str]:
    """Why training time falls with the degree, and where it stops falling."""
    said = [
        "Only averaging depends on the degree. One gossip round leaves the share λ of "
        "the nodes' disagreement, λ being the second largest eigenvalue of the mixing "
        "matrix, so an averaging to 1e-10 takes log 1e-10 / log λ rounds. While 2d + 1 "
        "is small against the number of nodes, 1 − λ grows as d (d + 1)."
    ]
    found = degree_rows(rows)
    for one in found[:1]:
        rounds = {d: row["rounds"] for d, row in one.schemes.get("gossip", {}).items()}
        if len(rounds) > 1:
            said.append(_about_rounds(dict(sorted(rounds.items()))))
    for one in found:
        times = one.times("gossip", "estimated")
        told = ", ".join(
            f"{t:.0f} s at d = {d}" for d, t in times.items() if d in SHOWN
        )
        said.append(
            f"{one.data.capitalize()}, on this machine, estimated from one timed "
            f"averaging: {told}, of which {one.training['seconds']:.0f} s are "
            "arithmetic that no degree changes."
        )
    exact = found[0].schemes.get("exact") if found else None
    if exact:
        least, most = min(exact), max(one["rounds"] for one in exact.values())
        said.append(
            f"Exact averaging takes {exact[least]['rounds']} rounds at d = {least} "
            f"already and {most} at most."
        )
    return said


def _about_rounds(rounds: dict[int, int]) -> str:
    """Where the rounds of gossip are saved, and what that would explain."""
    least, most = min(rounds), max(rounds)
    whole = max(rounds[least] - rounds[most], 1)
    saved = {d: (rounds[least] - rounds[d]) / whole for d in rounds}
    enough = next(d for d in saved if saved[d] >= MOST_SAVED)
    listed = ", ".join(map(count, rounds.values()))
    return (
        f"That is {listed} rounds for d = {least} to {most}. By d = {enough}, "
        f"{100 * saved[enough]:.0f} % of what can be saved is saved: left of it the "
        "training time follows the rounds, right of it there is little more to save. "
        "This would explain the jump in the middle range of d that the paper reports; "
        "the rounds themselves jump only at the end, when all nodes become neighbours."
    )


def about_communication(rows: Sequence[Row]) -> list[str]:
    """What was compared, and the ratio at the largest size."""
    said = [
        "The paper argues that gradient descent sends n I / (Q K) times as much as "
        "dSSFN. Here it is run: a network of the same size, gradients averaged by the "
        "same consensus, until its cost is as low as that of dSSFN. It is given "
        "agreed scaling, good first weights, and the step size that is best after a "
        "few iterations on a part of the samples; this search is not charged."
    ]
    row = largest_descent(rows)
    if row:
        found, key = row.metrics, row.key
        more = "" if found["reached"] else "more than "
        told = (
            f"The largest, {key['data']} with {key['layers']} layers of "
            f"{key['width']}: {key['descent']} needs {more}"
            f"{plural(found['descent_iterations'], 'iteration')}, so eta is {more}"
            f"{digits(found['eta_measured'])}; the formula with that I gives "
            f"{digits(found['eta_formula'])}."
        )
        if found["reached"] and found["descent_iterations"] < 1000:
            told += " I in the order of thousands, as the paper has it, was not needed."
        said.append(told)
    checked = [row.metrics.get("decentralised_difference") for row in rows]
    apart = [one for one in checked if one is not None]
    if apart:
        said.append(
            "Descent was computed in one place. Where the network is small enough, its "
            "first iterations were made over the nodes too: the weights differ by "
            f"{small(max(apart))} at most."
        )
    return said


def about_comparison(rows: Sequence[Row]) -> list[str]:
    """What the split costs each method."""
    said = [
        "Test accuracy against all bytes that were sent, for samples divided at "
        "random, with few classes a node, and unevenly (Dirichlet, 0.1). Federated "
        "averaging and decentralised SGD train scikit-learn's perceptrons on the same "
        "shards over the same graph, with several step sizes; the best is shown."
    ]
    for (data,), group in grouped(rows, ("data",)).items():
        losses = _losses(group)
        if losses:
            told = ", ".join(f"{name} {loss:.2f}" for name, loss in losses.items())
            said.append(
                f"{str(data).capitalize()}, points of test accuracy that dividing by "
                f"class costs against dividing at random: {told}.{_about_dssfn(group)}"
            )
    return said


def _about_dssfn(rows: Sequence[Row]) -> str:
    """Whether dSSFN depends on the split, and agrees with one machine."""
    ours = where(rows, "comparison", method="dssfn")
    same = all(
        row.metrics[figure] == group[0].metrics[figure]
        for group in grouped(ours, ("setting", "seed")).values()
        for row in group
        for figure in ("test_accuracy", "bytes_total", "predictions_sha256")
    )
    agreed = min((row.metrics["prediction_agreement"] for row in ours), default=0.0)
    return (
        " The curves of dSSFN are the same in every split, to the last prediction."
        if same
        else " The curves of dSSFN differ between the splits."
    ) + (
        " Its class is that of one machine with all data for "
        f"{'' if agreed == 1 else 'at least '}{100 * agreed:.6g} % of the test samples."
    )


def _losses(rows: Sequence[Row]) -> dict[str, float]:
    """Points that every method loses by dividing by class."""
    losses = {}
    for method, name in METHODS.items():
        of_method = where(rows, "comparison", method=method)
        iid, far = (
            best_of([row for row in of_method if row.key["split"] == split])
            for split in ("iid", "by-class")
        )
        if iid and far:
            losses[name] = 100 * (reached(iid)[0] - reached(far)[0])
    return losses


ABOUT: dict[str, Callable[[Sequence[Row]], list[str]]] = {
    "table2": about_table2,
    "satimage": about_satimage,
    "convergence": about_convergence,
    "degree": about_degree,
    "communication": about_communication,
    "comparison": about_comparison,
}


def headlines(rows: Sequence[Row]) -> list[Headline]:
    """The figures that matter, as far as the rows have them."""
    found = []
    table2 = where(rows, "table2", quick=False)
    near, far = _near_and_far(table2, "paper")
    if near or far:
        words = f"within {NEAR_DB:g} dB and {NEAR_POINTS:g} points of the paper"
        together = f"{len(near)} of {len(near) + len(far)}"
        found.append(Headline("Table II, columns", together, words))
    ahead, behind = _ahead(table2)
    if ahead or behind:
        words = "sets, default settings, test accuracy"
        together = f"{len(ahead)} of {len(ahead) + len(behind)}"
        found.append(Headline("Ahead of the paper", together, words))
    for data, (admm, krylov) in averagings_of_both(rows).items():
        words = f"fewer averagings by krylov than by ADMM, {data}"
        found.append(Headline("Averagings", f"{admm / krylov:.0f} times", words))
        break
    row = largest_descent(rows)
    if row:
        words = f"numbers sent by gradient descent over dSSFN's, {row.key['data']}"
        eta = digits(row.metrics["eta_measured"])
        more = "" if row.metrics["reached"] else "> "
        found.append(Headline("Eta", f"{more}{eta}", words))
    for (name,), group in grouped(where(rows, "comparison"), ("data",)).items():
        losses = _losses(group)
        if {METHODS["dssfn"], METHODS["fedavg"]} <= losses.keys():
            words = (
                f"points lost by dividing by class, {name}; federated averaging: "
                f"{losses[METHODS['fedavg']]:.2f}"
            )
            lost = f"{losses[METHODS['dssfn']]:.2f}"
            found.append(Headline("Split by class", lost, words))
            break
    return found
