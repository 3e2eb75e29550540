"""Real nodes: processes of their own, certificates, sockets, signals."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pytest

from dssfn.config import Plan
from dssfn.consensus import Tree
from dssfn.driver import drive
from dssfn.errors import TransportError
from dssfn.federation import load_federation
from dssfn.modelfile import load_network
from dssfn.node.checkpoint import CHECKPOINT_FILE
from dssfn.node.identity import Identity
from dssfn.node.session import LOG_FILE
from dssfn.planning import settle
from dssfn.setup import pki
from dssfn.shard import Shard, one_hot
from dssfn.simulator import simulate
from dssfn.testing import check_transport, ring_links
from dssfn.topology import build_topology
from dssfn.training import train_node
from dssfn.transports import Reason, Tag
from dssfn.transports.grpc import GrpcTransport, Neighbour, Rules, Terms
from tests.support import totals
from tests.support.lab import Lab, digits_of, free_port

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


def _simulated(lab):
    federation = load_federation(lab.root / "plan.toml")
    shards = []
    for k in range(len(lab.names)):
        X, y = digits_of(k, len(lab.names))
        shards.append(Shard(np.ascontiguousarray(X.T), one_hot(y, 10)))
    return simulate(shards, federation.training, federation.topology()).networks[0]


def _same_bits(one, other):
    return all(
        a.tobytes() == b.tobytes()
        for a, b in zip(one.outputs, other.outputs, strict=True)
    )


def _ring_of_transports(n_nodes, **settings):
    """Transports of a ring in this process, with real sockets and TLS."""
    authority = pki.make_authority("ring")
    names = frozenset(f"n{node}" for node in range(n_nodes))
    terms = Terms(b"{}", "", lambda other: iter(()), Rules(7, 10**6, 3), names)
    ports: dict[int, int] = {}
    transports = []
    for node in range(n_nodes):
        credential = pki.issue(authority, f"n{node}")
        identity = Identity(
            f"n{node}",
            credential.certificate_pem,
            credential.key_pem,
            authority.certificate_pem,
            credential.expires,
        )
        neighbours = [
            Neighbour(j, f"n{j}", f"127.0.0.1:{ports[j]}" if j in ports else None)
            for i, j in ring_links(n_nodes)
            if i == node
        ]
        transport = GrpcTransport(
            f"n{node}", neighbours, terms, identity, listen="127.0.0.1:0", **settings
        )
        assert transport.port is not None
        ports[node] = transport.port
        transports.append(transport)
    return transports


def test_the_grpc_transport_obeys_the_laws():
    n_nodes, links = 4, ring_links(4)
    transports = _ring_of_transports(n_nodes, deadline=20.0)
    with ThreadPoolExecutor(n_nodes) as pool:
        hosts = [[node] for node in range(n_nodes)]
        list(pool.map(check_transport, transports, [links] * n_nodes, hosts))
        list(pool.map(GrpcTransport.close, transports))


def test_integers_are_added_up_exactly_over_grpc():
    n_nodes = 4
    scheme = Tree(build_topology("circular", n_nodes))
    transports = _ring_of_transports(n_nodes, deadline=20.0)

    def add_up(node):
        return drive({node: totals.program(node)}, scheme, transports[node])[node]

    with ThreadPoolExecutor(n_nodes) as pool:
        for came in pool.map(add_up, range(n_nodes)):
            totals.check(came, n_nodes)
        list(pool.map(GrpcTransport.close, transports))


@pytest.mark.parametrize("solver", ["gram", "krylov"])
def test_four_nodes_end_with_the_simulators_model_to_the_last_bit(make_lab, solver):
    lab = make_lab(4, solver=solver)
    lab.start()
    assert set(lab.wait().values()) == {0}
    assert len(lab.digests()) == 1
    assert _same_bits(load_network(lab.model("n0")), _simulated(lab))
    result = json.loads((lab.folder("n2") / "out" / "result.json").read_text())
    assert len(result["layers"]) == 5
    assert set(result["peers"]) == {"n1", "n3"}
    assert result["graph"]["names"] == ["n0", "n1", "n2", "n3"]


def test_a_scheme_that_leaves_rounding_ends_with_equal_files_all_the_same(make_lab):
    lab = make_lab(3, consensus="exact", kind="path", tol=1e-12)
    lab.start()
    assert set(lab.wait().values()) == {0}
    assert len(lab.digests()) == 1
    mine, theirs = load_network(lab.model("n0")), _simulated(lab)
    distance = np.linalg.norm(mine.output - theirs.output)
    assert distance <= 1e-9 * np.linalg.norm(theirs.output)


def test_one_open_port_on_an_edge_is_enough(make_lab):
    lab = make_lab(4, without_port=("n0", "n2"))
    lab.start()
    assert set(lab.wait().values()) == {0}
    assert len(lab.digests()) == 1


def _check(lab, name):
    command = [sys.executable, "-m", "dssfn", "node", "check", "--json"]
    done = subprocess.run(
        [*command, str(lab.node_file(name))], capture_output=True, text=True
    )
    findings = json.loads(done.stdout)["findings"] if done.stdout else []
    return done, {one["what"]: (one["is_good"], one["text"]) for one in findings}


@pytest.mark.parametrize("how", ["kill", "stop", "cut"])
def test_a_disturbed_training_ends_with_the_undisturbed_model(make_lab, how):
    lab = make_lab(4, proxied=True, n_layers=20, width=200)
    lab.start()
    lab.wait_for("n1", "layer 3/20")
    if how == "kill":
        lab.kill("n1")
        lab.wait_for("n0", "n1 is gone")
        lab.start("n1")
        lab.wait_for("n0", "n1 is back after a restart")
    elif how == "stop":
        lab.send("n1", signal.SIGSTOP)
        lab.wait_for("n0", "n1 is gone: it is silent")
        lab.send("n1", signal.SIGCONT)
        lab.wait_for("n0", "n1 is back")
    else:
        lab.cut("n1")
        lab.wait_for("n2", "n1 is gone")
        lab.wait_for("n2", "n1 is back")
    assert set(lab.wait().values()) == {0}
    assert len(lab.digests()) == 1
    assert _same_bits(load_network(lab.model("n3")), _simulated(lab))


def test_who_is_waited_for_is_named_also_behind_a_neighbour(make_lab):
    lab = make_lab(3, kind="path", deadline=2.0)
    lab.start("n0", "n1")
    lab.wait_for("n1", "waiting for n2 for")
    lab.wait_for("n0", "s: it waits for n2")
    lab.start("n2")
    assert set(lab.wait().values()) == {0}
    lab.wait_for("n1", "n2 is connected")


def test_a_node_that_waits_in_vain_stops_and_says_how_to_go_on(make_lab):
    lab = make_lab(3, kind="path", deadline=1.0)
    for name in ("n0", "n1"):
        lab.add_setting(name, "start_deadline = 10")
    lab.start("n0", "n1")
    assert lab.wait() == {"n0": 1, "n1": 1}
    gone = "n2 did not connect within `start_deadline` = 10 s. Start this node again"
    assert f"Error: {gone}" in lab.printed("n1")
    kept = (lab.folder("n1") / "out" / LOG_FILE).read_text()
    assert f"ERROR {gone} when it is running. No layer is finished yet." in kept
    left = "Error: Node n1 has left: it gave up waiting for n2."
    never = "Error: Node n1 has been gone for"
    assert left in lab.printed("n0") or never in lab.printed("n0")
    again = f"Start again with: dssfn node run {lab.node_file('n0')}"
    assert f"No layer is finished yet. {again}" in lab.printed("n0")


def test_before_all_have_met_a_node_waits_for_as_long_as_it_takes(make_lab):
    lab = make_lab(3, kind="path", deadline=0.2)
    lab.start("n0", "n1")
    # Far more than ten deadlines; who is missing is said at growing intervals.
    lab.wait_for("n1", "waiting for n2 for 3 s: it has not connected yet")
    assert lab.is_running("n0")
    assert lab.is_running("n1")
    lab.start("n2")
    assert set(lab.wait().values()) == {0}
    assert len(lab.digests()) == 1


def test_last_words_reach_a_neighbour_that_reads_late(monkeypatch):
    answering, dialling = _ring_of_transports(2, deadline=20.0)
    link = answering._links[1]
    with closing(answering):
        taken = answering.receive

        def late(link, stream, data):
            after = taken(link, stream, data)
            return after if after is None else 0.5

        monkeypatch.setattr(answering, "receive", late)
        tag = Tag(0, 0, 0, (1,))
        letter = np.ones(1)
        dialling.exchange(tag, {(1, 0): letter}, [])
        answering.exchange(tag, {}, [(1, 0)])
        dialling.close(Reason.STOPPED)
        assert link.goodbye is Reason.STOPPED


def test_after_ctrl_c_the_others_wait_then_stop_and_all_can_go_on(make_lab):
    lab = make_lab(3, deadline=2.0, n_layers=12, width=150)
    lab.start()
    lab.wait_for("n1", "layer 2/12")
    lab.send("n1", signal.SIGINT)
    codes = lab.wait()
    assert codes == {"n0": 1, "n1": 130, "n2": 1}
    assert "to resume from there: dssfn node run" in lab.printed("n1")
    for name in ("n0", "n2"):
        assert "n1 is gone: stopped by its operator" in lab.printed(name)
        assert "n1 has left" not in lab.printed(name)  # it may come back
        assert "layers are saved" in lab.printed(name)
        assert (lab.folder(name) / "out" / CHECKPOINT_FILE).exists()
        assert not lab.model(name).exists()
    lab.start()
    assert set(lab.wait().values()) == {0}
    assert "resuming after layer" in lab.printed("n1")
    assert _same_bits(load_network(lab.model("n1")), _simulated(lab))


def test_a_lost_checkpoint_sends_all_back_to_the_start(make_lab):
    lab = make_lab(3, n_layers=12, width=150)
    lab.start()
    lab.wait_for("n1", "layer 4/12")
    lab.kill("n1")
    checkpoint = lab.folder("n1") / "out" / CHECKPOINT_FILE
    checkpoint.write_bytes(checkpoint.read_bytes()[:-100] + bytes(100))
    lab.start("n1")
    assert set(lab.wait().values()) == {0}
    assert "cannot be used" in lab.printed("n1")
    assert _same_bits(load_network(lab.model("n1")), _simulated(lab))


def test_a_node_that_was_killed_at_the_very_end_still_writes_its_model(make_lab):
    lab = make_lab(3, deadline=1.0)
    lab.start()
    assert set(lab.wait().values()) == {0}
    digests = lab.digests()
    lab.model("n1").unlink()
    lab.start("n1")  # the others have left
    assert lab.wait()["n1"] == 0
    assert lab.digests() == digests
    assert "no longer needed: this node's model is complete" in lab.printed("n1")
    assert "Start this node again" not in lab.printed("n1")


def test_different_plans_are_named_with_field_values_and_peer(make_lab):
    lab = make_lab(3)
    other = lab.root / "other.toml"
    lab.write_plan(other, width=61)
    text = lab.node_file("n1").read_text().replace("../plan.toml", "../other.toml")
    lab.node_file("n1").write_text(text)
    lab.start()
    assert lab.processes["n1"].wait(300) == 2
    assert "2 of 3 nodes have another plan than this one" in lab.printed("n1")
    printed = lab.printed("n1")
    assert "`training.width` is 61 at n1 and 60 at n" in printed
    # The others wait for it, and those who met it have named it.
    for name in ("n0", "n2"):
        lab.wait_for(name, "waiting for n1")
    named = [name for name in ("n0", "n2") if "61 at n1" in lab.printed(name)]
    assert named
    assert lab.is_running("n0")
    assert lab.is_running("n2")
    lab.node_file("n1").write_text(text.replace("../other.toml", "../plan.toml"))
    lab.start("n1")
    assert set(lab.wait().values()) == {0}
    assert len(lab.digests()) == 1


def test_a_wrong_authority_is_named_with_the_address_on_the_side_that_dials(make_lab):
    lab = make_lab(3)
    foreign = pki.make_authority("another federation")
    address = f"127.0.0.1:{lab.ports['n0']}"
    for name, trusted in (
        ("n1", foreign.certificate_pem),
        ("n2", foreign.certificate_pem + lab.authority.certificate_pem),
    ):
        folder = lab.folder(name)
        pki.issue(foreign, name).write(folder / "node.crt", folder / "node.key")
        (folder / "ca.crt").write_bytes(trusted)
    lab.start()
    lab.wait_for(
        "n1",
        f"n0 cannot be reached at {address}: its certificate is not signed by an "
        "authority in this node's `authorities` file",
    )
    lab.wait_for("n2", f"n0 cannot be reached at {address}: the connection was closed")
    lab.wait_for("n2", "this node's certificate is not signed by an authority in its")
    lab.wait_for(
        "n0", "it is not signed by an authority in this node's `authorities` file"
    )
    lab.wait_for("n0", "the other end does not accept this node's certificate")


def test_an_expired_or_foreign_certificate_is_an_error_before_the_start(make_lab):
    lab = make_lab(2)
    foreign = pki.make_authority("somebody else")
    folder = lab.folder("n0")
    pki.issue(foreign, "n0").write(folder / "node.crt", folder / "node.key")
    lab.start("n0")
    assert lab.wait() == {"n0": 2}
    assert "Traceback" not in lab.printed("n0")


def test_strangers_are_refused_and_logged_and_training_goes_on(make_lab):
    lab = make_lab(3)
    lab.start("n0", "n1")
    lab.wait_for("n0", "n1 is connected")
    foreign = pki.make_authority("somebody else")
    credential = pki.issue(foreign, "n2")
    folder = lab.root / "stranger"
    folder.mkdir()
    credential.write(folder / "node.crt", folder / "node.key")
    (folder / "ca.crt").write_bytes(lab.authority.certificate_pem)
    settings = lab.node_file("n2").read_text()
    (folder / "node.toml").write_text(settings)
    done = subprocess.run(
        [
            "openssl",
            "s_client",
            *("-connect", f"127.0.0.1:{lab.ports['n0']}", "-quiet"),
            *("-cert", folder / "node.crt", "-key", folder / "node.key"),
        ],
        input=b"hello",
        capture_output=True,
        timeout=300,
    )
    assert done.returncode != 127
    lab.wait_for("n0", "refused a connection: certificate verify failed")
    lab.start("n2")
    assert set(lab.wait().values()) == {0}
    assert len(lab.digests()) == 1


def test_a_folder_that_cannot_be_written_is_an_error_before_the_start(make_lab):
    lab = make_lab(2)
    (lab.folder("n0") / "out").write_text("a file")
    lab.start("n0")
    assert lab.wait() == {"n0": 2}
    assert "`out` must be a writable folder" in lab.printed("n0")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_full_disk_is_an_error_before_the_start(make_lab):
    lab = make_lab(2)
    out = lab.folder("n0") / "out"
    out.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(out)],
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        lab.start("n0")
        assert lab.wait() == {"n0": 2}
        assert "MB are free" in lab.printed("n0")
    finally:
        subprocess.run(["umount", str(out)], check=True)


def test_a_port_in_use_is_an_error(make_lab):
    lab = make_lab(3)
    lab.start("n0")
    lab.wait_for("n0", "waiting for n1")
    text = lab.node_file("n1").read_text()
    lab.node_file("n1").write_text(
        text.replace(str(lab.ports["n1"]), str(lab.ports["n0"]))
    )
    lab.start("n1")
    assert lab.processes["n1"].wait(300) == 1  # a service may try again
    (error,) = lab.printed("n1").splitlines()[1:]
    address = f"127.0.0.1:{lab.ports['n0']}"
    assert error.startswith(
        f"Error: `listen`: {address} cannot be opened (Address already in use)."
    )
    assert error.endswith("choose another address.")


def test_a_transport_whose_port_is_in_use_leaves_no_thread_behind():
    authority = pki.make_authority("a lab")
    made = pki.issue(authority, "n0")
    identity = Identity(
        "n0", made.certificate_pem, made.key_pem, authority.certificate_pem,
        made.expires,
    )  # fmt: skip
    terms = Terms(b"{}", "r", lambda other: iter(()), Rules(7, 10, 1), frozenset())
    before = threading.active_count()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(TransportError, match=f"{listen} cannot be opened"):
            GrpcTransport("n0", [], terms, identity, listen=listen)
    assert threading.active_count() == before


def test_check_finds_what_is_wrong(make_lab):
    lab = make_lab(3)
    done, found = _check(lab, "n0")
    assert done.returncode == 0, done
    assert found["data"] == (True, "599 samples, 64 features")
    assert found["n1"] == (
        None,
        "connects to this node, so it cannot be tested from here",
    )
    _, found = _check(lab, "n2")
    assert found["n0"][0] is None
    assert "is it running?" in found["n0"][1]
    data = lab.folder("n0") / "data.csv"
    data.write_text(data.read_text().replace("p63,", "p99,", 1))
    (lab.folder("n0") / "node.key").unlink()
    done, found = _check(lab, "n0")
    assert done.returncode == 2
    assert not found["data"][0]
    assert not found["certificate"][0]


def test_check_reaches_neighbours_that_run(make_lab):
    lab = make_lab(3)
    lab.start("n0")
    lab.wait_for("n0", "n0 starts")
    done, found = _check(lab, "n1")
    assert found["n0"][0] is True, found
    assert done.returncode == 0


def test_metrics_are_served_when_asked_for(make_lab):
    lab = make_lab(3)
    port = free_port()
    lab.add_setting("n0", f'metrics = "127.0.0.1:{port}"')
    lab.start("n0", "n1")
    lab.wait_for("n0", "n1 is connected")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text = answer.read().decode()
    assert 'dssfn_peer_up{peer="n1"} 1.0' in text
    assert 'dssfn_peer_up{peer="n2"} 0.0' in text
    assert "dssfn_layer " in text
    assert "dssfn_epoch How often all nodes went back to a common checkpoint." in text
    lab.start("n2")
    assert set(lab.wait().values()) == {0}


def test_samples_and_labels_never_enter_a_frame(monkeypatch):
    """No feature's value and no target row is among the bytes that are sent."""
    sent = []
    rng = np.random.default_rng(3)
    n_nodes = 3
    X, codes = rng.normal(size=(5, 90)), rng.integers(3, size=90)
    T = one_hot(codes, 3)
    shards = [Shard(X[:, m::n_nodes], T[:, m::n_nodes]) for m in range(n_nodes)]
    topology = build_topology("circular", n_nodes)
    plan = Plan(n_features=5, classes=(0, 1, 2), n_layers=2, width=12)
    plan, averaging = settle(plan.replace(consensus="tree"), topology)
    transports = _ring_of_transports(n_nodes, deadline=20.0)
    for transport in transports:
        following = transport.next_letter

        def recorded(link, number, following=following):
            letter = following(link, number)
            if letter:
                sent.append(letter.frame)
            return letter

        monkeypatch.setattr(transport, "next_letter", recorded)

    def run(transport, node):
        program = train_node(shards[node], plan, n_nodes=n_nodes)
        return drive({node: program}, averaging, transport)[node]

    with ThreadPoolExecutor(n_nodes) as pool:
        networks = list(pool.map(run, transports, range(n_nodes)))
        list(pool.map(GrpcTransport.close, transports))
    assert _same_bits(networks[0], simulate(shards, plan, topology).networks[0])
    everything = b"".join(sent)
    assert len(everything) > 10_000
    for value in X.ravel():
        assert value.tobytes() not in everything
    for shard in shards:  # a whole row of targets, in any of the ways it could lie
        for row in shard.T:
            assert row.tobytes() not in everything
            assert row.astype(np.uint8).tobytes() not in everything


def test_nothing_is_left_behind(make_lab):
    lab = make_lab(3)
    lab.start()
    lab.wait()
    out = lab.folder("n0") / "out"
    left = sorted(path.name for path in out.iterdir())
    assert left == [
        CHECKPOINT_FILE,
        "model.safetensors",
        "node.log",
        "result.json",
    ]
    for path in (out, *out.iterdir()):  # nobody else on this machine can read them
        assert path.stat().st_mode & 0o077 == 0, path
    result = (out / "result.json").read_text()
    assert json.loads(result)["model"] == "model.safetensors"
    assert str(lab.root) not in result
    shutil.rmtree(out)
    with closing(lab):
        assert not any(map(lab.is_running, lab.names))
