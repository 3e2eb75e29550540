"""`dssfn federation statistics`: real nodes, over TLS, with tables of their own."""

from __future__ import annotations

import json
import os
import signal
import stat
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pytest

from dssfn.statistics.figures import Statistics
from dssfn.transports.grpc import exchange_pb2 as pb
from tests.support import federations, totals
from tests.support.commands import dssfn, wrong
from tests.support.federations import change_plan, init, local
from tests.support.lab import digits_of
from tests.support.recorded import written

pytestmark = pytest.mark.grpc

HEART = Path(os.environ.get("DSSFN_DATA_DIR", "")) / "heart"
HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
STATISTICS = "federation statistics"
FILES = ("statistics.json", "statistics.html")


def run_all(folder, names, *options, **settings):
    return federations.run_all(folder, names, STATISTICS, *options, **settings)


def statistics_of(folder, name):
    content = json.loads((folder / name / "out" / "statistics.json").read_text())
    return msgspec.convert(content, Statistics)


def check_alike(folder, ended):
    """What is agreed is the same, and everybody was told so; return it."""
    found = {name: statistics_of(folder, name) for name in ended}
    (agreed,) = {msgspec.json.encode(one.agreed) for one in found.values()}
    (digest,) = {one.sha256 for one in found.values()}
    for name, (out, _) in ended.items():
        assert f"sha256  {digest}\n" in out
        assert digest in (folder / name / "out" / "node.log").read_text()
        for file in FILES:
            path = folder / name / "out" / file
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert digest in path.read_text()
    return msgspec.json.decode(agreed), found


# --- four hospitals -----------------------------------------------------------------


@pytest.fixture
def heart(tmp_path):
    if not HEART.is_dir():
        pytest.skip("needs the folder of real data; set DSSFN_DATA_DIR")
    schemas = []
    for name in HOSPITALS:
        schemas.append(tmp_path / f"{name}.toml")
        groups = ("--group", "healthy=0", "--group", "sick=1,2,3,4")
        made = dssfn("schema", HEART / f"{name}.csv", "--target", "num", *groups,
                     "--out", schemas[-1])  # fmt: skip
        assert made.exit_code == 0, made.output
    merged = tmp_path / "schema.toml"
    assert dssfn("schema", "merge", *schemas, "--out", merged).exit_code == 0
    folder = local(tmp_path / "fed", HOSPITALS, "--schema", merged)
    for name in HOSPITALS:
        content = (HEART / f"{name}.csv").read_bytes()
        (folder / name / "data.csv").write_bytes(content)
    return folder


def test_four_hospitals_agree_and_see_what_is_different_at_each(heart):
    ended = run_all(heart, HOSPITALS)
    agreed, found = check_alike(heart, ended)
    frames = [pd.read_csv(HEART / f"{name}.csv") for name in HOSPITALS]
    pooled = pd.concat(frames)
    everybody = agreed["all"]
    assert everybody["rows"] == len(pooled) == 920
    assert "sites" not in agreed
    for one in everybody["columns"]:
        values = pooled[one["name"]]
        n_missing = int(values.isna().sum())
        if 0 < n_missing < 5:
            assert one["missing"] == "fewer than 5"
            continue
        assert one.get("missing", 0) == n_missing
        if one["kind"] == "number":
            assert one["there"] == values.count()
            assert one["mean"] == pytest.approx(values.mean(), rel=1e-14)
            assert one["deviation"] == pytest.approx(values.std(ddof=0), rel=1e-13)
        elif one["kind"] == "category":
            counts = values.dropna().astype(int).astype(str).value_counts()
            assert {x["name"]: x["count"] for x in one["levels"]} == counts.to_dict()
    assert [one["count"] for one in everybody["target"]["levels"]] == [411, 509]
    remarks = [(one.column, one.text) for one in found["switzerland"].stands_out]
    assert ("chol", "all rows that have a value have the same one here") in remarks
    assert ("ca", "at other nodes, but not here: `0`, `3`") in remarks
    # Nobody else has seen that, nor any other figure of Switzerland's own.
    assert "have the same one here" not in (heart / "va" / "out" / FILES[1]).read_text()


