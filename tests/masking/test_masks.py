"""Masks cancel in the total, and hide everything else."""

from __future__ import annotations

import hmac
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from dssfn.consensus import Flood, Tree, run_rounds
from dssfn.errors import NumericalError, PlanError, ProtocolError
from dssfn.masking import (
    EphemeralKey,
    Masks,
    leaving,
    mask_partners,
    masks_in_one_place,
    packed,
    united,
    unpacked,
)
from dssfn.masking.ciphers import AT_ONCE, add_stream
from dssfn.programs import Message
from dssfn.topology import build_topology

EXTREMES = np.iinfo(np.int64)
integers = st.integers(EXTREMES.min, EXTREMES.max)


@given(st.integers(1, 20), st.lists(integers, max_size=5), st.integers(0, 2**63))
def test_the_total_is_what_it_was(n_nodes, values, step):
    masks = masks_in_one_place(mask_partners(n_nodes))
    with np.errstate(over="ignore"):
        plain = [
            np.array(values, dtype=np.int64) * (node + 1) for node in range(n_nodes)
        ]
        total = sum(plain[1:], plain[0])
        covered = [one.copy() for one in plain]
        for node, one in enumerate(covered):
            masks.cover(node, one, step)
        assert np.array_equal(sum(covered[1:], covered[0]), total)


