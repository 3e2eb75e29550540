"""`dssfn simulate` over links and with nodes that are not perfect."""

from __future__ import annotations

import json

import pytest

from dssfn.results import read_result
from dssfn.trace import read_trace
from tests.support.commands import dssfn, wrong

SMALL = ("simulate", "--data", "iris", "--nodes", 6, "--layers", 1, "--width", 20)
SMALL = (*SMALL, "--quiet")
BAD = (
    "--loss", 0.3, "--burst", 2, "--delay", "lognormal:20ms", "--duplicate", 0.05,
    "--link-bandwidth", "10Mbit", "--slow", "3:10x", "--away", "5:20ms-2s",
)  # fmt: skip


def test_the_model_file_is_that_of_perfect_links(tmp_path):
    for name, options in (("good", ()), ("bad", BAD), ("timed", ("--loss", 0))):
        ended = dssfn(*SMALL, *options, "--out", tmp_path / name)
        assert ended.exit_code == 0, ended.output
    models = [
        (tmp_path / name / "model.safetensors").read_bytes()
        for name in ("good", "bad", "timed")
    ]
    assert models[0] == models[1] == models[2]
    assert read_result(tmp_path / "good").simulated_network is None
    assert read_result(tmp_path / "bad").simulated_network.total.lost > 0
    for name, is_told in (("good", False), ("bad", True)):
        page = (tmp_path / name / "report.html").read_text(encoding="utf-8")
        assert ("simulated time" in page) == is_told


def test_json_has_simulated_seconds_and_letters(tmp_path):
    trace, figure = tmp_path / "t.jsonl", tmp_path / "t.png"
    files = ("--trace", trace, "--timeline", figure)
    told = json.loads(dssfn(*SMALL, *BAD, *files, "--json").stdout)
    network = told["simulated_network"]
    assert network["scheme"] == "tree"
    assert network["seconds"] > 1
    total = network["total"]
    assert total["letters"] > network["lockstep_letters"]
    assert [one["layer"] for one in network["layers"]] == [-1, 0, 1]
    for name, count in total.items():
        assert sum(one[name] for one in network["layers"]) == count
    kinds = [event.kind for event in read_trace(trace)]
    assert kinds.count("finished") == 6
    assert kinds.count("resent") == total["resent"]
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_a_table_tells_what_bad_links_cost():
    shown = dssfn(*SMALL, *BAD).stdout
    for words in (
        "simulated time",
        "times as many as with perfect",
        "acknowledgements",
    ):
        assert words in shown
    assert "simulated time" not in dssfn(*SMALL).stdout


def test_the_centralised_model_is_compared_with_all_the_same():
    told = json.loads(dssfn(*SMALL, *BAD, "--check-equivalence", "--json").stdout)
    assert told["equivalence"]["central_difference"] == 0


def test_a_deadline_that_is_missed_leaves_the_trace_and_names_the_missing(tmp_path):
    files = ("--trace", tmp_path / "t.jsonl", "--timeline", tmp_path / "t.svg")
    ended = dssfn(*SMALL, "--gone", "2:1us", "--deadline", "9s", *files)
    assert ended.exit_code == 1
    assert "node 2: gone since 1e-06 s" in ended.stderr
    last = list(read_trace(tmp_path / "t.jsonl"))[-1]
    assert (last.kind, last.at) == ("gave-up", 9.0)
    assert (tmp_path / "t.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--delay", "lognrmal:20ms"], "got 'lognrmal'. Did you mean `lognormal`?"),
        (["--delay", "lognormal:20"], "`--delay` must be a time with a unit"),
        (["--delay", "lognormal"], "`--delay` must say how long, such as lognormal:"),
        (["--delay", "lognormal:20ms,x"], "`--delay`: the sigma of a lognormal"),
        (["--delay", "20"], "`--delay` must be a time with a unit"),
        (["--delay", "uniform:3s-1s"], "`--delay` must end no earlier"),
        (["--delay", "uniform:3s"], "`--delay` must have two times"),
        (["--deadline", "600"], "`--deadline` must be a time with a unit"),
        (["--deadline", "0s"], "`--deadline` must be a positive number"),
        (["--link-bandwidth", "10MB"], "such as 500kbit, 10Mbit or 1Gbit, got '10MB'"),
        (["--slow", "6:10x"], "`--slow` must name a node of the graph, 0 to 5, got 6"),
        (["--slow", "3:fast"], "`--slow` must end with a factor, such as 3:10x"),
        (["--away", "5"], "`--away` must begin with a node's number and a colon"),
        (["--away", "5:60s-20s"], "`--away` must hold intervals that end after"),
        (["--away", "1:0s-9s", "--away", "1:5s-20s"], "`--away` must hold intervals"),
        (["--gone", "north:3s"], "`--gone` must begin with a node's number"),
        (["--loss", "1.5"], "`--loss` must be at least 0 and below 1, got 1.5"),
        (["--loss", "1"], "`--loss` must be at least 0 and below 1, got 1."),
        (["--slow", "1:2x", "--slow", "1:3x"], "`--slow` must name every node at most"),
        (["--gone", "1:2s", "--gone", "1:3s"], "at most once, got node 1 2 times"),
        (["--burst", "5"], "`--burst` must come with `--loss`"),
        (["--loss", "0.9", "--burst", "2"], "`--burst` must be at least 9 messages"),
        (["--scheme", "tre"], "`--scheme` must be one of auto, gossip"),
        (["--timeline", "none/a.png"], "`--timeline` must be a file in an existing"),
        (["--trace", "none/a.jsonl"], "`--trace` must be a file in an existing folder"),
        (["--trace", ".", "--loss", "0.1"], "`--trace` must be a file in an existing"),
        (["--timeline", "a.pdf"], "`--timeline` must end with .png or .svg"),
        (
            ["--loss", "0.1", "--secure"],
            "`--secure` must be left out with imperfect links",
        ),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_with_the_way_out(options, message):
    assert message in wrong(*SMALL, *options)


def test_help_has_a_heading_for_simulated_time():
    shown = dssfn("simulate", "--help").stdout
    assert "Imperfect links and nodes" in shown
    assert shown.index("Share of messages") < shown.index("Settings to start from")