def test_published_figures_of_every_hospital_are_the_same_everywhere(heart):
    change_plan(heart, publish_sites="true")
    agreed, found = check_alike(heart, run_all(heart, HOSPITALS))
    assert [site["rows"] for site in agreed["sites"]] == [303, 294, 123, 200]
    for site, name in zip(agreed["sites"], HOSPITALS, strict=True):
        own = msgspec.to_builtins(found[name].here)
        for shown, mine in zip(site["columns"], own["columns"], strict=True):
            assert shown.get("missing", 0) in (
                mine.get("missing", 0), "fewer than 5", "not shown",
            )  # fmt: skip
            small = [x["count"] for x in shown.get("levels", ())]
            assert not {1, 2, 3, 4} & set(small)
    page = (heart / "va" / "out" / FILES[1]).read_text()
    assert "Every node" in page
    assert "switzerland" in page


# --- what leaves a node -------------------------------------------------------------

MARKER = "planted-marker-0815"
RARE = 31337.421875  # a float that no other value makes

SCHEMA = """
[target]
column = "outcome"
classes = ["well", "ill"]

[[columns]]
name = "age"
kind = "number"
missing = true

[[columns]]
name = "patient"
kind = "ignore"

[[columns]]
name = "pain"
kind = "category"
levels = ["no", "some", "strong"]
other = true

[[columns]]
name = "smokes"
kind = "boolean"
"""


def table(rng, n=40):
    return pd.DataFrame(
        {
            "age": rng.integers(20, 90, n).astype(float),
            "patient": [f"patient-{k:03}" for k in range(n)],
            "pain": rng.choice(["no", "some"], n),
            "smokes": rng.choice(["true", "false"], n),
            "outcome": rng.choice(["well", "ill"], n),
        }
    )


@pytest.fixture
def three(tmp_path, write):
    """Three clinics with a small schema, and their tables."""
    names = ("north", "south", "east")
    schema = write("schema.toml", SCHEMA)
    folder = local(tmp_path / "fed", names, "--schema", schema)
    rng = np.random.default_rng(1)
    tables = {name: table(rng) for name in names}
    for name in names:
        tables[name].to_csv(folder / name / "data.csv", index=False)
    return folder, tables


# Masked messages are noise; what is searched for must not be in the plain ones either.
@pytest.mark.parametrize(
    ("publishes", "secure"), [("false", "false"), ("true", "false"), ("true", "true")]
)
def test_planted_markers_are_found_in_no_letter_and_no_other_nodes_files(
    three, publishes, secure, monkeypatch
):
    folder, tables = three
    change_plan(folder, publish_sites=publishes, secure=secure)
    planted = tables["south"]
    planted.loc[3, ["age", "patient"]] = [RARE, f"{MARKER}-id"]
    planted.loc[7, "pain"] = f"{MARKER}-level"
    planted.loc[9, "pain"] = "strong"  # a level that no other row has
    (folder / "south" / "data.csv").unlink()
    planted.to_csv(folder / "south" / f"{MARKER}.csv", index=False)
    node = folder / "south" / "node.toml"
    node.write_text(node.read_text().replace("data.csv", f"{MARKER}.csv"))
    monkeypatch.setenv("USER", f"{MARKER}-user")
    letters = folder / "{name}.letters"
    program = ("tests.support.recorded", str(letters))
    ended = run_all(folder, list(tables), program=program)
    agreed, found = check_alike(folder, ended)

    sent = [one for name in tables for one in written(folder / f"{name}.letters")]
    secrets = [MARKER.encode(), repr(RARE).encode(), b"31337"]
    secrets += [np.float64(RARE).tobytes(), np.int64(RARE).tobytes()]
    secrets += [one.encode() for one in planted.patient if one != f"{MARKER}-id"]
    frames = [pb.Envelope.FromString(one) for one in sent]
    assert sum(one.WhichOneof("content") == "frame" for one in frames) >= 12
    for one in sent:
        assert not [secret for secret in secrets if secret in one]
    for one in frames:
        if one.WhichOneof("content") == "frame" and one.frame.dtype == "<i8":
            numbers = np.frombuffer(one.frame.values, "<i8")
            assert RARE not in totals.all_sums(numbers)

    for name in ("north", "east"):
        files = [path for path in (folder / name).rglob("*") if path.is_file()]
        texts = {path: path.read_bytes() for path in files if path.suffix != ".csv"}
        texts[name] = "".join(ended[name]).encode()
        for path, content in texts.items():
            assert not [one for one in secrets[:3] if one in content], path
            assert b"patient-" not in content
    pain = next(one for one in agreed["all"]["columns"] if one["name"] == "pain")
    shown = {one["name"]: one["count"] for one in pain["levels"]}
    assert not {1, 2} & {*shown.values(), pain["other"]}
    assert shown["strong"] in ("fewer than 5", "not shown")
    # At home it is known how many there are, but not even there who.
    own = next(one for one in found["south"].here.columns if one.name == "pain")
    assert (own.levels[2].count, own.other) == (1, 1)
    home = (folder / "south" / "out" / FILES[1]).read_text()
    assert MARKER not in home
    assert "31337" not in home


