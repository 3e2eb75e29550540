import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

import dssfn
from dssfn.experiments.registry import EXPERIMENTS
from dssfn.report.evidence.page import tables_of
from dssfn.report.evidence.selection import of_experiment
from tests.support.evidence_sample import page_of, page_without_figures, sample_rows


@pytest.fixture(scope="module")
def rows():
    return sample_rows()


@pytest.fixture(scope="module")
def made(rows):
    return page_of(rows)


def test_reduced_sizes_are_named_on_every_table_and_on_the_page(rows):
    quick = sample_rows(quick=True)
    for name, table in tables_of(quick, EXPERIMENTS.values()).items():
        assert "Reduced sizes" in table.markdown(), name
    for name, table in tables_of(rows, EXPERIMENTS.values()).items():
        assert "Reduced sizes" not in table.markdown(), name
    assert "Reduced sizes" in page_without_figures(quick).split("<main>")[0]
    assert "Reduced sizes" not in page_without_figures(rows)
    assert "Table II, results met" in page_without_figures(rows)
    assert "Table II, results met" not in page_without_figures(quick)


def test_every_figure_is_on_the_page_once(made):
    page, drawings = made
    for name, drawing in drawings.items():
        found = re.findall(rf'<figure class="card[ a-z]*" id="{name}"', page)
        assert len(found) == 1, name
        ElementTree.fromstring(drawing.svg)
        assert drawing.png.startswith(b"\x89PNG")
        assert len(drawing.label) > 20
    assert page.count("<figure ") == len(drawings)
    assert page.count("<h2>") == len(EXPERIMENTS) + 1


def test_the_same_rows_always_give_the_same_page_and_figures(rows, made):
    assert page_of(rows) == made


@pytest.mark.parametrize("experiment", list(EXPERIMENTS))
def test_one_experiment_is_enough_for_a_page(rows, experiment):
    page, _ = page_of(of_experiment(rows, experiment))
    assert page.count("<h2>") == 2
    assert page.count("<figure ") >= 1
    assert "http" not in page.replace("http-equiv", "").replace(
        "http://www.w3.org/", ""
    )


@pytest.mark.parametrize("experiment", list(EXPERIMENTS))
def test_a_sweep_that_was_stopped_anywhere_can_be_looked_at(rows, experiment):
    some = of_experiment(rows, experiment)
    for stop in (*range(min(len(some), 6)), len(some) - 1):
        table = tables_of(some[:stop], EXPERIMENTS.values()).get(experiment)
        assert table is None or all(len(row) == len(table.head) for row in table.rows)
        assert page_without_figures(some[:stop])
    for stop in (1, len(some) // 2, len(some) - 1):
        assert page_of(some[:stop])


def test_no_rows_make_an_empty_page():
    assert tables_of([], EXPERIMENTS.values()) == {}
    assert "<figure" not in page_without_figures([])


PAGE_WITHOUT_TRAINING = """
import sys
import types

sys.modules["dssfn"] = package = types.ModuleType("dssfn")  # its __init__ trains
package.__path__ = [sys.argv[1]]
from dssfn.experiments.registry import EXPERIMENTS
from tests.support.evidence_sample import page_of, page_without_figures, sample_rows

assert "<h2>" in page_without_figures(sample_rows())
assert "matplotlib" not in sys.modules
assert "<figure" in page_of(sample_rows())[0]
trains = "training solvers simulator network consensus topology datasets runs"
trains = {f"dssfn.{name}" for name in trains.split()} | {"sklearn", "scipy", "polars"}
assert not trains & set(sys.modules), trains & set(sys.modules)
"""


def test_a_page_is_made_without_importing_what_trains():
    shown = subprocess.run(
        [sys.executable, "-c", PAGE_WITHOUT_TRAINING, dssfn.__path__[0]],
        capture_output=True, text=True,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