@pytest.mark.parametrize("size", [0, 1, AT_ONCE - 1, AT_ONCE, 3 * AT_ONCE + 5])
def test_a_stream_does_not_depend_on_how_it_is_made(size):
    """The stream of a long message begins as that of a short one: AES in one piece."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    key, step = bytes(range(32)), 77
    values = np.zeros(size, dtype=np.int64)
    add_stream(values, key, step, is_added=True)
    counter = modes.CTR(step.to_bytes(8, "big") + bytes(8))
    expected = Cipher(algorithms.AES(key), counter).encryptor().update(bytes(8 * size))
    assert values.astype("<i8").tobytes() == expected


def test_matrices_are_masked_too():
    values = np.arange(6).reshape(2, 3)
    add_stream(values, bytes(32), 0, is_added=True)
    assert (values != np.arange(6).reshape(2, 3)).all()
    add_stream(values, bytes(32), 0, is_added=False)
    assert values.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("message", [np.zeros, np.ones])
def test_what_leaves_a_node_is_uniform(message):
    masks = masks_in_one_place(mask_partners(3))
    values = message(50_000, dtype=np.int64)
    masks.cover(1, values, 4)
    counts = np.bincount(values.view(np.uint8), minlength=256)
    # Of good masks one in a million would fail.
    assert chisquare(counts).pvalue > 1e-6
    ones = np.unpackbits(values.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 5 * 0.5 / np.sqrt(64 * 50_000)


def test_all_others_but_one_together_learn_nothing():
    """Whoever lacks one secret of a node sees uniform numbers."""
    partners = mask_partners(5)
    masks = masks_in_one_place(partners)
    message = np.full(20_000, 12345)
    sent = message.copy()
    masks.cover(0, sent, 0)

    def unmask(colluder):
        key = hmac.digest(masks.secrets[colluder][0], b"", "sha256")
        add_stream(sent, key, 0, is_added=False)

    for colluder in (1, 2, 3):  # not 4
        unmask(colluder)
    error = np.linalg.norm(sent.astype(float) - message) / np.linalg.norm(message)
    assert error > 0.9
    assert chisquare(np.bincount(sent.view(np.uint8), minlength=256)).pvalue > 1e-6
    unmask(4)
    assert np.array_equal(sent, message)


def test_a_key_stream_is_used_once():
    used = []
    masks = Masks(masks_in_one_place(mask_partners(3)).secrets, on_use=used.append)
    for step in (0, 1, 5):
        masks.cover(0, np.zeros(2, dtype=np.int64), step)
    assert len(set(used)) == len(used) == 6
    for step in (5, 3):
        with pytest.raises(NumericalError, match="used only once"):
            masks.cover(0, np.zeros(2, dtype=np.int64), step)


def test_who_was_told_another_total_has_other_masks():
    """A false total to one node makes noise of all that follows."""
    secrets = masks_in_one_place(mask_partners(3)).secrets
    told = [Masks({node: secrets[node]}) for node in range(3)]
    plain = [np.full(1000, node) for node in range(3)]
    for totals in ([5, 5, 5], [7, 8, 7]):  # the same for all, then another for node 1
        for masks, total in zip(told, totals, strict=True):
            masks.hear(np.array([total]))
        sent = [one.copy() for one in plain]
        for node, one in enumerate(sent):
            told[node].cover(node, one, totals[0])
        assert np.array_equal(sum(sent), sum(plain)) is (totals[0] == 5)
    assert chisquare(np.bincount(sum(sent).view(np.uint8), minlength=256)).pvalue > 1e-6


def test_equal_secrets_are_refused():
    with pytest.raises(ProtocolError, match="the same secret"):
        Masks({0: {1: bytes(32), 2: bytes(32)}})


@pytest.mark.parametrize(
    "values", [np.zeros(3), np.zeros((3, 2), dtype=np.int64, order="F")]
)
def test_what_cannot_be_masked_in_place_is_refused(values):
    with pytest.raises(NumericalError, match="one-dimensional array of integers"):
        add_stream(values, bytes(32), 0, is_added=True)


def test_real_numbers_do_not_leave_with_masks():
    masks = masks_in_one_place(mask_partners(2))
    with pytest.raises(NumericalError, match="real numbers"):
        leaving(Message.of(np.ones(2)), 0, step=0, masks=masks)


def test_plans_without_masks_need_no_cryptography():
    code = (
        "import sys; sys.modules['cryptography'] = None\n"
        "import numpy as np\n"
        "from dssfn import DSSFNClassifier, simulate\n"
        "X = np.arange(60.0).reshape(20, 3) % 7\n"
        "model = DSSFNClassifier(2, members=2, n_layers=0).fit(X, np.arange(20) % 2)\n"
        "print(model.predict(X).shape)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "(20,)\n", done.stderr


def test_streams_of_steps_and_keys_share_nothing():
    streams = []
    for key in (bytes(32), bytes(31) + b"1"):
        for step in (0, 1, 2**32, 2**63):
            values = np.zeros(1000, dtype=np.int64)
            add_stream(values, key, step, is_added=True)
            streams.append(values)
    every = np.concatenate(streams)
    assert len(np.unique(every)) == len(every)


@pytest.mark.parametrize("n_nodes", [1, 2, 3, 16, 17, 40, 101])
def test_partners_are_mutual_and_enough(n_nodes):
    partners = mask_partners(n_nodes)
    for node, others in enumerate(partners):
        assert node not in others
        assert all(node in partners[other] for other in others)
        least = n_nodes - 1 if n_nodes <= 16 else 2 * np.log2(n_nodes)
        assert len(others) >= least
    assert partners == mask_partners(n_nodes)


@pytest.mark.parametrize(
    ("n_nodes", "degree"), [(5, 1), (5, 5), (5, 3), (40, 40), (40, 3), (41, 5)]
)
def test_wrong_degrees_are_refused(n_nodes, degree):
    with pytest.raises(PlanError, match="mask_degree"):
        mask_partners(n_nodes, degree)


def test_secrets_are_of_two_nodes_and_one_training():
    a, b, c = (EphemeralKey(node) for node in range(3))
    secret = a.secret_with(1, b.public, b"x")
    assert secret == b.secret_with(0, a.public, b"x")
    others = {
        a.secret_with(2, c.public, b"x"),
        c.secret_with(1, b.public, b"x"),
        a.secret_with(1, b.public, b"y"),
        a.secret_with(2, b.public, b"x"),  # the same key in another node's name
    }
    assert secret not in others
    assert len(secret) == 32
    with pytest.raises(ProtocolError, match="no shared secret can be derived"):
        a.secret_with(1, bytes(32), b"x")


@pytest.mark.parametrize("kind", ["path", "star", "circular", "complete"])
def test_records_reach_all_nodes(kind):
    graph = build_topology(kind, 7)
    records = [bytes([node]) * (node + 1) for node in range(7)]
    values = {node: packed(record, node, 7, 20) for node, record in enumerate(records)}
    for found in run_rounds(Flood(graph, united), values).values():
        assert unpacked(found) == records


def test_odd_records_are_refused():
    with pytest.raises(ProtocolError, match="1 to 4 bytes"):
        packed(b"12345", 0, 1, 4)
    with pytest.raises(ProtocolError, match="1 to 4 bytes"):
        packed(b"", 0, 1, 4)
    for length in (-1, 9, 2**62):
        records = packed(b"1234", 0, 1, 8)
        records[0, 0] = length
        with pytest.raises(ProtocolError, match="cannot have"):
            unpacked(records)


def test_a_tree_passes_masked_letters_and_gives_the_total():
    graph = build_topology("star", 6)
    masks = masks_in_one_place(mask_partners(6))
    rng = np.random.default_rng(0)
    plain = {node: rng.integers(-100, 100, 50) for node in range(6)}
    covered = {node: one.copy() for node, one in plain.items()}
    for node, one in covered.items():
        masks.cover(node, one, 3)
    for total in run_rounds(Tree(graph), covered, 3).values():
        assert np.array_equal(total, sum(plain.values()))