def test_a_number_to_be_predicted_has_a_mean_and_a_deviation(three):
    folder, tables = three
    for path in folder.rglob("plan.toml"):
        old, new = 'classes = ["well", "ill"]', 'kind = "number"'
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new).replace('"outcome"', '"days"'))
    for path in folder.rglob("node.toml"):
        path.write_text(path.read_text().replace('"outcome"', '"days"'))
    rng = np.random.default_rng(2)
    for name, one in tables.items():
        one["days"] = rng.normal(30, 5, len(one))
        one.to_csv(folder / name / "data.csv", index=False)
    agreed, _ = check_alike(folder, run_all(folder, list(tables)))
    days = pd.concat(list(tables.values())).days
    target = agreed["all"]["target"]
    assert (target["name"], target["kind"], target["there"]) == ("days", "number", 120)
    assert target["mean"] == pytest.approx(days.mean(), rel=1e-14)
    assert target["deviation"] == pytest.approx(days.std(ddof=0), rel=1e-13)


def test_json_is_what_the_file_holds_in_the_folder_that_was_asked_for(three, tmp_path):
    folder, tables = three
    ended = run_all(folder, list(tables), "--json", "--out", tmp_path / "{name}")
    for name, (out, _) in ended.items():
        printed = json.loads(out)
        assert printed.pop("out") == str(tmp_path / name)
        assert printed == json.loads((tmp_path / name / FILES[0]).read_text())
        held = {path.name for path in (tmp_path / name).iterdir()}
        assert held == {*FILES, "node.log"}
        assert not (folder / name / "out").exists()


# --- meeting for another command, and coming back -----------------------------------


def test_a_node_that_meets_others_for_another_command_is_told_on_both_sides(make_lab):
    lab = make_lab(2)
    lab.start("n0")
    lab.start("n1", run=STATISTICS)
    trains, counts = "'dssfn node run' at n0", "'dssfn federation statistics' at n1"
    lab.wait_for("n0", f"do not agree: `command` is {trains} and {counts}")
    lab.wait_for("n1", f"do not agree: `command` is {counts} and {trains}")
    lab.send("n0", signal.SIGINT)
    assert lab.processes["n0"].wait(300) == 130
    assert lab.is_running("n1")
    lab.start("n0", run=STATISTICS)
    assert lab.wait() == {"n0": 0, "n1": 0}


def test_one_node_that_runs_another_command_than_most_stops(make_lab):
    lab = make_lab(3)
    lab.start("n0", "n1", run=STATISTICS)
    lab.start("n2")
    assert lab.processes["n2"].wait(300) == 2
    assert "2 of 3 nodes have another plan than this one" in lab.printed("n2")
    assert "Run the same command here" in lab.printed("n2")
    lab.start("n2", run=STATISTICS)
    assert set(lab.wait().values()) == {0}


