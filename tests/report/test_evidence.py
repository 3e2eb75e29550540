from xml.etree import ElementTree

import numpy as np
import pytest

from dssfn.experiments.communication import descent as communication
from dssfn.experiments.comparison import curves as comparison
from dssfn.report.evidence.curves import draw_evidence, power_law
from dssfn.report.evidence.findings import ABOUT, headlines
from dssfn.report.evidence.page import make_evidence_page
from dssfn.report.evidence.select import where
from dssfn.report.evidence.tables import TABLES, tables_of
from tests.support.evidence_sample import row, sample_rows, table2_figures


@pytest.fixture(scope="module")
def rows():
    return sample_rows()


@pytest.fixture(scope="module")
def drawings(rows):
    return draw_evidence(rows)


def _table2_row(data, settings, n_nodes, seed, db):
    key = {"data": data, "settings": settings, "n_nodes": n_nodes, "seed": seed}
    return row("table2", key, table2_figures(data, n_nodes, db=db))


def test_table_two_shows_the_paper_and_the_difference():
    rows = [
        _table2_row("vowel", "paper", 20, seed, db)
        for seed, db in enumerate((-50, -52))
    ]
    (line,) = TABLES["table2"](rows).rows
    assert line[:3] == ("vowel", "20 nodes", "the paper's settings")
    assert line[4] == "-51.00 ± 1.41 (-51.67, +0.67)"
    assert line[5] == "60.00 ± 0.00 (59.2, +0.80)"
    assert line[6] == "2"


def test_rows_made_later_stand_with_their_set():
    made = ("vowel", "default", 20), ("vowel", "paper", 20), ("letter", "paper", 20)
    later = ("vowel", "scaled", 20), ("vowel", "paper", 1)
    rows = [_table2_row(*key, 0, -50.0) for key in made + later]
    shown = [line[:3] for line in TABLES["table2"](rows).rows]
    assert shown == [
        ("vowel", "one place", "the paper's settings"),
        ("vowel", "20 nodes", "the paper's settings"),
        ("vowel", "20 nodes", "the paper's settings, inputs scaled"),
        ("vowel", "20 nodes", "our defaults"),
        ("letter", "20 nodes", "the paper's settings"),
    ]


def test_what_scaled_inputs_would_explain_is_told():
    rows = [
        _table2_row("vowel", "paper", 20, 0, -49.0),
        _table2_row("vowel", "range", 20, 0, -53.0),
        _table2_row("vowel", "scaled", 20, 0, -51.8),
    ]
    told = " ".join(ABOUT["table2"](rows))
    assert "not vowel (20 nodes: +2.67 dB, +0.80 points)" in told
    told = told.replace("\N{MINUS SIGN}", "-")
    assert "[-1, 1], none would be; not vowel (20 nodes: -1.33 dB" in told
    assert "inputs scaled, vowel (20 nodes: -0.13 dB, +0.80 points) would" in told


def test_a_stand_in_is_never_compared_with_the_papers_set(rows):
    stand_in = _table2_row("norb_subset3", "paper", 20, 0, -10.0)
    (line,) = TABLES["table2"]([stand_in]).rows
    assert line[0] == "norb_subset3 (not the paper's norb)"
    assert "(" not in line[4]
    assert not any("norb" in told for told in ABOUT["table2"](rows))
    assert draw_evidence([stand_in]) == {}
    assert draw_evidence([_table2_row("letter", "paper", 20, 0, -10.0)]) != {}
    assert "0 of 0" not in " ".join(ABOUT["table2"]([stand_in]))


def test_reduced_sizes_are_named_on_every_table_and_on_the_page(rows):
    quick = sample_rows(quick=True)
    for name, table in tables_of(quick).items():
        assert "Reduced sizes" in table.markdown(), name
    for name, table in tables_of(rows).items():
        assert "Reduced sizes" not in table.markdown(), name
    assert "Reduced sizes" in make_evidence_page(quick, {}).split("<main>")[0]
    assert "Reduced sizes" not in make_evidence_page(rows, {})
    assert "Table II, columns" not in [one.name for one in headlines(quick)]


