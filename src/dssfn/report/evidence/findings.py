"""What the rows say, in words and headlines. Every number is taken from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dssfn.report.blocks import Headline
from dssfn.report.evidence.select import best_of, grouped, is_quick, mean, where
from dssfn.report.evidence.tables import METHODS, place
from dssfn.report.words import count, small
from dssfn.rows import Row

NEAR_DB, NEAR_POINTS = 1.0, 1.5  # what counts as the paper's figure


def about_table2(rows: Sequence[Row]) -> list[str]:
    """How near the paper's figures are, and where ours are ahead."""
    if is_quick(rows):
        return [
            "Small networks and few samples, with the paper's settings and with ours, "
            "to see that everything runs: the differences to the paper mean nothing."
        ]
    near, far = _near_and_far(rows)
    said = [
        "The paper's settings again: 20 layers of width 1000, 100 ADMM iterations a "
        "layer, its mu for every set; all data in one place, and divided between 20 "
        f"nodes on a circle of degree 4. {len(near)} of {len(near) + len(far)} columns "
        f"are within {NEAR_DB:g} dB and {NEAR_POINTS:g} points of what was published"
        + (f"; not {', '.join(far)}." if far else ".")
    ]
    ahead, behind = _ahead(rows)
    if ahead or behind:
        said.append(
            "Our default settings on 20 nodes are ahead of the published test accuracy "
            f"on {', '.join(ahead) or 'none'}"
            + (f", and behind on {', '.join(behind)}." if behind else ".")
        )
    if any(not _is_papers(row) for row in rows):
        said.append(
            "Sets that only take the place of one of the paper's are named as such and "
            "not compared."
        )
    return said


def _is_papers(row: Row) -> bool:
    return bool(row.figures["paper"]["data"] == row.key["data"])


