"""What the hub of a star of real nodes has recorded, under attack."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from dssfn.transports.recording import LETTERS_FILE
from tests.support.commands import dssfn, wrong
from tests.support.federations import change_plan, run_all
from tests.support.stars import LEAVES, NAMES, star_of_digits

pytestmark = pytest.mark.grpc

SIZE = ("--layers", 1, "--width", 20)


def recorded(root, fed, name):
    """Train, with the recordings of all nodes; keep them and the model under a name."""
    run_all(fed, NAMES, "node run", "--record", root / f"{name}-{{name}}")
    shutil.copy(fed / "hub" / "out" / "model.safetensors", root / f"{name}.model")
    shutil.copy(fed / "plan.toml", root / f"{name}.toml")
    for node in NAMES:
        shutil.rmtree(fed / node / "out")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Trainings with masks and without, and one of each solver of real numbers."""
    root = tmp_path_factory.mktemp("audit")
    fed = star_of_digits(root / "fed", "--members", 2, *SIZE)
    for name, secure in (("masked", "true"), ("plain", "false")):
        change_plan(fed, secure=secure)
        recorded(root, fed, name)
    for solver in ("krylov", "admm"):
        more = ("--members", 1, "--solver", solver, "--no-secure")
        recorded(root, star_of_digits(root / f"fed-{solver}", *SIZE, *more), solver)
    return root


def audits(root, name, *more, node="hub"):
    """Audit a recording; the attacks of those who recorded."""
    result = dssfn(
        "audit", "--recorded", root / f"{name}-{node}", "--plan", root / f"{name}.toml",
        "--json", *more,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["attacks"]


def audit(root, name, *more, **where):
    """Audit a recording; the attack on a victim that is named."""
    (attack,) = audits(root, name, *more, **where)
    return attack


def truth(root, victim):
    data = root / "fed" / victim / "data.csv"
    return ("--victim", victim, "--victim-data", data, "--target", "digit")


@pytest.mark.parametrize("leaf", LEAVES)
def test_letters_without_masks_are_a_leaf_s_sums_and_with_them_noise(root, leaf):
    found = {}
    for name in ("plain", "masked"):
        model = ("--model", root / f"{name}.model")
        attack = audit(root, name, *truth(root, leaf), *model)
        assert attack["attackers"] == ["hub"]
        assert attack["victim"] == leaf
        found[name] = attack["letters"]
    assert found["plain"]["nodes"] == found["masked"]["nodes"] == [leaf]
    for figure in ("gram_error", "cross_error", "class_means_error"):
        assert found["plain"][figure] < 1e-9
    assert found["masked"]["gram_error"] > 0.9
    assert found["masked"]["cross_error"] > 0.9
    assert found["plain"]["looks_real"]
    assert not found["masked"]["looks_real"]
    assert found["masked"]["rows"] == 0


@pytest.mark.parametrize("solver", ["plain", "krylov", "admm"])
def test_the_hub_that_plays_its_part_again_finds_a_leaf_s_sums(root, solver):
    own = ("--own", root / "fed" / "hub" / "data.csv")
    attack = audit(root, solver, *truth(root, "two"), *own)
    assert attack["letters"]["gram_error"] < 1e-8
    assert attack["letters"]["class_means_error"] < 1e-8
    assert attack["total"]["gram_error"] > 0.01


def test_a_leaf_has_nothing_but_the_total(root):
    own = ("--own", root / "fed" / "one" / "data.csv")
    attack = audit(root, "plain", *truth(root, "two"), *own, node="one")
    assert attack["letters"] is None
    assert sorted(attack["total"]["nodes"]) == sorted(set(NAMES) - {"one"})
    assert 0.01 < attack["total"]["gram_error"] < 1


def test_all_others_together_find_the_last_one(root):
    more = []
    for name in NAMES[1:3]:
        more += ["--recorded", root / f"plain-{name}"]
    for name in NAMES[:3]:
        more += ["--own", root / "fed" / name / "data.csv"]
    attack = audit(root, "plain", *truth(root, "three"), *more)
    assert attack["attackers"] == list(NAMES[:3])
    assert attack["total"]["gram_error"] < 1e-9


def test_without_the_truth_sums_of_rows_are_told_from_noise(root):
    for name, looks in (("plain", True), ("masked", False)):
        attacks = audits(root, name)
        assert [one["victim"] for one in attacks] == list(LEAVES)
        for one in attacks:
            assert one["letters"]["gram_error"] is None
            assert one["letters"]["looks_real"] is looks
        shown = dssfn(
            "audit", "--recorded", root / f"{name}-hub", "--plan", root / f"{name}.toml"
        )
        assert ("yes" in shown.stdout) is looks
        assert bool(re.search(r"│ +noise +│", shown.stdout)) is not looks


def test_pictures_of_a_recording_are_drawn(root, tmp_path):
    pytest.importorskip("matplotlib")
    audit(
        root, "plain", *truth(root, "one"), "--model", root / "plain.model",
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert (tmp_path / "out" / "audit.png").read_bytes().startswith(b"\x89PNG")
    report = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert report["masks"] == "off"


# --- what cannot be audited ---------------------------------------------------------


def refused(root, name, *more, plan=None, folder=None):
    return wrong(
        "audit", "--recorded", folder or root / f"{name}-hub",
        "--plan", plan or root / f"{name}.toml", *more,
    )  # fmt: skip


def test_a_recording_that_cannot_be_used_is_refused(root, tmp_path):
    assert "node run --record" in refused(root, "plain", folder=tmp_path)
    content = (root / "plain-hub" / LETTERS_FILE).read_bytes()
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / LETTERS_FILE).write_bytes(content[:-5])
    assert "damaged" in refused(root, "plain", folder=tmp_path / "cut")
    (tmp_path / "twice").mkdir()
    (tmp_path / "twice" / LETTERS_FILE).write_bytes(content + content)
    assert "one training" in refused(root, "plain", folder=tmp_path / "twice")
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / LETTERS_FILE).write_bytes(b"")
    assert "first layer" in refused(root, "plain", folder=tmp_path / "empty")
    both = content + (root / "plain-one" / LETTERS_FILE).read_bytes()
    (tmp_path / "both").mkdir()
    (tmp_path / "both" / LETTERS_FILE).write_bytes(both)
    assert "folder of its own" in refused(root, "plain", folder=tmp_path / "both")


