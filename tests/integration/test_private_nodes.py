"""Differential privacy over real processes and real TLS."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from dssfn.node.agreement import AGREEMENT
from dssfn.transports.recording import recorded_letters
from tests.support.commands import dssfn, wrong
from tests.support.federations import init, local, refused, run_all, start
from tests.support.lab import FEATURES, digits_of

pytestmark = pytest.mark.grpc
pytest.importorskip("dp_accounting")

NAMES = ("a", "b", "c")
RANGE = ("--input-low", 0, "--input-high", 16)
PLAN = (
    "--classes",
    ",".join(map(str, range(10))),
    "--features",
    ",".join(FEATURES),
    "--target",
    "digit",
)


def write_digits(folder, drop=0):
    for k, name in enumerate(NAMES):
        X, y = digits_of(k, len(NAMES))
        rows = [",".join([*FEATURES, "digit"])]
        rows += [
            ",".join([*map(str, x), str(label)]) for x, label in zip(X, y, strict=True)
        ]
        (folder / name / "data.csv").write_text("\n".join(rows[: len(rows) - drop]))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    root = tmp_path_factory.mktemp("private")
    fed = local(root / "fed", NAMES, *PLAN, *RANGE, "--epsilon", 4, "--width", 100)
    write_digits(fed)
    ended = run_all(fed, NAMES, "node run", "--record", root / "{name}")
    return root, fed, ended


def test_all_nodes_have_one_model_and_say_what_it_cost(trained):
    _, fed, _ = trained
    results = [
        json.loads((fed / name / "out" / "result.json").read_text()) for name in NAMES
    ]
    assert len({one["sha256"] for one in results}) == 1
    for one in results:
        spent = one["privacy"].pop("spent")
        assert one["privacy"] == {"epsilon": 4.0, "delta": 1e-5, "colluders": 1}
        assert 3.99 < spent <= 4
        assert one["train_accuracy"] > 0.5
    assert dssfn("card", fed / "a" / "out" / "model.safetensors").exit_code == 0


def test_letters_are_noise_by_their_masks(trained):
    root, _, _ = trained
    for name in NAMES:
        upwards = [
            values
            for head, values in recorded_letters(root / name)
            if head.layer != AGREEMENT and head.round == 0
        ]
        for values in upwards:
            if values.size > 500:
                counts = np.bincount(values.view(np.uint8).ravel(), minlength=256)
                assert counts.max() < 2 * counts.mean()


def test_a_node_that_begins_anew_sends_what_it_sent_and_spends_nothing(trained):
    """All begin from scratch with the same data: the same model, to the last bit."""
    _, fed, _ = trained
    before = (fed / "a" / "out" / "model.safetensors").read_bytes()
    ledgers = {
        name: next((fed / name / "out").glob("privacy-*.json")).read_bytes()
        for name in NAMES
    }
    run_all(fed, NAMES, "node run", "--fresh")
    assert (fed / "a" / "out" / "model.safetensors").read_bytes() == before
    for name in NAMES:
        kept = next((fed / name / "out").glob("privacy-*.json")).read_bytes()
        assert kept == ledgers[name]


def test_other_data_would_cost_more_than_the_budget(trained, tmp_path):
    _, fed, _ = trained
    copy = tmp_path / "fed"
    shutil.copytree(fed, copy)
    write_digits(copy, drop=1)
    running = {name: start(copy, name, "node run", "--fresh") for name in NAMES}
    ended = {name: one.communicate(timeout=300) for name, one in running.items()}
    assert any("budget of 4 is spent" in error for _, error in ended.values()), ended
    assert all(one.returncode != 0 for one in running.values())


def test_a_check_says_what_is_spent(trained):
    _, fed, _ = trained
    shown = dssfn("node", "check", fed / "a", "--json")
    line = next(
        row for row in json.loads(shown.stdout)["findings"] if row["what"] == "privacy"
    )
    assert "epsilon 4, delta 1e-05 against any 1 of the others" in line["text"]
    assert "spent by this node so far: 4" in line["text"]


def test_exact_statistics_are_not_for_private_plans(trained):
    _, fed, _ = trained
    error = wrong("federation", "statistics", fed / "a")
    assert "privacy budget `epsilon`" in error


def test_a_plan_that_cannot_be_private_is_refused(tmp_path):
    folder = tmp_path / "fed"
    assert "`--input-low` is missing" in refused(folder, *PLAN, "--epsilon", 1)
    plain = ("--no-secure", "--epsilon", 1)
    assert "needs `--secure`: each" in refused(folder, *PLAN, *RANGE, *plain)
    init(folder, *PLAN, *RANGE, "--epsilon", 1)
    assert "epsilon = 1.0" in (folder / "plan.toml").read_text()


def test_a_simulation_is_private_and_has_nothing_to_compare_with(tmp_path):
    private = ("simulate", "--data", "digits", "--nodes", 3, "--epsilon", 8, *RANGE)
    shown = dssfn(*private, "--secure", "--json", "--out", tmp_path / "out")
    assert json.loads(shown.stdout)["privacy"]["epsilon"] == 8
    assert dssfn("report", tmp_path / "out").exit_code == 0
    assert "nothing to compare with" in wrong(*private, "--check-equivalence")
