from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

import dssfn.setup.folders as folders
from dssfn.cli.listed import labels
from dssfn.datasets import ReadOptions, describe
from dssfn.errors import IdentityError, PlanError
from dssfn.federation import load_federation
from dssfn.node.identity import read_identity
from dssfn.node.spec import load_node
from dssfn.setup.pki import NODE_DAYS, Credential
from tests.support.commands import dssfn, wrong
from tests.support.federations import DATA, identity, init, refused, run_all
from tests.support.handshake import meet
from tests.support.lab import free_port

posix = pytest.mark.skipif(os.name == "nt", reason="modes are a POSIX matter")


def test_every_folder_is_all_that_a_node_needs(tmp_path):
    init(tmp_path / "fed", "--topology", "circular", "--degree", 1, *DATA)
    plan = load_federation(tmp_path / "fed" / "plan.toml")
    assert plan.names == ["a", "b", "c", "d"]
    assert plan.topology().edges() == [(0, 1), (0, 3), (1, 2), (2, 3)]
    for k, name in enumerate(plan.names):
        away = tmp_path / "elsewhere" / name
        shutil.copytree(tmp_path / "fed" / name, away)
        spec, own_plan = load_node(away / "node.toml")
        assert own_plan == plan
        assert spec.name == name
        assert spec.listen == plan.nodes[k].address == f"127.0.0.1:{7400 + k}"
        assert identity(away).name == name
        files = {path.name for path in away.iterdir()}
        assert files == {
            "node.toml", "plan.toml", "node.crt", "node.key", "ca.crt", "crl.pem",
        }  # fmt: skip
    assert {path.name for path in (tmp_path / "fed").iterdir()} == {
        "plan.toml", "README.txt", "ca", "a", "b", "c", "d",
    }  # fmt: skip


def test_keys_in_one_place_are_called_a_rehearsal(tmp_path):
    text = dssfn("federation", "init", tmp_path / "fed", "--nodes", "a,b,c").stdout
    assert "All keys were created here, FOR A REHEARSAL ONLY" in text
    assert "--no-keys" in text
    notes = (tmp_path / "fed" / "README.txt").read_text()
    assert "FOR A REHEARSAL" in notes
    assert "dssfn node request" in notes


def test_keys_stay_at_home_where_they_are_made(tmp_path):
    fed, home = tmp_path / "fed", tmp_path / "home"
    text = dssfn("federation", "init", fed, "--nodes", "a,b,c", "--no-keys").stdout
    assert "REHEARSAL" not in text
    assert "dssfn node request NAME" in text
    assert "without its key" in (fed / "README.txt").read_text()
    assert [path.name for path in fed.rglob("*.key")] == ["ca.key"]
    assert {path.name for path in (fed / "b").iterdir()} == {
        "node.toml", "plan.toml", "ca.crt", "crl.pem",
    }  # fmt: skip
    assert dssfn("node", "request", "b", "--out", home).exit_code == 0
    signed = dssfn("federation", "sign", fed, "b", home / "node.csr", "--json")
    assert json.loads(signed.stdout)["revoked"] == str(fed / "b" / "crl.pem")
    shutil.copytree(fed / "b", home, dirs_exist_ok=True)
    files = (home / part for part in ("node.crt", "node.key", "ca.crt"))
    assert read_identity(*files, "b").name == "b"
    assert [path.name for path in fed.rglob("*.key")] == ["ca.key"]


@posix
def test_keys_are_for_their_owner_alone(tmp_path):
    old = os.umask(0)
    try:
        init(tmp_path / "fed")
    finally:
        os.umask(old)
    keys = list((tmp_path / "fed").rglob("*.key"))
    assert len(keys) == 5
    assert {stat.S_IMODE(key.stat().st_mode) for key in keys} == {0o600}
    rooms = [path for path in (tmp_path / "fed").iterdir() if path.is_dir()]
    assert {stat.S_IMODE(room.stat().st_mode) for room in rooms} == {0o700}


def test_every_node_has_a_key_of_its_own_and_none_the_authority_s(tmp_path):
    init(tmp_path / "fed")
    keys = {path.read_bytes() for path in (tmp_path / "fed").rglob("*.key")}
    assert len(keys) == 5
    secret = (tmp_path / "fed" / "ca" / "ca.key").read_bytes()
    for name in "abcd":
        for path in (tmp_path / "fed" / name).iterdir():
            assert secret not in path.read_bytes()