def test_degree_adds_what_averaging_takes_to_the_training(rows):
    line = TABLES["degree"](where(rows, "degree")).rows[0]
    assert line[:2] == ("letter", "1")
    # 20 s and 2,101 averagings of 700, 80 and 10 rounds of 1 ms here, 20 ms there
    assert line[2:] == (
        "700 / 1491 s / 490.6 min", "80 / 188 s / 56.4 min", "10 / 41 s / 7.3 min",
    )  # fmt: skip


def test_times_by_degree_are_called_estimated_wherever_they_are_shown(rows):
    some = where(rows, "degree")
    table = TABLES["degree"](some)
    assert table.head[2] == "gossip: rounds / estimated s / modelled min"
    assert "one averaging was timed, and counted as often as" in table.note
    told = " ".join(ABOUT["degree"](some))
    assert "Letter, on this machine, estimated from one timed averaging: 1491 s" in told
    drawings = draw_evidence(some)
    assert "degree-estimated-letter" in drawings
    page = make_evidence_page(some, drawings)
    assert "Letter, on this machine, estimated" in page
    assert "measured" not in page


def test_rows_that_are_really_made_fit_their_tables_and_figures():
    for module in (communication, comparison):
        tasks = module.tasks(quick=True, seeds=[0])
        some = [tasks[0], tasks[-1]]
        rows = [row(task.experiment, task.key, task.run()) for task in some]
        table = TABLES[rows[0].experiment](rows)
        assert len(table.rows) == 2
        assert all(len(line) == len(table.head) for line in table.rows)
        assert "Reduced sizes" in table.note
        drawings = draw_evidence(rows)
        assert len(drawings) == 2
        page = make_evidence_page(rows, drawings)
        assert page.count("<figure ") == 2


def test_every_figure_is_on_the_page_once(rows, drawings):
    page = make_evidence_page(rows, drawings)
    for name, drawing in drawings.items():
        assert page.count(f'<figure class="card" id="{name}"') + page.count(
            f'<figure class="card wide" id="{name}"'
        ) == 1, name  # fmt: skip
        ElementTree.fromstring(drawing.svg)
        assert drawing.png.startswith(b"\x89PNG")
        assert len(drawing.label) > 20
    assert page.count("<figure ") == len(drawings)
    assert page.count("<h2>") == len(TABLES) + 1


def test_the_same_rows_always_give_the_same_figures(rows, drawings):
    assert draw_evidence(rows) == drawings


@pytest.mark.parametrize("experiment", list(TABLES))
def test_one_experiment_is_enough_for_a_page(rows, experiment):
    some = where(rows, experiment)
    page = make_evidence_page(some, draw_evidence(some))
    assert page.count("<h2>") == 2
    assert page.count("<figure ") >= 1
    assert "http" not in page.replace("http-equiv", "").replace(
        "http://www.w3.org/", ""
    )


def test_what_is_far_from_the_paper_is_said_with_its_distance(rows):
    told = " ".join(ABOUT["table2"](where(rows, "table2")))
    assert "2 of 6 columns" in told
    assert "mnist (one place: +3.40 dB, +0.65 points)" in told
    assert "behind on letter (92.25 ± 0.35 against 92.5 %)" in told
    assert "vowel (59.25 ± 0.35 against 59.2 %)" in told
    assert "not without any knowledge of test results" in told


def test_what_a_split_costs_is_said(rows):
    told = ABOUT["comparison"](where(rows, "comparison"))
    assert "dSSFN 0.00, federated averaging 20.00" in told[1]
    assert "same in every split, to the last prediction" in told[1]
    assert "for 100 % of the test samples" in told[1]