def _near_and_far(rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    """The columns of Table II that are met, and those that are not and by how much."""
    near, far = [], []
    ours = [row for row in where(rows, "table2", settings="paper") if _is_papers(row)]
    for (data, n_nodes), group in grouped(ours, ("data", "n_nodes")).items():
        paper = group[0].figures["paper"]
        decibels = mean(group, "train_error_db") - paper["train_error_db"]
        points = 100 * mean(group, "test_accuracy") - paper["test_accuracy"][0]
        name = f"{data} ({place(n_nodes)})"
        if abs(decibels) <= NEAR_DB and abs(points) <= NEAR_POINTS:
            near.append(name)
        else:
            far.append(f"{name[:-1]}: {decibels:+.2f} dB, {points:+.2f} points)")
    return near, [name.replace("-", "−") for name in far]


def _ahead(rows: Sequence[Row]) -> tuple[list[str], list[str]]:
    ahead: list[str] = []
    behind: list[str] = []
    ours = [row for row in where(rows, "table2", settings="default") if _is_papers(row)]
    for (data,), group in grouped(ours, ("data",)).items():
        published = group[0].figures["paper"]["test_accuracy"][0]
        found = 100 * mean(group, "test_accuracy")
        told = f"{data} ({found:.1f} against {published:g} %)"
        (ahead if found > published else behind).append(told)
    return ahead, behind


def about_satimage(rows: Sequence[Row]) -> list[str]:
    """Which change comes nearest to the published error."""
    groups = grouped(rows, ("change",))
    paper = rows[0].figures["paper"]["train_error_db"]
    errors = {
        str(change): mean(group, "train_error_db")
        for (change,), group in groups.items()
    }
    nearest = min(errors, key=lambda change: abs(errors[change] - paper))
    published = errors["as published"]
    return [
        f"The published error on 20 nodes is {_db(paper)}; the published settings give "
        f"{_db(published)}. Here each of the things that the paper leaves open is "
        "changed by itself. The nearest to the published error is: "
        f"{nearest} ({_db(errors[nearest])})."
    ]


def _db(value: float) -> str:
    return f"{value:.2f} dB".replace("-", "−")


def about_convergence(rows: Sequence[Row]) -> list[str]:
    """What the stairs are, and what krylov needs for the same."""
    said = [
        "ADMM goes down in stairs. In every layer it starts from nothing, so the cost "
        "jumps up, and within the hundred iterations of the layer it falls below where "
        "the layer before ended. Over all layers the cost falls about as a power of "
        "the number of averagings. krylov solves every layer exactly with few "
        "averagings; its marks are the ends of layers."
    ]
    ends = {
        (row.key["data"], row.key["solver"]): row.figures["averagings"][-1]
        for row in rows
    }
    for data in dict.fromkeys(row.key["data"] for row in rows):
        admm, krylov = ends.get((data, "admm")), ends.get((data, "krylov"))
        if admm and krylov:
            said[0] += (
                f" On {data} it takes {count(krylov)} averagings for all layers, ADMM "
                f"{count(admm)}."
            )
    return said


def about_degree(rows: Sequence[Row]) -> list[str]:
    """Why training time falls with the degree, and where it stops falling."""
    averaging = where(rows, "degree", part="averaging")
    gossip = grouped(where(averaging, "degree", scheme="gossip"), ("data",))
    rounds = {
        int(row.key["degree"]): row.figures["rounds"]
        for row in next(iter(gossip.values()), [])
    }
    saved = {d: (rounds[1] - rounds[d]) / (rounds[1] - 1) for d in rounds}
    most = next((d for d in saved if saved[d] >= 0.9), max(saved))
    listed = ", ".join(count(rounds[d]) for d in rounds)
    said = [
        "Only averaging depends on the degree. One gossip round leaves the share λ of "
        "the nodes' disagreement, λ being the second largest eigenvalue of the mixing "
        "matrix, so an averaging to 1e-10 takes log 1e-10 / log λ rounds: "
        f"{listed} for d = {min(rounds)} to {max(rounds)}. While 2d + 1 is small "
        "against the number of nodes, 1 − λ grows as d², and rounds fall as 1 / d².",
        "The paper reports a jump of the training time in the middle range of d. It is "
        f"the square: by d = {most}, {100 * saved[most]:.0f} % of the rounds are saved "
        "that any degree can save. Left of it time follows the rounds, right of it "
        "hardly anything is left to save, until at the largest degree all nodes are "
        "neighbours and one round is enough. On a logarithmic scale there is no jump.",
    ]
    for (data,), group in gossip.items():
        (training,) = where(rows, "degree", part="training", data=data)
        floor, times = training.figures["seconds"], training.figures["averagings"]
        spent = {
            int(row.key["degree"]): times * row.figures["seconds_measured"]
            for row in group
        }
        said.append(
            f"{str(data).capitalize()}: {count(times)} averagings take "
            f"{spent[1]:.0f} s on this machine at d = 1 and {spent[most]:.0f} s at d = "
            f"{most}, beside {floor:.0f} s of arithmetic that no degree changes."
        )
    exact = [
        row.figures["rounds"] for row in where(averaging, "degree", scheme="exact")
    ]
    if exact:
        said.append(
            f"Exact averaging takes {exact[0]} rounds at d = 1 already and "
            f"{max(exact)} at most: with it the degree hardly matters."
        )
    return said


def about_communication(rows: Sequence[Row]) -> list[str]:
    """What was compared, and the ratio at the largest size."""
    said = [
        "The paper argues that gradient descent sends n I / (Q K) times as much as "
        "dSSFN. Here it is run: a network of the same size, gradients averaged by the "
        "same consensus, until its cost is as low as that of dSSFN. It is given "
        "agreed scaling, good first weights and the best of several step sizes, whose "
        "search is not charged."
    ]
    paper = where(rows, "communication", scheme="paper")
    if paper:
        row = max(paper, key=lambda one: one.figures["descent_weights"])
        found, key = row.figures, row.key
        said.append(
            f"The largest, {key['data']} with {key['layers']} layers of "
            f"{key['width']}: {key['descent']} needs {found['descent_iterations']} "
            f"iterations{'' if found['reached'] else ' and more'}, so eta is "
            f"{small(found['eta_measured'])} where the formula with that I gives "
            f"{small(found['eta_formula'])}. "
            "I in thousands, as the paper expects, was not needed."
            * (found["reached"] and found["descent_iterations"] < 1000)
        )
    return said


def about_comparison(rows: Sequence[Row]) -> list[str]:
    """What the split costs each method."""
    said = [
        "Test accuracy against all bytes that were sent, for samples divided at "
        "random, unevenly (Dirichlet, 0.1), and with few classes a node. Federated "
        "averaging and decentralised SGD train scikit-learn's perceptrons on the same "
        "shards over the same graph, with several step sizes; the best is shown. "
        "The curves of dSSFN are the same in every split."
    ]
    for data, losses, agreement in _losses(rows):
        told = ", ".join(f"{name} {loss:.2f} points" for name, loss in losses.items())
        said.append(
            f"{data.capitalize()}, what dividing by class costs against dividing at "
            f"random: {told}. dSSFN predicts the class that one machine with all data "
            f"predicts for {100 * agreement:.6g} % of the test samples, in every split."
        )
    return said


def _losses(rows: Sequence[Row]) -> Iterator[tuple[str, dict[str, float], float]]:
    """For every set: points lost by dividing by class, and dSSFN's agreement."""
    for (data,), group in grouped(rows, ("data",)).items():
        losses = {}
        for method, name in METHODS.items():
            iid = _reached(where(group, "comparison", method=method, split="iid"))
            far = _reached(where(group, "comparison", method=method, split="by-class"))
            if iid is not None and far is not None:
                losses[name] = 100 * (iid - far)
        agreed = [
            row.figures["prediction_agreement"]
            for row in where(group, "comparison", method="dssfn")
        ]
        if losses and agreed:
            yield str(data), losses, min(agreed)


def _reached(group: Sequence[Row]) -> float | None:
    """The accuracy of a method: at its end for dSSFN, at its best for the others."""
    best = best_of(group)
    if best is None:
        return None
    last = best.key["method"] == "dssfn"
    found: float = best.figures["last_accuracy" if last else "best_accuracy"]
    return found


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
    table2 = where(rows, "table2")
    near, far = _near_and_far(table2) if not is_quick(table2) else ([], [])
    if near or far:
        words = f"within {NEAR_DB:g} dB and {NEAR_POINTS:g} points of the paper"
        together = f"{len(near)} of {len(near) + len(far)}"
        found.append(Headline("Table II, columns", together, words))
    ahead, behind = _ahead(table2) if not is_quick(table2) else ([], [])
    if ahead or behind:
        words = "sets, default settings, test accuracy"
        together = f"{len(ahead)} of {len(ahead) + len(behind)}"
        found.append(Headline("Ahead of the paper", together, words))
    found += _fewer_averagings(rows)
    eta = where(rows, "communication", scheme="paper")
    if eta:
        row = max(eta, key=lambda one: one.figures["descent_weights"])
        words = f"numbers sent by gradient descent over dSSFN's, {row.key['data']}"
        found.append(Headline("Eta", small(row.figures["eta_measured"]), words))
    for data, losses, _ in _losses(where(rows, "comparison")):
        if METHODS["fedavg"] in losses:
            words = (
                f"points lost by one class a node, {data}; federated averaging: "
                f"{losses[METHODS['fedavg']]:.2f}"
            )
            lost = abs(losses[METHODS["dssfn"]])
            found.append(Headline("Split by class", f"{lost:.2f}", words))
            break
    return found


def _fewer_averagings(rows: Sequence[Row]) -> list[Headline]:
    ends = {
        (row.key["data"], row.key["solver"]): row.figures["averagings"][-1]
        for row in where(rows, "convergence")
    }
    for data, solver in ends:
        if solver == "admm" and (data, "krylov") in ends:
            ratio = ends[data, "admm"] / ends[data, "krylov"]
            words = f"fewer averagings by krylov than by ADMM, {data}"
            return [Headline("Exchanges", f"{ratio:.0f} times", words)]
    return []
