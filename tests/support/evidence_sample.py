"""Rows of all experiments as `dssfn reproduce` makes them, without training."""

from __future__ import annotations

from dssfn.experiments import table2
from dssfn.experiments.paper import published
from dssfn.experiments.registry import EXPERIMENTS
from dssfn.report.evidence.page import draw_evidence, make_evidence_page
from dssfn.report.evidence.selection import of_experiment
from dssfn.rows import Row


def row(experiment, key, metrics):
    """A row with its versions."""
    return Row(experiment, key, metrics, 90.0, {"dssfn": "0.0", "numpy": "2.0"})


def check_made_rows(experiment):
    """Really make the first and the last row, and find both in table and figures."""
    tasks = experiment.tasks(quick=True, seeds=[0])
    made = [
        row(task.experiment, task.key, task.run()) for task in tasks[:: len(tasks) - 1]
    ]
    table = experiment.table(made)
    assert len(table.rows) == 2
    assert all(len(line) == len(table.head) for line in table.rows)
    assert "Reduced sizes" in table.note
    page, drawings = page_of(made)
    assert page.count("<figure ") == len(drawings) == 2


def page_of(rows):
    """The page of rows, and its drawings by name."""
    drawn = draw_evidence(rows, EXPERIMENTS.values())
    drawings = {
        one.drawing.name: one.drawing for some in drawn.values() for one in some
    }
    return make_evidence_page(rows, drawn, EXPERIMENTS.values()), drawings


def page_without_figures(rows):
    """The page of rows if nothing was drawn."""
    return make_evidence_page(rows, {}, EXPERIMENTS.values())


def sample_of(experiment, *, quick=False):
    """A few rows of an experiment."""
    return of_experiment(sample_rows(quick=quick), experiment)


def sample_rows(*, quick=False):
    """A few rows of every experiment."""
    every = (
        _table2,
        _satimage,
        _convergence,
        _degree,
        _communication,
        _comparison,
        _imperfect,
    )
    return [
        row(experiment, {**key, "quick": quick}, metrics)
        for make in every
        for experiment, key, metrics in make()
    ]


def table2_metrics(data, n_nodes, *, db=-50.0, test=0.6):
    """The metrics of a row of Table II."""
    found = {"train_accuracy": 0.99, "train_error_db": db, "test_accuracy": test}
    return found | published(data, n_nodes)


def _table2():
    for data, db, test in (
        ("vowel", -51.0, 0.59),
        ("letter", -17.0, 0.92),
        ("mnist", -9.0, 0.952),
        ("norb_subset3", -8.0, 0.8),
    ):
        for column in table2.columns_of(data):
            for seed in (0, 1):
                key = {"data": data, "settings": column.settings}
                key |= {"n_nodes": column.n_nodes, "seed": seed}
                metrics = table2_metrics(
                    data, column.n_nodes, db=db - seed, test=test + 0.005 * seed
                )
                yield "table2", key, metrics


def _satimage():
    for change, db in (("as published", -8.3), ("mu_l = 1", -9.4), ("alpha = 1", -7)):
        key = {"data": "satimage", "change": change, "seed": 0}
        yield "satimage", key, table2_metrics("satimage", 20, db=db)


def _convergence():
    costs = [100.0 / (layer + 1) ** 0.5 * (1 + 1 / k)
             for layer in range(3) for k in range(1, 11)]  # fmt: skip
    key = {"data": "letter", "seed": 0}
    curve = {"averagings": list(range(1, 31)), "cost": costs}
    yield "convergence", {**key, "solver": "admm"}, curve
    curve = {"averagings": [3, 5, 6], "cost": [100.0, 70.0, 55.0]}
    yield "convergence", {**key, "solver": "krylov"}, curve


def _degree():
    key = {"data": "letter", "part": "training", "seed": 0}
    yield "degree", key, {"seconds": 20.0, "averagings": 2101}
    for d in range(1, 11):
        for scheme, rounds in (
            ("gossip", 1400 // (d * (d + 1)) if d < 10 else 1),
            ("chebyshev", 80 // d if d < 10 else 1),
            ("exact", 11 - d),
        ):
            key = {"data": "letter", "part": "averaging", "degree": d, "scheme": scheme}
            metrics = {"rounds": rounds, "contraction": 0.5}
            metrics |= {"seconds_measured": 1e-3 * rounds}
            metrics |= {"seconds_modelled": 0.02 * rounds}
            yield "degree", key, metrics


def _communication():
    for scheme, numbers in (("paper", 1e9), ("gram", 1e7), ("krylov", 2e7)):
        key = {"data": "letter", "layers": 2, "width": 100, "descent": "adam"}
        metrics = {
            "dssfn_cost": [100.0, 70.0, 55.0],
            "dssfn_cost_scalars": [numbers / 3, numbers / 2, numbers],
            "dssfn_scalars_per_node": numbers,
            "dssfn_rounds": 1000,
            "dssfn_consensus": "gossip" if scheme == "paper" else "tree",
            "descent_rate": 3e-4,
            "descent_cost": [200.0, 90.0, 50.0],
            "descent_cost_scalars": [0, 1e10, 2e10],
            "descent_iterations": 2,
            "descent_scalars_per_node": 2e10,
            "descent_rounds": 130,
            "descent_weights": 5000,
            "reached": scheme != "krylov",
            "eta_measured": 2e10 / numbers,
            "eta_formula": 25.0,
        }
        yield "communication", {**key, "scheme": scheme, "seed": 0}, metrics


def _comparison():
    lost = {"iid": 0.0, "dirichlet:0.1": 0.03, "by-class": 0.2}
    for split, less in lost.items():
        key = {"data": "letter", "split": split, "seed": 0}
        for setting, width in (("default", 1000), ("small", 300)):
            metrics = _curve([0.8, 0.95, 0.94]) | {"prediction_agreement": 1.0}
            metrics["predictions_sha256"] = "same"
            own = {"method": "dssfn", "setting": setting, "layers": 5, "width": width}
            yield "comparison", key | own, metrics
        for method in ("fedavg", "dpsgd"):
            found = [0.5 - less, 0.9 - less]
            for rate, curve in (("rate 0.1", found), ("rate 9", [])):
                method_key = {**key, "method": method, "setting": rate}
                yield "comparison", method_key, _curve(curve)


def _imperfect():
    ends = {"perfect": 0.0, "tree": 0.0, "push-sum": 0.0, "relaxed": 0.2}
    key = {"data": "letter", "partition": "by-class", "seed": 0}
    for what in ("layer", "training"):
        for contender, gap in ends.items():
            trouble = "loss 0" if contender == "perfect" else "loss 30"
            found = {"seconds": 9.0, "bytes_total": 4_000_000, "gap": gap}
            found |= {"distance": gap, "same_bits": not gap}
            found |= {"times": [0.1, 9.0], "bytes": [10, 4_000_000], "gaps": [4.0, gap]}
            names = {"what": what, "trouble": trouble, "contender": contender}
            yield "imperfect", {**key, **names}, found


def _curve(accuracies):
    sent = [1_000_000 * 4**i for i in range(len(accuracies))]
    best = max(accuracies, default=None)
    return {
        "bytes_total": sent,
        "test_accuracy": accuracies,
        "last_accuracy": accuracies[-1] if accuracies else None,
        "best_accuracy": best,
        "best_bytes": sent[accuracies.index(best)] if accuracies else None,
    }