def test_nodes_without_a_schema_find_means_whoever_was_restarted(make_lab):
    lab = make_lab(3, deadline=5.0, consensus="gossip")
    lab.start("n0", "n1", run=STATISTICS)
    lab.wait_for("n0", "n1 is connected")
    lab.kill("n1")
    lab.wait_for("n0", "n1 is gone")
    lab.start("n1", run=STATISTICS)
    lab.wait_for("n0", "n1 is back after a restart")
    lab.start("n2", run=STATISTICS)
    assert set(lab.wait().values()) == {0}
    agreed = {
        msgspec.json.encode(statistics_of(lab.root, name).agreed) for name in lab.names
    }
    assert len(agreed) == 1
    X = np.concatenate([digits_of(k, 3)[0] for k in range(3)])
    columns = msgspec.json.decode(agreed.pop())["all"]["columns"]
    means = [one["mean"] for one in columns if one["there"] == len(X)]
    assert means == pytest.approx(X.mean(axis=0).tolist(), rel=1e-13)


def test_a_node_that_waits_in_vain_for_statistics_says_how_to_start_again(make_lab):
    lab = make_lab(2, deadline=1.0)
    lab.add_setting("n0", "start_deadline = 1")
    lab.start("n0", run=STATISTICS)
    assert lab.wait() == {"n0": 1}
    assert "Error: n1 did not connect within `start_deadline` = 1 s." in (
        lab.printed("n0")
    )
    again = f"Start again with: dssfn federation statistics {lab.node_file('n0')}"
    assert again in lab.printed("n0")
    assert not (lab.folder("n0") / "out" / FILES[0]).exists()


# --- what is wrong before a node meets anybody --------------------------------------


def test_mistakes_are_told_before_the_others_wait(three, tmp_path):
    folder, tables = three
    node = folder / "north"

    def statistics(*options):
        return wrong("federation", "statistics", node, *options)

    plan = (node / "plan.toml").read_text()
    (node / "plan.toml").write_text(plan.replace("min_cell", "min_cel"))
    assert "no setting `min_cel`. Did you mean `min_cell`?" in statistics()
    (node / "plan.toml").write_text(plan)
    (tmp_path / "file").write_text("")
    assert "must be a writable folder" in statistics("--out", tmp_path / "file")
    bad = tables["north"].astype({"age": object})
    bad.loc[5, "age"] = "old"
    bad.to_csv(node / "data.csv", index=False)
    assert "line 7, column `age`: the schema wants a number" in statistics()
    (node / "data.csv").unlink()
    assert "data.csv` does not exist" in statistics()
    assert "cannot be read" in wrong("federation", "statistics", tmp_path / "no.toml")
    assert not (node / "out" / "node.log").exists()


def test_a_wrong_setting_of_the_node_s_file_is_named_once(three):
    folder, _ = three
    node = folder / "north" / "node.toml"
    text = node.read_text()
    for line, words in (
        ('drop = ["age"]', "`columns` and `drop` must be left out"),
        ('id = "nobody"', "has no column `nobody`, which `id` names"),
    ):
        node.write_text(f"{text}\n[read]\n{line}\n")
        error = wrong("federation", "statistics", node)
        assert words in error
        assert error.count("belongs to [read] in node.toml") == 1


def test_text_without_a_schema_is_refused_with_the_way_out(tmp_path):
    init(tmp_path / "fed", "--classes", "yes,no", "--features", "age,sex", "--target",
         "outcome", nodes="a,b")  # fmt: skip
    rows = "age,sex,outcome\n" + "61,f,yes\n40,m,no\n" * 10
    (tmp_path / "fed" / "a" / "data.csv").write_text(rows)
    error = wrong("federation", "statistics", tmp_path / "fed" / "a")
    assert "column `sex`: features must be numbers, got 'f'" in error
    assert "describe it in a schema (`dssfn schema` proposes one)" in error
