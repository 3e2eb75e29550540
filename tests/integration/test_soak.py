"""Trainings, each disturbed at a random moment, end as if none had been."""

import random
import re
import signal
import time
from collections import Counter
from contextlib import closing

import pytest

from tests.support.lab import Lab

pytestmark = [pytest.mark.slow, pytest.mark.grpc]

SETTINGS = {"n_layers": 15, "width": 200, "proxied": True}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Digest and seconds of a training without disturbance, by number of nodes."""
    known = {}

    def train(n_nodes):
        if n_nodes not in known:
            root = tmp_path_factory.mktemp(f"calm{n_nodes}")
            with closing(Lab(root, n_nodes, **SETTINGS)) as lab:
                start = time.monotonic()
                lab.start()
                assert set(lab.wait().values()) == {0}
                known[n_nodes] = lab.digests(), time.monotonic() - start
                assert len(known[n_nodes][0]) == 1
        return known[n_nodes]

    return train


@pytest.mark.parametrize("seed", range(200))
def test_a_disturbed_training_ends_with_the_undisturbed_model(
    seed, undisturbed, tmp_path
):
    rng = random.Random(seed)
    n_nodes = rng.choice([4, 5, 6])
    digests, seconds = undisturbed(n_nodes)
    with closing(Lab(tmp_path, n_nodes, **SETTINGS)) as lab:
        lab.start()
        time.sleep(
            rng.uniform(0.0, 1.05) * seconds
        )  # before the start to after the end
        disturb(lab, rng)
        codes = lab.wait()
        printed = "\n".join(map(lab.printed, lab.names))
        assert set(codes.values()) == {0}, printed
        assert lab.digests() == digests, printed
        check_key_streams(lab)
        for name in lab.names:
            out = lab.folder(name) / "out"
            assert not [path for path in out.iterdir() if path.name.startswith(".")]


def check_key_streams(lab, names=None):
    """No key stream hides two messages: each is used by the two nodes that share it."""
    every = Counter()
    for name in names or lab.names:
        log = (lab.folder(name) / "out" / "node.log").read_text()
        used = Counter(re.findall(r"mask ([a-p]{16})", log))
        assert set(used.values()) <= {1}
        every += used
    assert max(every.values()) == 2


def disturb(lab, rng):
    """Kill, stop or cut off a node, and bring it back."""
    name = rng.choice(lab.names)
    match rng.choice(["kill", "stop", "cut"]):
        case "kill":
            lab.kill(name)
            time.sleep(rng.uniform(0, 1))
            lab.start(name)
        case "stop":
            lab.send(name, signal.SIGSTOP)
            time.sleep(rng.uniform(0, 2 * lab.deadline))
            lab.send(name, signal.SIGCONT)
        case "cut":
            for _ in range(rng.randint(1, 3)):
                lab.cut(name)
                time.sleep(rng.uniform(0, 0.3))
