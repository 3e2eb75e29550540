"""The report in a real browser: it is whole, and fits, in light and dark."""

from __future__ import annotations

import json
import shutil

import msgspec
import pytest
from typer.testing import CliRunner

from dssfn.cli.main import app
from dssfn.report.statistics.page import make_statistics_page
from dssfn.report.training.figures import NAMES, draw_all
from dssfn.report.training.page import make_page
from dssfn.results import Result
from tests.support.browser import DESK, PHONE, TABLET, check_fit, in_browser, show
from tests.support.evidence_sample import page_of, sample_rows
from tests.support.report_sample import found_result, sample_result
from tests.support.statistics_sample import sample_statistics

DRAWN = set(NAMES) - {"error", "calibration"}  # these need validation samples


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    out = tmp_path_factory.mktemp("report") / "run"
    shown = CliRunner().invoke(
        app,
        ["simulate", "--data", "wine", "--nodes", "6", "--layers", "3", "--width", "40",
         "--units", "dense", "--quiet", "--check-equivalence", "--out", str(out)],
    )  # fmt: skip
    assert shown.exit_code == 0, shown.output
    assert f"The report is in {out / 'report.html'}" in shown.stdout
    return out


@pytest.fixture(scope="module")
def pages(trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    letters = sample_result("ABCDEFGHIJKLMNOPQRSTUVWXYZ", n_layers=20)
    wordy = sample_result(["x" * 200, "y" * 200], n_nodes=40)
    wordy["data"] = wordy["settings"]["topology"] = "unbroken" * 40
    wordy["made_by"]["machine"] = "z" * 300
    wordy["communication"] |= {"bytes_total": 10**14, "rounds": 10**9}
    results = {"letters": letters, "wordy": wordy, "found": found_result()}
    typed = {name: msgspec.convert(one, Result) for name, one in results.items()}
    texts = {
        **{name: make_page(one, draw_all(one)) for name, one in typed.items()},
        "evidence": page_of(sample_rows())[0],
        "statistics": make_statistics_page(sample_statistics(sites=True)),
    }
    for name, page in texts.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    paths = {name: folder / f"{name}.html" for name in texts}
    return {"trained": trained / "report.html"} | paths


@in_browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("name", ["trained", "letters", "wordy", "found", "evidence"])
def test_the_page_is_whole_and_fits(browser, pages, name, width, theme):
    show(browser, pages[name], width, theme)
    assert browser.get_log("browser") == []
    figures = browser.execute_script(
        "return [...document.querySelectorAll('figure svg')].map(svg => {"
        "  const box = svg.getBoundingClientRect();"
        "  return [svg.closest('figure').id, box.width, box.height]; })"
    )
    assert len(figures) >= 6
    for figure, across, down in figures:
        assert across > 250, figure
        assert down > 40, figure
    check_fit(browser, width)


@in_browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
def test_the_bars_of_statistics_are_as_long_as_their_shares(
    browser, pages, width, theme
):
    show(browser, pages["statistics"], width, theme)
    assert browser.get_log("browser") == []
    check_fit(browser, width)
    bars = browser.execute_script(
        "return [...document.querySelectorAll('.bar')].map(bar =>"
        "  [bar.firstChild.style.width, bar.firstChild.offsetWidth / bar.offsetWidth,"
        "   bar.offsetWidth, getComputedStyle(bar.firstChild).backgroundColor])"
    )
    assert len(bars) == 2 * (2 + 1 + 5)  # classes, numbers, levels
    for given, share, across, _ in bars:
        assert across >= 40
        assert share == pytest.approx(float(given[:-1]) / 100, abs=1 / across)
    assert len({colour for *_, colour in bars}) == 2


@in_browser
@pytest.mark.parametrize("name", ["trained", "letters", "found", "evidence"])
@pytest.mark.parametrize("width", [PHONE, TABLET])
def test_labels_of_a_figure_can_be_read_on_small_screens(browser, pages, name, width):
    show(browser, pages[name], width, "light")
    heights = browser.execute_script(
        "return [...document.querySelectorAll('figure svg text')].map(text =>"
        "  parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"
    )
    assert min(h for h in heights if h > 0) >= 8  # pixels


@in_browser
@pytest.mark.parametrize("width", [PHONE, TABLET, DESK])
def test_a_table_is_moved_within_its_box_and_its_hidden_edge_has_a_shadow(
    browser, pages, width
):
    show(browser, pages["evidence"], width, "light")
    check_fit(browser, width)
    hidden = browser.execute_script(
        "return [...document.querySelectorAll('.scroll')]"
        "  .filter(box => box.scrollWidth > box.clientWidth + 1)"
        "  .map(box => getComputedStyle(box).backgroundImage)"
    )
    assert bool(hidden) == (width != DESK)
    assert all(image.count("linear-gradient") == 4 for image in hidden)


@in_browser
def test_dark_is_dark_and_light_is_light(browser, pages):
    grounds = {}
    for theme in ("light", "dark"):
        show(browser, pages["trained"], DESK, theme)
        shown = browser.execute_script(
            "const of = (what, which) => getComputedStyle(what)[which];"
            "return [of(document.body, 'backgroundColor'),"
            " of(document.querySelector('figure svg text'), 'fill')]"
        )
        grounds[theme] = [sum(map(int, c[4:-1].split(","))) for c in shown]
    assert grounds["light"][0] > 600 > 100 > grounds["dark"][0]
    assert grounds["light"] != grounds["dark"]


def test_the_report_is_made_anew_from_the_folder(trained):
    before = (trained / "report.html").read_bytes()
    pictures = {
        path.name: path.read_bytes() for path in (trained / "figures").iterdir()
    }
    assert pictures.keys() == {f"{n}.{kind}" for n in DRAWN for kind in ("svg", "png")}
    for path in (trained / "report.html", trained / "figures" / "cost.png"):
        path.unlink()
    shown = CliRunner().invoke(app, ["report", str(trained)])
    assert shown.exit_code == 0, shown.output
    assert (trained / "report.html").read_bytes() == before
    for name, content in pictures.items():
        assert (trained / "figures" / name).read_bytes() == content


def test_integers_differ_in_nothing_from_one_machine_and_need_no_figure_of_it(tmp_path):
    shown = CliRunner().invoke(
        app,
        ["simulate", "--data", "wine", "--nodes", "3", "--layers", "1", "--width", "20",
         "--quiet", "--check-equivalence", "--out", str(tmp_path)],
    )  # fmt: skip
    assert shown.exit_code == 0, shown.output
    equal = json.loads((tmp_path / "result.json").read_text())["equivalence"]
    assert equal["node_spread"] == equal["central_difference"] == 0
    assert equal["layer_cost_gap"] == 0
    assert equal["prediction_agreement"] == 1
    assert (tmp_path / "report.html").read_text().count("0, to the last bit") == 3
    assert not (tmp_path / "figures" / "equivalence.svg").exists()


def test_figures_that_have_nothing_to_show_any_more_go(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    result = json.loads((trained / "result.json").read_text())
    result["confusion"] = None
    (tmp_path / "run" / "result.json").write_text(json.dumps(result))
    assert CliRunner().invoke(app, ["report", str(tmp_path / "run")]).exit_code == 0
    left = {path.stem for path in (tmp_path / "run" / "figures").iterdir()}
    assert left == DRAWN - {"confusion"}


def test_the_result_tells_what_every_depth_would_have_reached(trained):
    result = json.loads((trained / "result.json").read_text())
    assert result["layers"][-1]["test_accuracy"] == result["test_accuracy"]
    assert sum(entry[2] for entry in result["confusion"]) == result["n_test"]
    assert sum(map(sum, result["held"])) == result["n_train"]
    sent = [row["bytes_total"] for row in result["layers"]]
    total = result["communication"]
    beside = [total[when]["bytes_total"] for when in ("before_layers", "after_layers")]
    assert sum(sent) + sum(beside) == total["bytes_total"]
