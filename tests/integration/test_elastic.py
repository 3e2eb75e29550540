"""Real nodes that go on without those who are gone, and take them in again."""

import hashlib
import json
import random
import signal
import time

import numpy as np
import pytest

from dssfn.federation import load_federation
from dssfn.modelfile import save_network, who_took_part
from dssfn.node.attended import ATTENDED_FILE
from dssfn.shard import Shard, one_hot
from dssfn.simulator import simulate
from tests.integration.test_soak import check_key_streams
from tests.support.lab import Lab, digits_of

pytestmark = pytest.mark.grpc

ALL = ("n0", "n1", "n2", "n3", "n4")
SETTINGS = {"n_layers": 6, "width": 400, "by_edge": True}


@pytest.fixture
def make_lab(tmp_path):
    labs = []

    def make(n_nodes=5, *, quorum=3, leave_after=2.0, **settings):
        plan = {"quorum": quorum, "leave_after": leave_after}
        settings = {**SETTINGS, "deadline": 1.0, **settings}
        labs.append(Lab(tmp_path, n_nodes, plan=plan, **settings))
        return labs[-1]

    yield make
    for lab in labs:
        lab.close()


def result_of(lab, name):
    return json.loads((lab.folder(name) / "out" / "result.json").read_text())


def simulated(lab, name, path):
    """The model file of a simulation with the same members in the same averagings."""
    federation = load_federation(lab.root / "plan.toml")
    shards = []
    for k in range(len(lab.names)):
        X, y = digits_of(k, len(lab.names))
        shards.append(Shard(np.ascontiguousarray(X.T), one_hot(y, 10)))
    stints = result_of(lab, name)["stints"]
    took_part = [(stint["first"], stint["nodes"]) for stint in stints]
    found = simulate(
        shards, federation.training, federation.topology(), took_part=took_part
    )
    names = who_took_part(lab.model(name))
    save_network(found.networks[-1], path, took_part=names)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_end(lab, ended, tmp_path):
    """All who ended hold one file, which a simulation gives as well."""
    digests = {
        hashlib.sha256(lab.model(name).read_bytes()).hexdigest() for name in ended
    }
    printed = "\n".join(map(lab.printed, lab.names))
    assert len(digests) == 1, printed
    if "stints" in result_of(lab, ended[0]):
        assert digests == {simulated(lab, ended[0], tmp_path / "simulated")}, printed
    check_key_streams(lab, ended)


def test_a_node_that_is_gone_for_good_and_one_that_comes_back_stop_nobody(
    make_lab, tmp_path
):
    lab = make_lab(n_layers=60)
    lab.start()
    lab.wait_for("n0", "layer 1/60")
    lab.kill("n3")
    del lab.processes["n3"]
    lab.wait_for("n0", "without n3")
    lab.wait_for("n0", "layer 4/60")
    lab.send("n2", signal.SIGSTOP)
    lab.wait_for("n0", "without n2, n3")
    lab.wait_for("n0", "layer 6/60")
    lab.send("n2", signal.SIGCONT)
    assert set(lab.wait(150).values()) == {0}, lab.printed("n2")
    ended = ("n0", "n1", "n2", "n4")
    check_end(lab, ended, tmp_path)
    took_part = who_took_part(lab.model("n1"))
    assert took_part[0] == ALL
    assert took_part[-1] == ended
    assert ("n0", "n1", "n4") in took_part
    assert "received" in lab.printed("n2")
    layers = result_of(lab, "n0")["layers"]
    assert tuple(layers[-1]["took_part"]) == ended


def test_a_node_that_is_started_again_before_it_is_left_out_stops_nobody(
    make_lab, tmp_path
):
    lab = make_lab(4, n_layers=30, leave_after=60.0)
    lab.start()
    lab.wait_for("n0", "layer 1/30")
    lab.kill("n3")
    lab.start("n3")
    assert set(lab.wait(60).values()) == {0}
    check_end(lab, lab.names, tmp_path)


def test_of_a_divided_network_only_the_larger_part_goes_on(make_lab, tmp_path):
    lab = make_lab(n_layers=60)
    lab.start()
    lab.wait_for("n0", "layer 1/60")
    lab.divide("n3", "n4")
    lab.wait_for("n0", "without n3, n4")
    lab.wait_for("n3", "waiting for n0, n1, n2")
    lab.wait_for("n0", "layer 4/60")
    lab.heal()
    assert set(lab.wait(150).values()) == {0}
    check_end(lab, ALL, tmp_path)
    took_part = who_took_part(lab.model("n4"))
    assert ("n0", "n1", "n2") in took_part
    assert took_part[-1] == ALL


def test_a_training_begins_without_a_node_that_never_comes(make_lab, tmp_path):
    lab = make_lab(n_layers=2)
    lab.start("n0", "n1", "n2", "n3")
    assert set(lab.wait(150).values()) == {0}
    check_end(lab, ("n0", "n1", "n2", "n3"), tmp_path)
    assert who_took_part(lab.model("n0")) == (("n0", "n1", "n2", "n3"),) * 3


