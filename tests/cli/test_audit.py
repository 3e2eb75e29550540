"""`dssfn audit` on simulated trainings: its table, its files, its errors."""

from __future__ import annotations

import json

import pytest

from tests.support.audits import HEART, HOSPITALS, heart_schema
from tests.support.commands import dssfn, wrong

STAR = ("--data", "digits", "--nodes", 4, "--topology", "star")
FIXED = ("--layers", 1, "--width", 20)


def audit(*args):
    result = dssfn("audit", *args, "--json", "--quiet")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def errors(report, kind, *, masked):
    """The errors of Y Y^T of an attack: from letters, and from the total."""
    (attack,) = (
        one
        for one in report["attacks"]
        if one["kind"] == kind and one["masked"] is masked
    )
    return [one and one["gram_error"] for one in (attack["letters"], attack["total"])]


def test_every_kind_of_attacker_is_tried_without_masks_and_with_them():
    report = audit(*STAR)
    for kind in ("neighbour", "hub", "root", "2 together"):
        assert errors(report, kind, masked=False)[0] < 1e-9
        assert errors(report, kind, masked=True)[0] > 0.9
    for masked in (False, True):
        letters, total = errors(report, "all others", masked=masked)
        assert letters is None
        assert total < 1e-9
    assert report["masks"] == "on and off"
    assert sum(report["rows"].values()) == 1347


@pytest.mark.parametrize("solver", ["krylov", "admm"])
def test_a_solver_of_real_numbers_has_no_masks_and_the_table_says_so(solver):
    report = audit(*STAR, *FIXED, "--solver", solver)
    assert errors(report, "hub", masked=False)[0] < 1e-8
    assert not any(one["masked"] for one in report["attacks"])
    assert report["masks"].startswith("not possible")
    shown = dssfn("audit", *STAR, *FIXED, "--solver", solver, "--quiet")
    assert shown.exit_code == 0
    assert "Masks are not possible" in shown.stdout
    assert "% of 65" in " ".join(shown.stdout.split())


def test_the_table_has_a_line_for_every_attack():
    shown = dssfn("audit", *STAR, "--quiet").stdout
    for words in ("neighbour: 0", "hub: 0", "root: 0", "all others", "recovered"):
        assert words in shown
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_attackers_and_victims_may_be_named():
    report = audit(*STAR, *FIXED, "--attackers", "0,2", "--victim", "3")
    assert [one["attackers"] for one in report["attacks"]] == [["0", "2"]] * 2
    assert [one["victim"] for one in report["attacks"]] == ["3"] * 2
    assert errors(report, "members", masked=False)[0] < 1e-9
    report = audit(*STAR, *FIXED, "--together", 2, "--victim", "3")
    assert errors(report, "2 together", masked=True)[0] > 0.9
    assert {one["victim"] for one in report["attacks"]} == {"3"}


def test_figures_and_pictures_are_written(tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "out"
    shown = dssfn("audit", *STAR, "--out", out, "--quiet")
    assert shown.exit_code == 0, shown.output
    assert "audit.json" in shown.stdout
    assert "audit.png" in shown.stdout
    assert json.loads((out / "audit.json").read_text())["solver"] == "gram"
    assert (out / "audit.png").read_bytes().startswith(b"\x89PNG")


def test_inputs_that_are_no_pictures_have_none(tmp_path):
    iris = ("--data", "iris", "--nodes", 3, "--topology", "star")
    assert dssfn("audit", *iris, "--out", tmp_path / "out").exit_code == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["audit.json"]


def test_tables_of_four_hospitals_are_audited(tmp_path):
    if not HEART.is_dir():
        pytest.skip("needs the folder of real data; set DSSFN_DATA_DIR")
    tables = ["--schema", heart_schema(tmp_path), "--topology", "star"]
    for name in HOSPITALS:
        tables += ["--shard", HEART / f"{name}.csv"]
    report = audit(*tables)
    assert errors(report, "hub", masked=False)[0] < 1e-9
    assert errors(report, "hub", masked=True)[0] > 0.9
    for solver in ("krylov", "admm"):
        report = audit(*tables, *FIXED, "--solver", solver)
        assert errors(report, "hub", masked=False)[0] < 1e-8


def test_a_regression_has_no_classes_and_is_audited(tmp_path):
    table = tmp_path / "homes.csv"
    rows = [f"{k},{k * k % 17},{3 * k % 7}" for k in range(60)]
    table.write_text("\n".join(["area,age,price", *rows]) + "\n")
    schema = tmp_path / "schema.toml"
    made = dssfn("schema", table, "--target", "price", "--number", "--out", schema)
    assert made.exit_code == 0, made.output
    report = audit(
        "--data", table, "--schema", schema, "--nodes", 3, "--topology", "star"
    )
    (first, *_) = report["attacks"]
    assert first["letters"]["gram_error"] < 1e-9
    assert first["letters"]["class_means_error"] is None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--victim", "7"), "`--victim` must be one of the nodes"),
        (("--attackers", "0,9"), "`--attackers` must be one of the nodes"),
        (("--attackers", "0,1", "--victim", "1"), "must not include the victim"),
        (("--attackers", "0,1,2,3"), "leave somebody"),
        (("--together", 4), "`--together` must lie in 1..3"),
        (("--together", 0), "`--together` must lie in 1..3"),
        (("--together", 2, "--attackers", "0"), "either"),
        (("--plan", "plan.toml"), "`--plan` must come with `--recorded`"),
        (("--victim-data", "a.csv"), "`--victim-data` must come with `--recorded`"),
        (("--model", "model.safetensors"), "`--recorded`"),
        (("--solver", "newton"), "must be one of"),
    ],
)
def test_attacks_that_there_are_none_of_are_refused(options, says):
    assert says in wrong("audit", *STAR, *options, "--quiet")


def test_a_network_of_one_or_of_too_many_is_refused():
    one = ("--data", "iris", "--topology", "complete", "--nodes")
    assert "at least 2" in wrong("audit", *one, 1)
    assert "coalitions" in wrong("audit", *one, 40, "--together", 8)


def test_nothing_is_left_of_an_audit_that_fails(tmp_path):
    wrong("audit", *STAR, "--victim", "9", "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_recording_of_nodes_that_come_and_go_is_refused(tmp_path):
    plan = ("--nodes", "a,b,c,d,e", "--target", "y", "--classes", "p,q")
    made = dssfn(
        "federation", "init", tmp_path / "fed", *plan, "--features", "u,v",
        "--host", "127.0.0.1", "--quorum", 3,
    )  # fmt: skip
    assert made.exit_code == 0, made.output
    said = wrong(
        "audit", "--recorded", tmp_path, "--plan", tmp_path / "fed" / "plan.toml"
    )
    assert "must be a run of a plan without a `quorum`" in said
    assert "do not say which nodes took part" in said