def test_a_recording_of_another_plan_is_refused(root, tmp_path):
    other = tmp_path / "plan.toml"
    text = (root / "plain.toml").read_text()
    other.write_text(text.replace('"p63"', '"p63", "p64"'))
    assert "another plan" in refused(root, "plain", plan=other)
    other.write_text(text.replace('["hub", "three"]', '["one", "three"]'))
    assert "not neighbours" in refused(root, "plain", plan=other)


def test_settings_that_contradict_a_recording_are_refused(root):
    data = root / "fed" / "one" / "data.csv"
    assert "`--own`" in refused(root, "krylov")
    assert "masked" in refused(root, "masked", "--own", data, "--target", "digit")
    assert "model.safetensors" in refused(
        root, "plain", "--victim", "one", "--victim-data", data, "--target", "digit"
    )
    assert "`--victim`" in refused(root, "plain", "--victim-data", data)
    assert "must not include" in refused(root, "plain", "--victim", "hub")
    assert "Did you mean `three`" in refused(root, "plain", "--victim", "thre")
    assert "once for each" in refused(root, "plain", "--own", data, "--own", data)
    for option in (("--data", "digits"), ("--attackers", "one"), ("--layers", 3)):
        assert f"`{option[0]}` must be left out" in refused(root, "plain", *option)
    assert "`--plan`" in wrong("audit", "--recorded", root / "plain-hub")
    same = ("--recorded", root / "plain-hub")
    assert "same node" in refused(root, "plain", *same)
    others = ("--own", data, "--target", "digit", "--model", root / "plain.model")
    assert "trained on" in refused(root, "plain", *others)