def test_the_plan_holds_the_preset_and_the_options(tmp_path):
    init(tmp_path / "one", *DATA)
    plan = load_federation(tmp_path / "one" / "plan.toml").training
    assert (plan.gain, plan.bias, plan.alpha, plan.standardize) == (3, 3, 2, True)
    assert (plan.consensus, plan.solver, plan.tol) == ("tree", "auto", 1e-12)
    assert plan.classes == ("no", "yes")
    assert plan.feature_names == ("age", "bmi")
    init(tmp_path / "two", *DATA, "--preset", "paper", "--layers", 3, "--width", 50,
         "--alpha", 1.5, "--gain", 7, "--bias", 0.25, "--standardize", "--seed", 9,
         "--round-deadline", 2.5, "--solver", "krylov", "--min-rows", 12,
         "--min-cell", 7, "--publish-sites")  # fmt: skip
    federation = load_federation(tmp_path / "two" / "plan.toml")
    plan = federation.training
    assert (plan.gain, plan.bias, plan.alpha, plan.standardize) == (7, 0.25, 1.5, True)
    assert (plan.n_layers, plan.width, plan.seed, plan.tol) == (3, 50, 9, 1e-10)
    assert (plan.consensus, plan.solver) == ("tree", "krylov")
    assert federation.round_deadline == 2.5
    assert (federation.min_rows, federation.min_cell) == (12, 7)
    assert federation.publish_sites


def test_the_plan_says_how_the_network_finds_its_size(tmp_path):
    init(tmp_path / "one", *DATA)
    text = (tmp_path / "one" / "plan.toml").read_text()
    plan = load_federation(tmp_path / "one" / "plan.toml").training
    for name in ("n_layers", "width", "members", "ridge", "scale", "folds", "size"):
        assert f"\n{name} = " in text
    assert plan.finds_size
    assert '# class_weight = "balanced"' in text
    init(tmp_path / "two", *DATA, "--layers", "auto", "--width", 40, "--members", 4,
         "--ridge", 0.5, "--scale", "common", "--folds", "nodes",
         "--class-weight", "balanced")  # fmt: skip
    plan = load_federation(tmp_path / "two" / "plan.toml").training
    assert (plan.n_layers, plan.width, plan.members, plan.ridge) == ("auto", 40, 4, 0.5)
    assert (plan.scale, plan.folds, plan.class_weight) == (
        "common",
        "nodes",
        "balanced",
    )
    init(tmp_path / "three", *DATA, "--size", "ssfn")
    plan = load_federation(tmp_path / "three" / "plan.toml").training
    assert plan.size == "ssfn"


def test_a_plan_left_open_is_marked_told_of_and_refused_until_filled_in(tmp_path):
    shown = init(tmp_path / "fed")
    assert "Fill in `classes` and `feature_names`" in shown
    path = tmp_path / "fed" / "plan.toml"
    text = path.read_text()
    assert text.count("FILL IN") == 2
    with pytest.raises(PlanError, match=r"plan.toml.*`classes`.*Fill it in"):
        load_federation(path)
    text = text.replace("classes = []", "classes = [1, 2]")
    path.write_text(text)
    with pytest.raises(PlanError, match="`feature_names`"):
        load_federation(path)
    path.write_text(text.replace("feature_names = []", 'feature_names = ["x"]'))
    assert load_federation(path).training.classes == (1, 2)
    assert "Fill in" not in init(tmp_path / "full", *DATA)


def test_the_closing_text_names_what_comes_next(tmp_path):
    shown = init(tmp_path / "fed", *DATA)
    for words in ("a, b, c, d", "dssfn node check node.toml", "ca.key secret",
                  "rehearsal"):  # fmt: skip
        assert words in shown
    real = init(tmp_path / "real", *DATA, "--address", "a=a.org:1", nodes="a,b")
    assert "rehearsal" not in real


