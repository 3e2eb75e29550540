"""`dssfn federation init`: what an option says is what the plan says."""

from __future__ import annotations

import inspect
import json

import pytest

from dssfn.cli.federation import init
from dssfn.federation import load_federation
from tests.support.commands import dssfn, wrong

NODES = ("--nodes", "a,b,c,d,e,f")
NAMED = (*NODES, "--classes", "no,yes", "--features", "age,bmi")
SIZED = (*NAMED, "--layers", "2", "--width", "20", "--members", "1")
BOUNDED = (*NAMED, "--epsilon", "1", "--input-low", "-2", "--input-high", "2")
LIKE = (*NODES, "--target", "y", "--like", "a.csv")

# What is said besides, and the option with a value that is not its default.
IN_THE_PLAN = {
    "nodes": (NAMED, "--nodes", "a,b,c,x"),
    "topology": (NAMED, "--topology", "star"),
    "degree": (NAMED, "--degree", "2"),
    "edges": (NAMED, "--edges", "a-b,b-c,c-d,d-e,e-f"),
    "round_deadline": (NAMED, "--round-deadline", "7"),
    "secure": (NAMED, "--no-secure"),
    "mask_degree": (NAMED, "--mask-degree", "4"),
    "min_nodes": (NAMED, "--min-nodes", "4"),
    "quorum": (NAMED, "--quorum", "4"),
    "leave_after": ((*NAMED, "--quorum", "4"), "--leave-after", "9"),
    "min_rows": (NAMED, "--min-rows", "33"),
    "min_cell": (NAMED, "--min-cell", "7"),
    "publish_sites": (NAMED, "--publish-sites"),
    "schema": (NODES, "--schema", "schema.toml"),
    "like": (LIKE, "--like", "b.csv"),
    "target": ((*LIKE, "--features", "age"), "--target", "z"),
    "classes": (NAMED, "--classes", "no,yes,maybe"),
    "features": (NAMED, "--features", "3"),
    "columns": (LIKE, "--columns", "bmi"),
    "drop": (LIKE, "--drop", "bmi"),
    "id": (LIKE, "--id", "n"),
    "preset": (NAMED, "--preset", "paper"),
    "layers": (NAMED, "--layers", "3"),
    "width": (NAMED, "--width", "40"),
    "members": (NAMED, "--members", "4"),
    "ridge": (NAMED, "--ridge", "0.5"),
    "scale": (NAMED, "--scale", "common"),
    "folds": (NAMED, "--folds", "nodes"),
    "size": (NAMED, "--size", "ssfn"),
    "class_weight": (NAMED, "--class-weight", "balanced"),
    "alpha": (SIZED, "--alpha", "1.5"),
    "gain": (NAMED, "--gain", "7"),
    "standardize": ((*SIZED, "--no-secure"), "--no-standardize"),
    "bias": (NAMED, "--bias", "0.25"),
    "units": ((*SIZED, "--no-secure"), "--units", "dense"),
    "image_shape": (("--nodes", "a,b,c", "--classes", "0,1", "--features", "16"),
                    "--image-shape", "4x4"),
    "epsilon": (BOUNDED, "--epsilon", "3"),
    "delta": (BOUNDED, "--delta", "1e-6"),
    "colluders": (BOUNDED, "--colluders", "2"),
    "input_low": (BOUNDED, "--input-low", "-3"),
    "input_high": (BOUNDED, "--input-high", "3"),
    "solver": (SIZED, "--solver", "krylov", "--no-secure"),
    "seed": (NAMED, "--seed", "5"),
}  # fmt: skip
NOT_IN_THE_PLAN = {
    "address", "host", "port",  # may differ
    "sep", "decimal", "encoding", "sheet",  # how a file is read
    "folder", "keys", "days", "json",
}  # fmt: skip


def test_every_option_of_init_is_looked_at():
    assert {*inspect.signature(init).parameters} == {*IN_THE_PLAN, *NOT_IN_THE_PLAN}


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Files that the plan may be taken from, in the folder that commands run in."""
    monkeypatch.chdir(tmp_path)
    for name, label in (("a", "yes"), ("b", "so")):
        rows = ("n,age,bmi,y,z", "1,2,3,no,0", f"2,3,5,{label},1", "3,4,2,no,1")
        (tmp_path / f"{name}.csv").write_text("\n".join(rows) + "\n")
    made = dssfn("schema", "b.csv", "--target", "y", "--out", "schema.toml")
    assert made.exit_code == 0, made.output


def fingerprints(folder, *args):
    """Set a federation up; what `init` says its fingerprint is, and what it wrote."""
    result = dssfn("federation", "init", folder, *args, "--json")
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)["fingerprint"]
    return said, said and load_federation(folder / "plan.toml").fingerprint()


@pytest.mark.parametrize("name", IN_THE_PLAN)
@pytest.mark.usefixtures("files")
def test_what_an_option_says_is_in_the_plan_that_init_writes(tmp_path, name):
    besides, *option = IN_THE_PLAN[name]
    said, wrote = fingerprints(tmp_path / "with", *besides, *option)
    assert said == wrote != fingerprints(tmp_path / "without", *besides)[0]


@pytest.mark.parametrize(
    ("nodes", "args", "words"),
    [
        (
            "a,b,c,d,e,f,g,h",
            ("--mask-degree", 9),
            "`--mask-degree` must lie in 4..7 for 8 nodes, got 9",
        ),
        ("a,b,c,d,e", ("--mask-degree", 9), "`--mask-degree` must be 4 for 5 nodes"),
        ("a,b,c,d,e,f,g", ("--mask-degree", 5), "must be even for an odd number"),
        (
            "a,b,c",
            ("--mask-degree", 2, "--no-secure"),
            "must come with `--secure`",
        ),
    ],
)
def test_a_number_of_mask_partners_that_cannot_be_is_refused(
    tmp_path, nodes, args, words
):
    fed = ("federation", "init", tmp_path / "fed", "--nodes", nodes)
    assert words in wrong(*fed, *args)
    assert not (tmp_path / "fed").exists()
