"""What the hub of a star receives from real nodes, with masks and without."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest
from scipy.stats import chisquare

from dssfn.node.agreement import AGREEMENT
from dssfn.transports.recording import recorded_letters
from tests.support.federations import change_plan, run_all
from tests.support.stars import LEAVES, NAMES, star_of_digits

pytestmark = pytest.mark.grpc

SIZE = ("--members", 2, "--layers", 1, "--width", 20)


def received(folder):
    """What the hub received from its leaves: by name, the numbers of each averaging."""
    found = {name: {} for name in LEAVES}
    for head, values in recorded_letters(folder):
        if head.layer != AGREEMENT and head.round == 0:
            found[NAMES[head.sender]][head.step] = values
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The same training twice, with masks and without; and who sent what."""
    root = tmp_path_factory.mktemp("masks")
    fed = star_of_digits(root / "fed", *SIZE)
    found = {}
    for secure in ("true", "false"):
        change_plan(fed, secure=secure)
        run_all(fed, NAMES, "node run", "--record", root / f"{secure}-{{name}}")
        models = {
            (fed / name / "out" / "model.safetensors").read_bytes() for name in NAMES
        }
        logs = [(fed / name / "out" / "node.log").read_text() for name in NAMES]
        found[secure] = (models, received(root / f"{secure}-hub"), logs)
        for name in NAMES:
            shutil.rmtree(fed / name / "out")
    return found


def test_masks_change_no_bit_of_the_model(runs):
    (masked, _, _), (plain, _, _) = runs["true"], runs["false"]
    assert masked == plain
    assert len(plain) == 1


def test_without_masks_the_hub_has_every_leaf_s_sums_and_with_them_noise(runs):
    (_, masked, _), (_, plain, _) = runs["true"], runs["false"]
    for name in LEAVES:
        assert masked[name].keys() == plain[name].keys()
        assert len(plain[name]) > 4
        for step, truth in plain[name].items():
            seen = masked[name][step].astype(float)
            if not truth.any():
                continue
            error = np.linalg.norm(seen - truth) / np.linalg.norm(truth.astype(float))
            assert error > 0.9
        # All that a leaf has sent, byte by byte. Good masks fail once in a million.
        sent = np.concatenate(list(masked[name].values()))
        counts = np.bincount(sent.view(np.uint8), minlength=256)
        assert chisquare(counts).pvalue > 1e-6
        readable = np.concatenate(list(plain[name].values()))
        counts = np.bincount(readable.view(np.uint8), minlength=256)
        assert chisquare(counts).pvalue < 1e-6


def test_the_sums_of_all_leaves_are_no_more_than_the_rest_of_the_total(runs):
    """The hub adds up what it received: masks with itself remain in the sum."""
    (_, masked, _), (_, plain, _) = runs["true"], runs["false"]
    for step in plain["one"]:
        with np.errstate(over="ignore"):
            seen = sum(masked[name][step] for name in LEAVES)
            truth = sum(plain[name][step] for name in LEAVES)
        assert not np.array_equal(seen, truth)


def test_no_key_stream_is_used_twice(runs):
    _, _, logs = runs["true"]
    for log in logs:
        used = re.findall(r"mask ([a-p]{16})", log)
        assert len(used) == len(set(used))
        assert len(used) > 12
    every = [name for log in logs for name in re.findall(r"mask ([a-p]{16})", log)]
    assert len(every) == 2 * len(set(every))  # each by the two that share it