def test_a_node_s_file_says_what_else_may_be_set(tmp_path):
    init(tmp_path / "fed", *DATA)
    text = (tmp_path / "fed" / "a" / "node.toml").read_text()
    assert "\n# test = " in text
    assert "\n# local_model = " in text
    # What it says of reading is right as it stands.
    (tmp_path / "fed" / "a" / "node.toml").write_text(
        re.sub(r"^# (?=\[read\]|(sep|sheet|id) = )", "", text, flags=re.MULTILINE)
    )
    spec, _ = load_node(tmp_path / "fed" / "a")
    assert spec.read == ReadOptions(sep=";", sheet="2024", id="patient")


def test_json_is_one_object(tmp_path):
    shown = json.loads(init(tmp_path / "fed", *DATA, "--json", nodes="x,y"))
    plan = load_federation(shown["plan"])
    assert shown["fingerprint"] == plan.fingerprint()
    assert [node["name"] for node in shown["nodes"]] == ["x", "y"]
    assert shown["edges"] == [["x", "y"]]
    assert shown["days"] == NODE_DAYS
    assert shown["fill_in"] == []
    opened = json.loads(init(tmp_path / "open", "--json"))
    assert opened["fingerprint"] is None
    assert opened["fill_in"] == ["classes", "feature_names"]


def test_days_are_the_validity_of_the_nodes(tmp_path):
    init(tmp_path / "fed", *DATA, "--days", 30)
    left = identity(tmp_path / "fed" / "a").expires - datetime.now(UTC)
    assert left.days in (29, 30)
    assert "`--days`" in refused(tmp_path / "no", "--days", 0)


