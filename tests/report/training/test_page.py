from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from importlib.resources import files
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from dssfn.cli.main import app
from dssfn.cli.report import try_to_report
from dssfn.config import Plan
from dssfn.report.canvas import COLOURS, log_range, new_axes, round_numbers, style
from dssfn.report.card.data import data_chapter
from dssfn.report.layout import positions
from dssfn.report.numbers import small
from dssfn.report.training import tables
from dssfn.report.training.figures import NAMES, draw_all
from dssfn.report.training.headlines import headlines
from dssfn.report.training.page import make_page
from dssfn.results import Result, write_result
from dssfn.topology import KINDS, build_topology
from tests.support.report_sample import found_result, node_result, sample_result

PLAN = Plan(n_features=2, classes=("a", "b"))
NOTHING = {"rounds": 0, "bytes_total": 0}
NASTY = ["<script>alert(1)</script>", "$x^{2$", 'id="a"', "#0069a8", "a\x00\ud800\n数"]


class Outline(HTMLParser):
    """Tags with their attributes, and all words."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def drawn(result):
    return draw_all(msgspec.convert(result, Result))


def page_of(result):
    typed = msgspec.convert(result, Result)
    return make_page(typed, draw_all(typed))


def without(result, *names):
    return {name: value for name, value in result.items() if name not in names}


@pytest.fixture(scope="module", params=[sample_result, found_result])
def page(request):
    return page_of(request.param())


def test_every_figure_is_on_one_of_the_pages():
    assert {*drawn(sample_result()), *drawn(found_result())} == set(NAMES)


def test_every_figure_is_on_the_page_with_words_for_those_who_do_not_see_it(page):
    outline = Outline(page)
    figures = {figure["id"] for figure in outline.all("figure")}
    assert set(NAMES) - figures in ({"cost"}, {"error"})
    for svg in outline.all("svg"):
        assert svg["role"] == "img"
        assert len(svg["aria-label"]) > 20


def test_every_table_says_what_its_columns_are(page):
    outline = Outline(page)
    assert len(outline.all("caption")) == len(outline.all("table")) > 5
    assert all(cell["scope"] in ("col", "row") for cell in outline.all("th"))


def test_the_headline_figures_have_units():
    shown = " ".join(Outline(page_of(sample_result())).words)
    for figure in ("\u202f%", "\N{MINUS SIGN}20.00\u202fdB", "10.5\u202fkB", "10⁻¹²"):
        assert figure in shown


def headlines_of(result):
    return {
        one.name: (one.value, one.words)
        for one in headlines(msgspec.convert(result, Result))
    }


def test_the_first_screen_says_how_good_against_what_who_has_it_and_what_was_sent():
    result = sample_result()
    first = headlines_of(result)
    assert first["Test accuracy"][0] == "83.3\u202f%"
    assert (
        "always guessing the most frequent class: 36.1\u202f%"
        in (first["Test accuracy"][1])
    )
    assert first["Against one machine"][0] == small(3.3e-12)
    assert first["Between nodes"][0] == small(1.7e-11)
    assert first["Sent by a node"][0] == "2.1\u202fkB"
    result["equivalence"] |= {"node_spread": 0.0, "central_difference": 0.0}
    first = headlines_of(result)
    assert first["Against one machine"][0] == first["Between nodes"][0] == "Identical"
    assert "all 5 hold the same model, to the last bit" in first["Between nodes"][1]


def test_the_first_screen_of_a_node_compares_the_model_with_its_own():
    scores = {"n": 40, "accuracy": 0.825}
    own = {"samples": "test", "model": scores, "local": scores | {"accuracy": 0.7}}
    first = headlines_of(node_result() | {"here": own})
    assert first["Accuracy here"][0] == "82.5\u202f%"
    assert "this node alone: 70.0\u202f%" in first["Accuracy here"][1]
    assert first["Model file"][0] == "0" * 8
    assert first["Sent by this node"][0] == "6\u202fkB"


def test_all_curves_have_lines_to_read_them_by():
    for result in (sample_result(), found_result()):
        drawings = drawn(result)
        for name in {"cost", "error", "accuracy"} & drawings.keys():
            assert drawings[name].svg.count(f"stroke: {COLOURS['grid']}") >= 2, name


@pytest.mark.parametrize(
    ("low", "high", "are_powers"),
    [(2.0, 9e3, False), (0.02, 5.0, False), (1e-6, 1e7, True), (500.0, 2e6, True)],
)
def test_all_numbers_of_a_logarithmic_axis_are_written_alike(low, high, are_powers):
    with style():
        axes = new_axes(200)
        log_range(axes, "y", low, high)
        axes.get_figure().canvas.draw()
        labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) >= 3
    powers = [bool(re.search("10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]", label)) for label in labels]
    assert powers == [are_powers] * len(labels)


def test_numbers_beside_an_axis_have_the_same_digits():
    with style():
        axes = new_axes(200)
        axes.plot([0, 1], [-6.12, -5.7])
        round_numbers(axes, "y")
        axes.get_figure().canvas.draw()
        labels = [label.get_text() for label in axes.get_yticklabels()]
    assert {len(label.partition(".")[2]) for label in labels} == {1}
    assert all(label.startswith("\N{MINUS SIGN}") for label in labels)


def test_settings_show_no_dump_of_a_schema_and_no_budget_that_is_not_there():
    result = sample_result()
    result["settings"] |= {
        "schema": {
            "columns": [{"name": f"c{k}", "kind": "number"} for k in range(4)],
            "target": {"column": "planted", "classes": ["a", "b", "c"]},
        },
        "feature_names": [f"c{k}" for k in range(4)],
    }
    groups = tables.settings_tables(msgspec.convert(result, Result))
    shown = dict(row for group in groups for row in group.rows)
    assert shown["feature names"] == "c0, c1, c2, c3"
    assert not any("planted" in value or "{" in value for value in shown.values())
    assert not {"delta", "colluders"} & shown.keys()


def test_an_id_is_used_once(page):
    ids = [attrs["id"] for _, attrs in Outline(page).tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', page))
    assert {name for pair in used for name in pair if name} <= set(ids)


def test_nothing_is_loaded_and_nothing_runs(page):
    outline = Outline(page)
    assert not outline.all("script")
    assert not outline.all("img")
    assert [link["href"] for link in outline.all("link")] == ["data:,"]
    assert "@import" not in page
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", page))
    assert all(one.startswith("http://www.w3.org/") for one in addresses)
    assert "default-src 'none'" in page


def test_labels_and_names_are_words_and_never_markup():
    result = sample_result(NASTY)
    result["data"] = result["settings"]["topology"] = "<img src=x onerror=alert(1)>"
    result["made_by"] = {"<i>": '"><b>'}
    result["communication"]["consensus"] = "<u>"
    result["graph"]["averaging"] = {"<u>": {"rounds": 3, "messages": 9}}
    drawings = drawn(result)
    outline = Outline(page_of(result))
    assert not {"script", "img", "i", "b", "u"} & {tag for tag, _ in outline.tags}
    shown = "".join(outline.words)
    assert "$x^{2$" in shown
    assert 'id="a"' in shown
    assert ">#0069a8</text>" in drawings["confusion"].inline  # no colour of ours
    for drawing in drawings.values():
        ElementTree.fromstring(drawing.svg)
        ElementTree.fromstring(drawing.inline)


def test_equal_results_give_equal_files():
    first, second = drawn(sample_result()), drawn(sample_result())
    assert first == second
    for name in first:
        assert first[name].svg == second[name].svg
        assert first[name].png == second[name].png
    assert page_of(sample_result()) == page_of(sample_result())


def test_a_network_that_found_its_size_shows_how():
    drawing = drawn(found_result())["error"]
    assert "layer 3 is kept" in drawing.svg
    assert "Layer 3 is kept." in drawing.label
    words = Outline(page_of(found_result())).words
    assert "4, not kept" in words
    assert "5, each validated on samples it left out" in words
    why = "the validation error did not fall in layers 4 and 5; layer 3 is kept"
    assert f"3 hidden layers: {why}" in words
    assert "Validation accuracy" in words
    assert any("classified correctly, but only" in one for one in words)
    assert "30 (found)" in words


def test_what_was_tried_is_listed_and_what_was_taken_is_marked():
    typed = msgspec.convert(found_result(), Result)
    table = tables.tried_table(typed)
    marked = [row[1:3] for row in table.rows if row[-1] == "chosen"]
    assert len(table.rows) == 4
    assert marked == [("columns", "30")]
    assert tables.tried_table(msgspec.convert(sample_result(), Result)) is None


def test_of_many_steps_the_last_ones_are_listed():
    result = found_result()
    steps = [
        {"scale": "columns", "width": k, "error_db": -5.0 - 0.01 * k}
        for k in range(1, 32)
    ]
    for row in result["layers"][1:]:
        row |= {"width": 30, "tried": steps}
    table = tables.tried_table(msgspec.convert(result, Result))
    assert [(row[2], row[4]) for row in table.rows[:2]] == [
        ("30", "chosen"),
        ("31", ""),
    ]
    assert len(table.rows) == 10
    assert table.note


def test_a_centralised_network_of_another_size_is_told():
    result = found_result()
    result["equivalence"] |= {"same_choices": False, "central_difference": None}
    words = Outline(page_of(result)).words
    assert "Another size" in words
    assert "same size as one machine" in words
    assert any("cannot be compared" in one for one in words)


def test_a_network_of_given_size_has_no_settings_of_members():
    words = Outline(page_of(sample_result())).words
    assert "what a member leaves out" not in words
    assert "what a member leaves out" in Outline(page_of(found_result())).words


def test_the_result_of_a_node_gives_what_a_node_knows():
    result = node_result()
    assert set(drawn(result)) == {"graph", "averaging", "cost", "accuracy"}
    words = Outline(page_of(result)).words
    shown = {"How it learned", "What was sent", "Link by link", "Settings: network"}
    assert shown <= set(words)
    assert {"east", "west", "1\u202fmin 15\u202fs"} <= set(words)
    hidden = {"Confusion matrix", "Between nodes", "Test accuracy", "test accuracy"}
    assert not hidden & set(words)


def test_a_node_that_knows_no_layer_has_a_report_without_curves():
    nothing = {"layers": [], "train_accuracy": None, "train_error_db": None}
    result = node_result() | nothing
    assert set(drawn(result)) == {"graph", "averaging"}
    assert "Training error" not in Outline(page_of(result)).words


def test_no_test_samples_no_predictions():
    result = sample_result()
    result |= {"n_test": 0, "test_accuracy": None, "confusion": None}
    result["equivalence"]["prediction_agreement"] = None
    for row in result["layers"]:
        row["test_accuracy"] = None
    words = Outline(page_of(result)).words
    assert "no test samples" in words
    assert "Confusion matrix" not in words
    assert ">test<" not in drawn(result)["accuracy"].inline


def test_many_classes_are_shown_by_their_largest_confusions():
    result = sample_result([f"class {q}" for q in range(60)])
    assert "confusion" not in drawn(result)
    words = Outline(page_of(result)).words
    assert "Most frequent mistakes" in words
    assert "Classes found least often" in words


def test_twenty_six_classes_still_have_a_matrix():
    drawing = drawn(sample_result("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))["confusion"]
    assert drawing.is_wide
    assert drawing.svg.count(">10</text>") == 26


def test_a_class_that_no_test_sample_has_is_an_empty_row():
    result = sample_result()
    result["confusion"] = [[0, 0, 5], [1, 0, 2], [1, 1, 4]]
    words = Outline(page_of(result)).words
    assert "Confusion matrix" in words


def test_no_mistakes_is_said():
    result = sample_result()
    result["confusion"] = [[q, q, 5] for q in range(3)]
    assert any("predicted right" in words for words in Outline(page_of(result)).words)


def test_one_node_and_an_unchecked_training():
    result = sample_result(n_nodes=1)
    result["graph"] |= {"n_edges": 0, "edges": [], "averaging": {}, "diameter": 0}
    result["equivalence"] = {"node_spread": 0.0}
    for row in result["layers"]:
        row["bytes_total"] = 0
    result["communication"] |= {"bytes_total": 0, "rounds": 0, "before_layers": NOTHING}
    words = Outline(page_of(result)).words
    assert "Not checked" in words
    assert "graph" not in drawn(result)


def test_nodes_of_a_graph_have_their_names_where_these_fit():
    names = ["north", "south", "east", "west", "middle"]
    result = sample_result()
    result["graph"]["names"] = names
    drawing = drawn(result)["graph"]
    assert all(f">{name}<" in drawing.svg for name in names)
    result["graph"]["names"][0] = "n" * 40
    assert not any(f">{name}<" in drawn(result)["graph"].svg for name in names)


def test_a_setting_without_a_value_has_no_row():
    groups = tables.settings_tables(msgspec.convert(sample_result(), Result))
    assert all(value for group in groups for _, value in group.rows)


def test_a_graph_too_large_to_draw_is_told_in_numbers():
    result = sample_result()
    nothing = dict.fromkeys(("edges", "diameter", "contraction", "averaging"))
    result["graph"] |= nothing | {"n_edges": 499_500}
    assert not {"graph", "averaging"} & drawn(result).keys()
    assert "499,500" in Outline(page_of(result)).words


def test_a_cost_of_nothing_is_not_put_on_a_logarithmic_scale():
    result = sample_result()
    for row in result["layers"]:
        row["cost"] = 0.0
    assert "cost" not in drawn(result)
    assert "Layer by layer" in Outline(page_of(result)).words


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_have_places_of_their_own_within_the_unit_circle(kind):
    graph = build_topology(kind, 16)
    points = positions(16, graph.edges(), graph.name)
    assert (np.hypot(*points.T) <= 1 + 1e-9).all()
    gaps = np.hypot(*(points[:, None] - points[None]).T)
    assert (gaps[~np.eye(16, dtype=bool)] > 0.01).all()


def test_links_of_a_path_are_equally_long_and_lie_on_a_line():
    points = positions(6, [(i, i + 1) for i in range(5)], "path")
    assert np.allclose(points[:, 1], 0, atol=1e-6)
    assert np.allclose(np.diff(points[:, 0]), 0.4, atol=1e-3)


def _themes():
    style = files("dssfn.report").joinpath("style.css").read_text()
    light, dark = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[:2]
    return [dict(re.findall(r"--(\w+): (#\w{6});", text)) for text in (light, dark)]


def test_figures_are_drawn_in_the_light_colours_of_the_page():
    light, dark = _themes()
    assert light.items() >= COLOURS.items()
    assert dark.keys() == light.keys()


def _luminance(colour):
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [((c + 0.055) / 1.055) ** 2.4 if c > 0.04 else c / 12.92 for c in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize("theme", _themes())
def test_text_has_the_contrast_that_wcag_asks_for(theme):
    for words in ("ink", "muted", "first", "second"):
        for ground in ("page", "surface"):
            pair = sorted(_luminance(theme[name]) for name in (words, ground))
            assert (pair[1] + 0.05) / (pair[0] + 0.05) >= 4.5, (words, ground)


@pytest.fixture
def no_matplotlib(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("dssfn.report")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


def test_a_training_without_matplotlib_says_in_one_line_what_is_missing(
    no_matplotlib, tmp_path, capsys
):
    (tmp_path / "report.html").write_text("of an older training")
    try_to_report(msgspec.convert(sample_result(), Result), tmp_path)
    (line,) = capsys.readouterr().err.splitlines()
    assert "dssfn[report]" in line
    assert list(tmp_path.iterdir()) == []


def test_the_command_names_the_extra_that_is_missing(no_matplotlib, tmp_path):
    write_result(msgspec.convert(sample_result(), Result), tmp_path)
    shown = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert shown.exit_code == 2
    assert "dssfn[report]" in shown.stderr


@pytest.mark.parametrize("content", [None, "no JSON", "[]", '{"layers": []}'])
def test_a_folder_without_a_result_is_wrong_input(content, tmp_path):
    if content is not None:
        (tmp_path / "result.json").write_text(content)
    shown = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert shown.exit_code == 2, shown.output
    (line,) = shown.stderr.splitlines()
    assert "result.json" in line


def test_the_report_of_a_node_is_as_private_as_its_result(tmp_path):
    write_result(msgspec.convert(node_result(), Result), tmp_path, private=True)
    shown = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    made = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"report.html", "cost.svg", "cost.png"} <= {path.name for path in made}
    assert {path.stat().st_mode & 0o777 for path in made} == {0o600}
    assert (tmp_path / "figures").stat().st_mode & 0o777 == 0o700


def test_who_took_part_is_a_column_where_some_nodes_stayed_away():
    known = node_result()
    result = msgspec.convert(known, Result)
    assert "took part" not in tables.layers_table(result).head
    n_nodes = known["settings"]["n_nodes"]
    everybody = [f"n{k}" for k in range(n_nodes)]
    for row in known["layers"]:
        row["took_part"] = everybody if row["layer"] else ["n0", "n1"]
    known["stints"] = [{"first": 0, "nodes": [0, 1]}]
    result = msgspec.convert(known, Result)
    table = tables.layers_table(result)
    at = list(table.head).index("took part")
    others = len(known["layers"]) - 1
    assert [row[at] for row in table.rows] == ["n0, n1", *["all"] * others]
    assert "n0, n1" in data_chapter(PLAN, result).tables[-1].markdown()
