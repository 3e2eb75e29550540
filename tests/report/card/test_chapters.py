"""A model card has all headings, tells of all nodes, and never of one or of a row."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.config import Plan
from dssfn.report.card.chapter import Chapter, escaped, to_html, to_markdown
from dssfn.report.card.chapters import ModelFacts, chapters_of, lead
from dssfn.report.card.privacy import privacy_chapter
from dssfn.report.intervals import share_interval
from dssfn.report.numbers import clean
from dssfn.report.table import Table
from dssfn.results import Result
from dssfn.schema import Column, Schema, Target
from tests.support.report_sample import SCORES, found_result, node_result, sample_result

HEADINGS = (
    "Model details", "Intended use", "Not intended for", "Training data",
    "Training procedure", "Evaluation", "Privacy", "Ethical considerations",
    "Caveats and recommendations", "How to get started", "Contact",
)  # fmt: skip
OPEN = ("Intended use", "Not intended for", "Ethical considerations", "Contact")


def facts(**plan):
    settings = {"n_features": 4, "classes": ("a", "b", "c")} | plan
    return ModelFacts(
        plan=Plan(**settings), size="one network", learned=1234, n_bytes=5678,
        sha256="ab" * 32, written=datetime(2024, 5, 6, tzinfo=UTC),
    )  # fmt: skip


def card(result=None, **plan):
    known = None if result is None else msgspec.convert(result, Result)
    about = facts(**plan)
    return to_markdown(lead(about, known), chapters_of(about, known))


@pytest.mark.parametrize("result", [None, sample_result(), found_result()])
def test_all_headings_are_there_and_some_are_left_to_people(result):
    text = card(result)
    headings = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert tuple(headings[: len(HEADINGS)]) == HEADINGS
    for title in OPEN:
        assert text.split(f"## {title}\n\n")[1].startswith("> **To be filled in:**")
    assert text.count("To be filled in:") == len(OPEN)
    assert "2024-05-06" in text
    assert "abababab" in text


def test_without_a_result_the_card_says_what_it_does_not_know():
    text = card()
    assert "The result of the training was not given" in text
    assert "| developed by | not known |" in text
    assert "It is not known how good the model is" in text
    assert "when the model file was written" in text


def test_validation_scores_have_intervals_and_calibration():
    text = card(found_result())
    low, high = share_interval(SCORES["accuracy"], SCORES["n"])
    assert f"{100 * low:.1f}\u202f% to" in text
    assert f"to {100 * high:.1f}\u202f%" in text
    assert "### Calibration: right answers by probability" in text
    assert "test samples that no node was trained on" in text
    assert "compared with the one that a single machine" in text
    assert "| same size as one machine | yes |" in text


def test_figures_of_few_rows_are_left_out():
    whole = sample_result()
    few = [{"n": 2, "confidence": 0.4321, "accuracy": 0.5}, *SCORES["calibration"]]
    whole["scores"] = {"total": SCORES | {"calibration": few}}
    text = card(whole)
    assert "43.2" not in text
    assert "1 group of fewer than 5 samples left out" in text
    whole["scores"] = {"total": SCORES | {"n": 3}}
    assert "82.5" not in card(whole)


@pytest.mark.parametrize("is_published", [True, False])
def test_figures_of_one_node_are_told_if_the_plan_publishes_them(is_published):
    whole = found_result()
    rows = [
        {"node": "north", "scores": {"n": 20, "accuracy": 0.7654}},
        {"node": "tiny", "scores": {"n": 2, "accuracy": 0.5}},
    ]
    whole["scores"] = {"total": SCORES, "nodes": rows}
    whole["settings"]["publish_scores"] = is_published
    text = card(whole)
    assert ("76.5" in text) == is_published
    assert ("north" in text) == is_published
    assert "tiny" not in text


def test_what_a_node_knows_of_itself_alone_is_left_out():
    whole = node_result()
    whole["graph"]["names"] = ["north", "east", "west", "a", "b"]
    whole["n_test"], whole["test_accuracy"] = 40, 0.4321
    own = {"samples": "test", "model": {"n": 40, "accuracy": 0.8765}}
    whole |= {"here": own, "made_by": {"dssfn": "0.1.0", "machine": "Computer"}}
    text = card(whole)
    assert "5 nodes: north, east, west, a, b" in text
    for private in ("43.2", "87.7", "Computer", "3.0 kB", "sample"):
        assert private not in text.replace("samples", "").replace("Samples", "")


def test_the_names_of_data_and_files_are_left_out():
    whole = sample_result()
    whole |= {"data": "secret_file.csv"}
    whole["settings"] |= {"topology": "secret_graph", "partition": "secret_parts"}
    assert "secret" not in card(whole)


def test_a_schema_is_told_with_kinds_levels_and_units():
    schema = Schema(
        columns=(
            Column(name="age", kind="number", unit="years", missing=True),
            Column(
                name="pain|x", kind="category", levels=("<none>", "a_b"), other=True
            ),
            Column(name="id", kind="ignore"),
        ),
        target=Target(column="num", groups={"well": (0,), "ill": (1, 2)}, note="after"),
    )
    text = card(**schema.settings())
    assert "| age | number | years | yes | " in text
    assert r"| pain\|x | category | \<none\>, a\_b, others | no | " in text
    assert "Not used: id." in text
    assert "| values of ill | 1, 2 |" in text
    assert "| note | after |" in text
    assert "--target" not in text


def test_of_very_many_columns_some_are_told():
    columns = tuple(Column(name=f"c{k}", kind="number") for k in range(300))
    schema = Schema(columns=columns, target=Target(column="y", kind="number"))
    text = card(**schema.settings(), classes=())
    assert "100 more columns" in text
    assert "| c199 |" in text
    assert "| c200 |" not in text
    assert "A regression of 1 number" in text


def test_settings_are_told_that_mean_something():
    fixed = card(n_layers=2, width=10, members=1)
    assert (
        "| scale of the inputs | each column divided by its own standard deviation |"
        in fixed
    )
    assert "| networks in the ensemble |" not in fixed
    assert "| ridge, regularisation strength | found by validation |" in card()
    assert "| scale of the inputs | inputs are used as given |" in card(
        standardize=False
    )


@pytest.mark.parametrize(("secure", "words"), [(True, "masked sums"), (False, "graph")])
def test_privacy_says_whether_messages_were_masked(secure, words):
    plan = Plan(n_features=2, classes=("no", "yes"))
    chapter = privacy_chapter(plan, secure=secure)
    assert words in chapter.words[0]
    assert ("messages are masked", "yes" if secure else "no") in chapter.tables[1].rows


def test_those_who_may_collude_are_nodes_and_no_networks_of_an_ensemble():
    plan = Plan(
        n_features=2, classes=("a", "b"), epsilon=1.0, input_low=0.0, input_high=1.0,
        colluders=2,
    )  # fmt: skip
    chapter = privacy_chapter(plan, secure=True)
    assert ("nodes that may collude", "2") in chapter.tables[-1].rows
    assert "member" not in " ".join(chapter.words)


def test_privacy_says_what_this_plan_sends():
    assert "in layer 0 by fold;" in card()
    assert "by fold, each of whole nodes" in card(folds="nodes")
    paper = {"n_layers": 2, "width": 10, "members": 1}
    assert "by fold" not in card(**paper)
    assert "own solution" in card(**paper, solver="admm")
    assert "agreed vectors" in card(**paper, solver="krylov")
    assert "scaling of the inputs" not in card(**paper, standardize=False)
    assert "| each node's scores are shared | yes |" in card(publish_scores=True)


@given(st.text(max_size=30))
def test_no_name_breaks_out_of_its_cell(name):
    table = Table("t", ("a", "b"), [(clean(name), "x")])
    made = to_markdown("lead", [Chapter("c", tables=[table])])
    row = made.splitlines()[-1]
    # A mark counts that stands after an even number of backslashes.
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 3
    assert not re.search(r"(?<!\\)(?:\\\\)*[<&`]", row)


def test_a_page_has_the_same_chapters_and_no_tag_of_a_user():
    about = facts(classes=("<script>", "b"), feature_names=("a", "b", "c", "<img>"))
    page = to_html(lead(about, None), chapters_of(about, None), "0.1")
    for heading in HEADINGS:
        assert f"<h2>{heading}</h2>" in page
    assert page.count("To be filled in:") == len(OPEN)
    assert "<script>" not in page
    assert "<img>" not in page


def test_escaping_leaves_plain_words_alone():
    assert escaped("petal length (cm), 5.1 - 6.2!") == "petal length (cm), 5.1 - 6.2!"


@given(st.integers(1, 500), st.data())
def test_the_interval_holds_the_share_and_lies_between_zero_and_one(n, data):
    share = data.draw(st.integers(0, n)) / n
    low, high = share_interval(share, n)
    assert 0 <= low <= share + 1e-12
    assert share - 1e-12 <= high <= 1


def test_the_interval_is_that_of_scipy():
    from scipy.stats import binomtest

    theirs = binomtest(83, 100).proportion_ci(method="wilson")
    assert share_interval(0.83, 100) == pytest.approx((theirs.low, theirs.high), 1e-6)