def test_where_all_are_there_the_file_is_that_of_a_plan_without_a_quorum(
    make_lab, tmp_path
):
    lab = make_lab(3, quorum=2, n_layers=3)
    lab.start()
    assert set(lab.wait(150).values()) == {0}
    assert who_took_part(lab.model("n0")) == ()
    assert "stints" not in result_of(lab, "n0")
    shards = []
    for k in range(3):
        X, y = digits_of(k, 3)
        shards.append(Shard(np.ascontiguousarray(X.T), one_hot(y, 10)))
    federation = load_federation(lab.root / "plan.toml")
    found = simulate(shards, federation.training, federation.topology())
    save_network(found.networks[0], tmp_path / "all")
    digest = hashlib.sha256((tmp_path / "all").read_bytes()).hexdigest()
    assert lab.digests() == {digest}


def test_a_network_that_finds_its_size_does_so_with_members_that_change(
    make_lab, tmp_path
):
    lab = make_lab(n_layers="auto", width="auto", bias=3.0, gain=3.0)
    lab.start()
    lab.wait_for("n0", "layer 0 ")
    lab.send("n4", signal.SIGSTOP)
    lab.wait_for("n0", "without n4")
    lab.send("n4", signal.SIGCONT)
    assert set(lab.wait(150).values()) == {0}
    check_end(lab, ALL, tmp_path)


def test_too_few_nodes_wait_and_then_say_who_is_missing(make_lab):
    lab = make_lab(3, quorum=2, leave_after=3.0, n_layers=60)
    lab.start()
    lab.wait_for("n0", "layer 1/60")
    lab.kill("n1")
    lab.kill("n2")
    codes = lab.wait(150)
    assert codes["n0"] == 1
    printed = lab.printed("n0")
    assert "Nodes n1, n2 have not been connected" in printed
    assert (
        "2 of 3 nodes must be connected to continue (`quorum`), but only 1 are"
        in printed
    )
    for name in lab.names:  # epochs are also in the checkpoint
        (lab.folder(name) / "out" / ATTENDED_FILE).unlink()
    lab.start()
    assert set(lab.wait(150).values()) == {0}, "".join(map(lab.printed, lab.names))
    assert len(lab.digests()) == 1


def test_a_finished_node_hands_its_model_to_one_that_comes_after_the_end(make_lab):
    lab = make_lab(3, quorum=2, n_layers=2)
    lab.start("n0", "n1")
    assert set(lab.wait(150).values()) == {0}
    lab.start("n1", "n2")
    assert set(lab.wait(150).values()) == {0}
    assert len(lab.digests()) == 1
    assert "received 3 solved layers" in lab.printed("n2")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_any_story_of_absences_ends_with_one_model(seed, make_lab, tmp_path):
    rng = random.Random(seed)
    n_nodes = rng.choice([4, 5, 6])
    kind = rng.choice(["circular", "complete", "path"])
    found = {} if rng.random() < 0.7 else {"n_layers": "auto", "width": "auto"}
    settings = {"n_layers": 12, **found}
    lab = make_lab(n_nodes, quorum=n_nodes // 2 + 1, kind=kind, **settings)
    for name in lab.names:  # who comes after all others have ended waits in vain
        settings = lab.node_file(name).read_text()
        lab.node_file(name).write_text("start_deadline = 10\n" + settings)
    lab.start()
    for _ in range(rng.randint(1, 4)):
        time.sleep(rng.uniform(0.2, 4.0))
        disturb(lab, rng)
    lab.heal()
    for name in lab.names:
        lab.send(name, signal.SIGCONT)
        if not lab.is_running(name) and lab.processes[name].returncode != 0:
            lab.start(name)
    codes = lab.wait(150)
    if 1 in codes.values():  # then those who have ended give it the model
        lab.start()
        codes = lab.wait(150)
    printed = "\n".join(map(lab.printed, lab.names))
    assert set(codes.values()) == {0}, printed
    check_end(lab, lab.names, tmp_path)


def disturb(lab, rng):
    name = rng.choice(lab.names)
    match rng.choice(["kill", "stop", "divide", "restart", "flicker"]):
        case "kill":
            if lab.is_running(name):
                lab.kill(name)
        case "restart":
            if lab.is_running(name):
                lab.kill(name)
            time.sleep(rng.uniform(0, 4))
            lab.start(name)
        case "stop":
            lab.send(name, signal.SIGSTOP)
            time.sleep(rng.uniform(0, 6))
            lab.send(name, signal.SIGCONT)
        case "divide":
            lab.divide(*rng.sample(lab.names, rng.randint(1, len(lab.names) - 1)))
            time.sleep(rng.uniform(0, 6))
            lab.heal()
        case "flicker":
            for _ in range(3):
                lab.divide(name)
                time.sleep(rng.uniform(0, 1.5))
                lab.heal()
                time.sleep(rng.uniform(0, 0.5))
