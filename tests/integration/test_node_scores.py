"""What real nodes know of how good the model is, and what they do not."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dssfn.datasets import FileSamples
from dssfn.federation import load_federation
from dssfn.modelfile import load_network
from dssfn.results import read_result
from dssfn.scoring import validated
from dssfn.simulator import simulate
from tests.support.commands import dssfn
from tests.support.lab import FEATURES, Lab, digits_of

pytestmark = pytest.mark.grpc


@pytest.fixture
def make_lab(tmp_path):
    labs = []

    def make(n_nodes, **settings):
        root = tmp_path / str(len(labs))
        root.mkdir()
        labs.append(Lab(root, n_nodes, **settings))
        return labs[-1]

    yield make
    for lab in labs:
        lab.close()


def result_of(lab, name):
    return read_result(lab.folder(name) / "out")


def samples_of(lab, name, plan, file="data.csv"):
    return FileSamples.of_plan(lab.folder(name) / file, "digit", plan)


def write_rows(path, X, y):
    rows = [",".join([*FEATURES, "digit"])]
    rows += [
        ",".join([*map(str, x), str(label)]) for x, label in zip(X, y, strict=True)
    ]
    path.write_text("\n".join(rows) + "\n")


def test_a_training_that_finds_its_size_survives_a_kill_at_every_stage(make_lab):
    lab = make_lab(
        3, kind="path", members=3, n_layers=2, width=250, folds="nodes",
        publish_scores=True, deadline=1.0,
    )  # fmt: skip
    lab.start()
    for layer in range(3):
        lab.wait_for("n1", f"layer {layer}  ")  # the stage after it has begun
        lab.kill("n1")
        lab.start("n1")
    assert set(lab.wait().values()) == {0}
    assert len(lab.digests()) == 1
    federation = load_federation(lab.root / "plan.toml")
    plan = federation.training
    shards = [samples_of(lab, name, plan) for name in lab.names]
    undisturbed = simulate(shards, plan, federation.topology())
    mine = load_network(lab.model("n1"))
    for O, same in zip(mine.outputs, undisturbed.networks[0].outputs, strict=True):
        assert O.tobytes() == same.tobytes()
    agreed = undisturbed.scores
    for name in lab.names:
        result = result_of(lab, name)
        assert [row.layer for row in result.layers] == [0, 1, 2]
        assert result.scores.total == agreed.total
        assert [row.node for row in result.scores.nodes] == lab.names
        assert tuple(row.scores for row in result.scores.nodes) == agreed.by_node
        # The row of a node is what it finds by itself, by the member without it.
        own = result.scores.nodes[lab.names.index(name)].scores
        assert own.accuracy == pytest.approx(result.here.model.accuracy, abs=1e-12)
        assert own.n == result.here.model.n == 599
    before = result_of(lab, "n1")
    for name in ("model.safetensors", "result.json"):
        (lab.folder("n1") / "out" / name).unlink()
    lab.start("n1")  # the others have left
    assert lab.wait()["n1"] == 0
    again = result_of(lab, "n1")
    assert again.sha256 == before.sha256
    assert (again.layers, again.scores) == (before.layers, before.scores)


def numbers_in(text):
    """All numbers of a text but those of times of day, digests and drawings."""
    others = r"\d\d:\d\d:\d\d(,\d+)?|\b[0-9a-f]{64}\b|<svg.*?</svg>"
    text = re.sub(others, "", text, flags=re.DOTALL)
    return {float(one) for one in re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", text)}


def texts_of(lab, name):
    """All that a node keeps, prints and shows, but for its own data and keys."""
    folder = lab.folder(name)
    shown = dssfn("report", folder / "out")
    assert shown.exit_code == 0, shown.output
    files = [path for path in (folder / "out").rglob("*") if path.is_file()]
    kept = {path: path.read_bytes() for path in files if path.suffix != ".png"}
    return kept | {folder / "printed": (folder / "printed").read_bytes()}


def give_marked_data(lab, name):
    """Give a node files, values and counts that nobody else has."""
    X, y = digits_of(0, 3)
    X, y = X[:457].copy(), y[:457]
    X[5, 7] = 3.1415926535897
    marks = {"data": "cohort-of-zqxj.csv", "test": "held-back-zqxj.csv"}
    write_rows(lab.folder(name) / marks["data"], X, y)
    write_rows(lab.folder(name) / marks["test"], X[:83], y[:83])
    text = lab.node_file(name).read_text().replace("data.csv", marks["data"])
    lab.node_file(name).write_text(text)
    lab.add_setting(name, f'test = "{marks["test"]}"')
    return marks["data"], (b"zqxj", b"3.1415926", np.float64(X[5, 7]).tobytes())


def test_what_a_node_knows_of_itself_stays_with_it(make_lab):
    lab = make_lab(3, kind="path", members=3, n_layers=1, width=40)
    data, marks = give_marked_data(lab, "n0")
    lab.start()
    assert set(lab.wait().values()) == {0}
    plan = load_federation(lab.root / "plan.toml").training
    mine = result_of(lab, "n0")
    here = mine.here
    assert here.samples == "test"
    assert here.model.n == here.local.n == here.baseline.n == mine.n_test == 83
    assert here.model.accuracy == mine.test_accuracy
    network = load_network(lab.model("n0"))
    own = validated(network, samples_of(lab, "n0", plan, data), 0)
    known = {own.n, own.accuracy, own.auc, own.log_loss, 457.0, 83.0}
    known |= {one.log_loss for one in (here.model, here.local, here.baseline)}
    for name in ("n1", "n2"):
        others = result_of(lab, name)
        assert others.scores == mine.scores
        assert others.scores.nodes == ()
        for path, content in texts_of(lab, name).items():
            assert not [mark for mark in marks if mark in content], path
            if path.suffix in (".json", ".html", ".log") or path.name == "printed":
                assert not numbers_in(content.decode()) & known, path
    # What is searched for can be found: the node itself has it.
    own_file = (lab.folder("n0") / "out" / "result.json").read_text()
    assert {83.0, here.model.log_loss} <= numbers_in(own_file)


def test_a_wrong_test_file_is_found_before_the_node_meets_others(make_lab):
    lab = make_lab(2)
    lab.add_setting("n0", 'test = "later.csv"')
    shown = dssfn("node", "check", lab.node_file("n0"))
    assert shown.exit_code == 2
    assert "WRONG  test:" in shown.output
    X, y = digits_of(1, 2)
    write_rows(lab.folder("n0") / "later.csv", X[:9], y[:9] + 5)
    shown = dssfn("node", "check", lab.node_file("n0"))
    assert shown.exit_code == 2
    assert "is not one of the known classes" in shown.output
    refused = dssfn("node", "run", lab.node_file("n0"))  # nobody else runs
    assert refused.exit_code == 2
    assert "is not one of the known classes" in refused.output
    write_rows(lab.folder("n0") / "later.csv", X[:9], y[:9])
    shown = dssfn("node", "check", lab.node_file("n0"))
    assert shown.exit_code == 0, shown.output
    assert "test: 9 samples: " in shown.output
