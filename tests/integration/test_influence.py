"""Real nodes, one of which sends more than its rows allow."""

from __future__ import annotations

import shutil

import pytest

from tests.support.federations import change_plan, start
from tests.support.stars import NAMES, star_of_digits

pytestmark = pytest.mark.grpc

SIZE = ("--members", 2, "--layers", 1, "--width", 20)
LIAR, HONEST = "two", ("hub", "one", "three")


def ended(folder, lie):
    """Exit codes and what was printed at every node of a star, one of which lies."""
    running = {name: start(folder, name, "node run") for name in HONEST}
    program = ("tests.support.liar", lie)
    running[LIAR] = start(folder, LIAR, "node run", program=program)
    try:
        said = {name: one.communicate(timeout=300) for name, one in running.items()}
    finally:
        for one in running.values():
            one.kill()
    codes = {name: one.returncode for name, one in running.items()}
    for name in NAMES:  # the next training starts from scratch
        shutil.rmtree(folder / name / "out")
    return codes, {name: err for name, (_, err) in said.items()}


@pytest.fixture(scope="module")
def star(tmp_path_factory):
    return star_of_digits(tmp_path_factory.mktemp("influence") / "fed", *SIZE)


@pytest.mark.parametrize("lie", ["oversized", "weight"])
def test_without_masks_the_hub_names_the_leaf_that_lies(star, lie):
    change_plan(star, secure="false")
    codes, said = ended(star, lie)
    assert codes == dict.fromkeys(NAMES, 1)
    assert f"{LIAR} sent sums for" in said["hub"]
    assert (
        "told the other nodes: one of its neighbours broke the protocol"
        in (said["hub"])
    )
    for name in ("one", "three"):
        assert f"{LIAR} sent sums" not in said[name]
        assert "one of its neighbours broke the protocol" in said[name]


def test_with_masks_nodes_learn_that_somebody_lied(star):
    change_plan(star, secure="true")
    codes, said = ended(star, "uncorrelated")
    assert codes == dict.fromkeys(NAMES, 1)
    told = [name for name in HONEST if "Masks hide which one" in said[name]]
    assert told
    for name in HONEST:
        assert f"{LIAR} sent sums" not in said[name]
        assert name in told or "broke the protocol" in said[name]