def test_curves_that_depend_on_the_split_are_not_called_the_same(rows):
    some = where(rows, "comparison")
    changed = where(some, "comparison", method="dssfn", split="by-class")[0]
    changed.metrics["predictions_sha256"] = "other"
    changed.metrics["prediction_agreement"] = 0.5
    try:
        told = ABOUT["comparison"](some)[1]
    finally:
        changed.metrics["predictions_sha256"] = "same"
        changed.metrics["prediction_agreement"] = 1.0
    assert "differ between the splits" in told
    assert "at least 50 %" in told


def test_a_method_that_always_diverged_is_named(rows):
    dead = [
        row
        for row in where(rows, "comparison")
        if row.key["method"] != "fedavg" or row.key["setting"] == "rate 9"
    ]
    table = TABLES["comparison"](dead)
    assert [line[3] for line in table.rows].count("all diverged") == 3
    page = make_evidence_page(dead, draw_evidence(dead))
    assert "federated averaging" in page


def test_descent_that_was_stopped_gives_a_lower_bound(rows):
    (paper,) = where(rows, "communication", scheme="paper")
    assert "eta is 20; the formula" in ABOUT["communication"]([paper])[1]
    assert "order of thousands" in ABOUT["communication"]([paper])[1]
    figures = paper.metrics | {"reached": False}
    stopped = row("communication", paper.key, figures)
    told = ABOUT["communication"]([stopped])[1]
    assert "needs more than 2 iterations, so eta is more than 20" in told
    assert "thousands" not in told
    assert [one.value for one in headlines([stopped])] == ["> 20"]
    assert TABLES["communication"]([stopped]).rows[0][-2:] == ("> 20", "> 25")


def test_descent_is_drawn_once_for_every_kind_of_averages(rows):
    (drawing,) = draw_evidence(where(rows, "communication")).values()
    assert "adam, averages by gossip" in drawing.svg
    assert drawing.svg.count("adam, averages by tree") == 1  # of gram and krylov


@pytest.mark.parametrize("experiment", list(TABLES))
def test_a_sweep_that_was_stopped_anywhere_can_be_looked_at(rows, experiment):
    some = where(rows, experiment)
    for stop in (*range(min(len(some), 6)), len(some) - 1):
        table = tables_of(some[:stop]).get(experiment)
        assert table is None or all(len(row) == len(table.head) for row in table.rows)
        assert make_evidence_page(some[:stop], {})
    for stop in (1, len(some) // 2, len(some) - 1):
        made = some[:stop]
        assert make_evidence_page(made, draw_evidence(made))


def test_a_second_set_of_the_degrees_may_be_half_done(rows):
    some = where(rows, "degree")
    more = [row("degree", one.key | {"data": "mnist"}, one.metrics) for one in some[:3]]
    for made in (some + more[:1], some + more):
        drawings = draw_evidence(made)
        assert make_evidence_page(made, drawings).count("<figure ") == len(drawings)


def test_what_saves_the_rounds_is_said(rows):
    told = " ".join(ABOUT["degree"](where(rows, "degree")))
    assert "700, 233, 116, 70" in told
    assert "By d = 4, 90 % of what can be saved" in told
    assert "1491 s at d = 1" in told
    assert "Exact averaging takes 10 rounds at d = 1" in told


def test_averagings_of_both_solvers_are_said(rows):
    (told,) = ABOUT["convergence"](where(rows, "convergence"))
    assert "On letter it takes 6 averagings for all layers, ADMM 30." in told


def test_the_change_nearest_to_the_published_error_is_named(rows):
    (told,) = ABOUT["satimage"](where(rows, "satimage"))
    assert told.endswith("is: mu_l = 1 (\u22129.40\u202fdB).")


def test_a_power_law_is_found_among_stairs():
    x = np.arange(1.0, 2001.0)
    stairs = 50 * x**-0.3 * (1 + 0.05 * np.sin(x))
    exponent, factor = power_law(x, stairs)
    assert exponent == pytest.approx(-0.3, abs=0.02)
    assert factor == pytest.approx(50, rel=0.1)


def test_no_rows_make_an_empty_page():
    assert tables_of([]) == {}
    assert "<figure" not in make_evidence_page([], {})