def test_the_folders_train_one_model_as_they_are(tmp_path):
    """Three nodes; only the middle one can be reached, the others have no address."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    table = pl.DataFrame({"age": X[:, 0], "bmi": X[:, 1], "kind": X.sum(axis=1) > 0})
    table.write_csv(tmp_path / "all.csv")
    fed = tmp_path / "fed"
    init(fed, "--like", tmp_path / "all.csv", "--target", "kind", "--layers", 1,
         "--width", 9, "--edges", "a-b,b-c", "--address", f"b=127.0.0.1:{free_port()}",
         nodes="a,b,c")  # fmt: skip
    for k, name in enumerate("abc"):
        table[k::3].write_csv(fed / name / "data.csv")
    run_all(fed, "abc", "node run")
    models = {(fed / n / "out" / "model.safetensors").read_bytes() for n in "abc"}
    assert len(models) == 1


# --- addresses and edges ------------------------------------------------------------


def test_edges_and_addresses_of_ones_own(tmp_path):
    init(tmp_path / "fed", *DATA, "--edges", "hub-n-1,hub:n-2", "--address",
         "hub=hub.example.org:443", nodes="hub,n-1,n-2")  # fmt: skip
    specs = {}
    for name in ("hub", "n-1", "n-2"):
        specs[name], plan = load_node(tmp_path / "fed" / name / "node.toml")
    assert plan.graph.edges == (("hub", "n-1"), ("hub", "n-2"))
    assert [node.address for node in plan.nodes] == [
        "hub.example.org:443", None, None,
    ]  # fmt: skip
    assert specs["hub"].listen == "0.0.0.0:443"
    assert specs["n-1"].listen is None


@pytest.mark.parametrize(
    ("address", "listen"),
    [
        ("127.0.0.1:7400", "127.0.0.1:7400"), ("localhost:7400", "127.0.0.1:7400"),
        ("[::1]:7400", "[::1]:7400"), ("10.0.0.7:7400", "0.0.0.0:7400"),
        ("[2001:db8::7]:7400", "[::]:7400"), ("a.example.org:7400", "0.0.0.0:7400"),
    ],
)  # fmt: skip
def test_a_node_listens_where_its_address_leads(tmp_path, address, listen):
    init(tmp_path / "fed", *DATA, "--address", f"a={address}", nodes="a,b")
    spec, plan = load_node(tmp_path / "fed" / "a" / "node.toml")
    assert spec.listen == listen
    assert plan.nodes[0].address == address


def test_a_lab_may_have_another_host_and_port(tmp_path):
    init(tmp_path / "fed", *DATA, "--host", "::1", "--port", 9000, nodes="a,b")
    plan = load_federation(tmp_path / "fed" / "plan.toml")
    assert [node.address for node in plan.nodes] == ["[::1]:9000", "[::1]:9001"]


def test_an_edge_that_nobody_can_call_is_named(tmp_path):
    error = refused(tmp_path / "fed", "--address", "a=h:1", "--address", "b=h:2")
    assert "neither c nor d" in error
    assert "--address c=host:port" in error


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--edges", "a-b,b-c"], "`--edges` must connect all nodes, but d is not"),
        (["--edges", "a-b,c-d"], "a and b are not connected to the others"),
        (["--edges", "a-b,b-x,c-d"], "'b-x'"),
        (["--edges", "a-a,b-c,c-d"], "'a-a'"),
        (["--edges", "a-b,,c-d"], "between commas"),
        (["--edges", "a-b", "--degree", 1], "--topology"),
        (["--topology", "circula"], "Did you mean `circular`?"),
        (["--topology", "circular", "--degree", 9], "degree"),
        (["--topology", "star", "--degree", 1], "degree"),
        (["--address", "x=h:1"], "'x=h:1'"),
        (["--address", "a:h:1"], "NAME=host:port"),
        (["--address", "a=h"], "host:port"),
        (["--address", "a=h:0"], "must not be 0"),
        (["--address", "a=h:1", "--address", "a=h:2"], "a twice"),
        (["--address", "a=h:1", "--port", 9], "--host"),
        (
            ["--host", "h", "--port", 65534],
            "`--port` must lie in 1..65532 for 4 nodes, which get this port and the "
            "following ones; got 65534.",
        ),
        (["--host", "", "--port", 1], "host:port"),
        (["--port", 0], "`--port` must lie in 1..65532 for 4 nodes"),
        (["--preset", "papr"], "preset"),
        (["--solver", "magic"], "solver"),
        (["--width", 0], "width"),
        (["--alpha", -1], "alpha"),
        (["--seed", -1], "seed"),
        (["--round-deadline", 0], "`--round-deadline` must"),
        (["--classes", "yes"], "two classes"),
        (["--classes", "yes,yes"], "'yes' twice"),
        (["--classes", "1,1.0"], "all differ"),
        (["--classes", "1.5,2"], "'1.5,2'"),
        (["--classes", '"a'], "must be a list"),
        (["--classes", "\udcff,b"], "--classes"),
        (["--features", "a,,b"], "between commas"),
        (["--features", "0"], "`--features` must be a whole number"),
        (["--features", "age,y", "--target", "y"], "'y'"),
        (["--like", "nowhere.csv", "--target", "y"], "nowhere.csv"),
        (["--target", "\udcff"], "Unicode"),
    ],
)
def test_a_wrong_option_is_named(tmp_path, args, words):
    assert words in refused(tmp_path / "fed", *args)


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ("a", "at least two"), ("4", "at least two"), ("", "--nodes"),
        ("a,b,a", "'a' twice"), ("a,B", "'B'"), ("a,b_c", "'b_c'"), ("a,..", "'..'"),
        ("a,b/c", "'b/c'"), ("ca,b", "'ca'"), ("a,plan.toml", "'plan.toml'"),
        ("a,,b", "between commas"), ("a,-b", "'-b'"),
    ],
)  # fmt: skip
def test_wrong_names_are_refused(tmp_path, nodes, words):
    assert words in refused(tmp_path / "fed", nodes=nodes)


def test_an_edge_that_can_be_read_in_two_ways_is_refused(tmp_path):
    names = "a,b-c,a-b,c"
    assert "ambiguous" in refused(tmp_path / "fed", "--edges", "a-b-c", nodes=names)


# --- classes and features -----------------------------------------------------------


def test_a_sample_file_gives_classes_and_features(tmp_path, write):
    sample = write("sample.csv", "age,kind,bmi\n1,2,3\n4,7,6\n")
    init(tmp_path / "fed", "--like", sample, "--target", "kind")
    spec, plan = load_node(tmp_path / "fed" / "a" / "node.toml")
    assert plan.training.classes == (2, 7)
    assert plan.training.feature_names == ("age", "bmi")
    assert spec.target == "kind"
    assert spec.data.endswith("data.csv")


def test_options_may_say_more_than_the_sample(tmp_path, write):
    sample = write("sample.csv", "id,age,kind\n1,2,x\n4,5,x\n")
    like = ("--like", sample, "--target", "kind")
    assert "only 'x'" in refused(tmp_path / "fed", *like)
    assert "lacks 'x'" in refused(tmp_path / "fed", *like, "--classes", "y,z")
    unknown = refused(tmp_path / "f", *like, "--classes", "x,y", "--features", "agee")
    assert "`age`" in unknown
    init(tmp_path / "fed", *like, "--classes", "x,y", "--features", "age")
    plan = load_federation(tmp_path / "fed" / "plan.toml").training
    assert plan.classes == ("x", "y")
    assert plan.feature_names == ("age",)


def test_a_sample_without_names_gives_a_number(tmp_path, write):
    arrays = {"X": np.ones((3, 5)), "y": np.array(["1", "2", "1"])}
    sample = write("s.npz", arrays)
    init(tmp_path / "fed", "--like", sample)
    spec, plan = load_node(tmp_path / "fed" / "a" / "node.toml")
    assert plan.training.classes == ("1", "2")
    assert plan.training.feature_names is None
    assert plan.training.n_features == 5
    assert spec.data.endswith("data.npz")
    error = refused(tmp_path / "no", "--like", sample, "--features", "a,b")
    assert "as in the file, 5, got 2" in error
    init(tmp_path / "five", "--like", sample, "--features", "5")


def test_a_wide_sample_and_odd_names_survive_the_plan_file(tmp_path, write):
    names = [f"pixel_{k}" for k in range(300)] + ['a "b"', "c\\d", "\x7f", "é\t#"]
    frame = pl.DataFrame({name: [1, 2] for name in names} | {"t": ["[x]\n", "'y'"]})
    frame.write_parquet(tmp_path / "s.parquet")
    init(tmp_path / "fed", "--like", tmp_path / "s.parquet", "--target", "t")
    plan = load_federation(tmp_path / "fed" / "plan.toml").training
    assert plan.feature_names == tuple(names)
    assert plan.classes == ("'y'", "[x]\n")
    text = (tmp_path / "fed" / "plan.toml").read_text()
    assert max(map(len, text.splitlines())) <= 88


label_words = st.one_of(
    st.integers(-99, 99).map(str),
    st.sampled_from(["true", "false", "True", "1.0", "01", "yes", "no", "NA", "a b"]),
    st.text("abc-.é", min_size=1, max_size=4),
)


@given(st.lists(label_words, min_size=2, max_size=5, unique=True))
def test_classes_have_the_types_that_a_csv_file_gives_them(tmp_path_factory, chosen):
    path = tmp_path_factory.mktemp("labels") / "labels.csv"
    path.write_text("x,label\n" + "".join(f"0,{word}\n" for word in chosen))
    try:
        expected = describe(path, "label").classes
        assert len(expected) == len(chosen)
    except (ValueError, AssertionError):
        with pytest.raises(PlanError, match="--classes"):
            labels(",".join(chosen))
    else:
        found = labels(",".join(chosen))
        assert [(type(one), one) for one in found] == [
            (type(one), one) for one in expected
        ]


def test_labels_in_quotes_are_text():
    assert labels('"1","2"') == ("1", "2")
    assert labels('"true", "false"') == ("false", "true")


# --- everything or nothing ----------------------------------------------------------


def test_nothing_is_ever_overwritten(tmp_path):
    (tmp_path / "fed").mkdir()
    (tmp_path / "fed" / "mine").write_text("mine")
    error = wrong("federation", "init", tmp_path / "fed", "--nodes", "a,b,c")
    assert "not empty" in error
    assert "move this one away" in error
    assert [path.name for path in (tmp_path / "fed").iterdir()] == ["mine"]
    error = wrong("federation", "init", tmp_path / "fed" / "mine", "--nodes", "a,b,c")
    assert "is a file" in error
    error = wrong(
        "federation", "init", tmp_path / "fed" / "mine" / "x", "--nodes", "a,b,c"
    )
    assert "a folder that can be created" in error
    assert [path.name for path in tmp_path.iterdir()] == ["fed"]


def test_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "fed").mkdir()
    init(tmp_path / "fed", *DATA)
    assert load_federation(tmp_path / "fed" / "plan.toml")


def test_the_current_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "not the one you are in" in wrong(
        "federation", "init", ".", "--nodes", "a,b,c"
    )


def test_folders_above_are_made(tmp_path):
    init(tmp_path / "x" / "y" / "fed", *DATA)
    assert (tmp_path / "x" / "y" / "fed" / "plan.toml").exists()


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, OSError(28, "No space left")])
def test_an_interrupted_start_leaves_nothing(tmp_path, monkeypatch, trouble):
    calls = []

    def broken(*args, **kwargs):
        calls.append(args)
        if len(calls) == 3:
            raise trouble
        return issue(*args, **kwargs)

    issue = folders.issue
    monkeypatch.setattr(folders, "issue", broken)
    result = dssfn("federation", "init", tmp_path / "x" / "fed", "--nodes", "a,b,c,d")
    assert result.exit_code == (130 if trouble is KeyboardInterrupt else 1)
    assert len(calls) == 3
    assert list(tmp_path.iterdir()) == []


# --- renewal ------------------------------------------------------------------------


def test_a_new_certificate_takes_the_place_of_the_old_one(tmp_path):
    fed = tmp_path / "fed"
    init(fed, *DATA)
    old = identity(fed / "b")
    result = dssfn("federation", "certificate", fed, "b", "--days", 90, "--json")
    shown = json.loads(result.stdout)
    new = identity(fed / "b")
    assert new.key_pem != old.key_pem
    assert new.authorities_pem == old.authorities_pem
    assert shown["expires"] == new.expires.isoformat()
    assert (new.expires - datetime.now(UTC)).days in (89, 90)
    assert (fed / "b" / "node.key.old-1").read_bytes() == old.key_pem
    assert (fed / "b" / "node.crt.old-1").read_bytes() == old.certificate_pem
    text = dssfn("federation", "certificate", fed, "b").stdout
    assert "node.key.old-2" in text
    assert (fed / "b" / "node.key.old-2").read_bytes() == new.key_pem
    if os.name == "posix":
        for path in (fed / "b").glob("node.key*"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_that_was_sent_away_gets_new_files(tmp_path):
    init(tmp_path / "fed")  # a plan with places left open
    shutil.rmtree(tmp_path / "fed" / "a")
    assert dssfn("federation", "certificate", tmp_path / "fed", "a").exit_code == 0
    files = {path.name for path in (tmp_path / "fed" / "a").iterdir()}
    assert files == {"node.crt", "node.key", "ca.crt", "crl.pem"}


def test_an_interrupted_renewal_keeps_the_old_pair(tmp_path, monkeypatch):
    fed = tmp_path / "fed"
    init(fed, *DATA)
    old = identity(fed / "a")
    write = Credential.write

    def broken(self, certificate, key):
        write(self, certificate.with_name("x"), key)
        raise KeyboardInterrupt

    monkeypatch.setattr(Credential, "write", broken)
    assert dssfn("federation", "certificate", fed, "a").exit_code == 130
    assert identity(fed / "a") == old


def test_what_cannot_be_renewed_is_named(tmp_path):
    fed = tmp_path / "fed"
    init(fed, *DATA)
    ask = ("federation", "certificate")
    assert "a, b, c, d" in wrong(*ask, fed, "e")
    assert "plan.toml" in wrong(*ask, tmp_path, "a")
    assert "`--days`" in wrong(*ask, fed, "a", "--days", 0)
    shutil.copy(fed / "a" / "node.key", fed / "ca" / "ca.key")
    assert "another key" in wrong(*ask, fed, "a")
    (fed / "ca" / "ca.key").unlink()
    assert "ca.key" in wrong(*ask, fed, "a")
    assert identity(fed / "a")


@pytest.mark.parametrize(
    "name", ["../../x", "*", "A", "a/../b", "", "a.", "ca", "plan.toml", "readme.txt"]
)
def test_a_name_in_an_edited_plan_must_keep_the_rule_before_it_is_a_path(
    tmp_path, name
):
    fed = tmp_path / "deep" / "fed"
    init(fed, *DATA)
    plan = fed / "plan.toml"
    text = plan.read_text().replace('name = "b"', f"name = {json.dumps(name)}")
    plan.write_text(text)
    before = sorted(tmp_path.rglob("*"))
    error = wrong("federation", "certificate", fed, name)
    assert repr(name) in error
    assert sorted(tmp_path.rglob("*")) == before


# --- an authority of one's own, as docs/certificates.md shows it ---------------------

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "certificates.md"


needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl is not installed"
)


def shell_blocks():
    return [part.split("```")[0] for part in GUIDE.read_text().split("```sh\n")[1:]]


def run_block(words, folder):
    """Run the one block of the guide that has these words."""
    (block,) = [one for one in shell_blocks() if words in one]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shown = subprocess.run(
        ["sh", "-euc", block],
        cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr


REQUEST, SIGN = "dssfn node request", "dssfn federation sign"
MAKE_AUTHORITY, SIGN_BY_OWN, ADD = "own-ca.ext <<", "north.ext <<", "cat own-ca.crt >>"


def test_every_block_of_the_guide_is_run():
    assert len(shell_blocks()) == len((REQUEST, SIGN, MAKE_AUTHORITY, SIGN_BY_OWN, ADD))


@needs_openssl
def test_the_guide_s_own_authority_makes_an_identity(tmp_path):
    init(tmp_path / "fed", *DATA, nodes="north,south")
    home = tmp_path / "fed" / "north"
    (home / "node.key").unlink()
    for words in (REQUEST, MAKE_AUTHORITY, SIGN_BY_OWN, ADD):
        run_block(words, home)
    north, south = identity(home), identity(tmp_path / "fed" / "south")
    # One that only knows the lab's authority does not take it, until it is added.
    lab = tmp_path / "fed" / "ca" / "ca.crt"
    with pytest.raises(IdentityError, match="must be signed by"):
        read_identity(home / "node.crt", home / "node.key", lab, "north")
    south = replace(south, authorities_pem=north.authorities_pem)
    assert meet(north, south) == "south"
    assert meet(south, north) == "north"


def basic_constraints(path):
    made = x509.load_pem_x509_certificate(path.read_bytes())
    return made.extensions.get_extension_for_class(x509.BasicConstraints).value


@needs_openssl
def test_the_guide_s_own_authority_signs_a_node_whatever_the_request_asks_for(tmp_path):
    init(tmp_path / "fed", *DATA, nodes="north,south")
    home = tmp_path / "fed" / "north"
    wishes = (
        "-addext", "subjectAltName=DNS:south", "-addext", "basicConstraints=CA:TRUE"
    )  # fmt: skip
    subprocess.run(
        ["openssl", "req", "-new", "-key", "node.key", "-subj", "/CN=south", *wishes,
         "-out", "node.csr"],
        cwd=home, check=True, capture_output=True,
    )  # fmt: skip
    for words in (MAKE_AUTHORITY, SIGN_BY_OWN, ADD):
        run_block(words, home)
    assert identity(home).name == "north"
    assert basic_constraints(home / "own-ca.crt") == x509.BasicConstraints(True, 0)
    assert basic_constraints(home / "node.crt") == x509.BasicConstraints(False, None)
    files = [home / part for part in ("node.crt", "node.key", "ca.crt")]
    with pytest.raises(IdentityError, match="must carry the node's name 'south'"):
        read_identity(*files, "south")


def test_the_guide_s_request_and_signature_make_an_identity(tmp_path):
    init(tmp_path / "fed", *DATA, nodes="north,south")
    home = tmp_path / "home"
    home.mkdir()
    run_block(REQUEST, home)
    shutil.copy(home / "node.csr", tmp_path)
    run_block(SIGN, tmp_path)
    for part in ("node.crt", "ca.crt", "node.toml", "plan.toml"):
        shutil.copy(tmp_path / "fed" / "north" / part, home)
    assert identity(home).name == "north"


def test_help_shows_an_example():
    commands = ("federation init", "federation certificate", "federation sign")
    for command in (*commands, "node request"):
        result = dssfn(*command.split(), "--help")
        assert result.exit_code == 0
        assert f"Example: dssfn {command}" in " ".join(result.stdout.split())


def test_two_nodes_are_warned_before_anything_is_made(tmp_path):
    said = wrong("federation", "init", tmp_path / "fed", "--nodes", "a,b", *DATA)
    assert "each learns the other's sums" in said
    assert "`--min-nodes 2`" in said
    assert not (tmp_path / "fed").exists()


def test_fewer_nodes_than_are_asked_for_are_refused_without_talk_of_two(tmp_path):
    init = ("federation", "init", tmp_path / "fed", "--nodes", "a,b,c", *DATA)
    said = wrong(*init, "--min-nodes", 5)
    assert "`--nodes` must name at least 5 nodes (`--min-nodes`), got 3." in said
