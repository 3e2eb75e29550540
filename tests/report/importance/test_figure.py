"""The figure of importances holds any number of columns, with any names."""

from __future__ import annotations

import pytest

from dssfn.importance import ColumnImportance, Importance, Repeated
from dssfn.report.importance.words import about, short_names

pytest.importorskip("matplotlib")

from dssfn.report.importance.figure import LONGEST, draw_importance

PNG = b"\x89PNG"


def importance(names, figures=("accuracy_lost", "log_loss_added"), **changes):
    columns = tuple(
        ColumnImportance(
            name=name,
            n_features=1,
            figures={one: Repeated(mean=0.3 / (k + 1), std=0.01) for one in figures},
        )
        for k, name in enumerate(names)
    )
    whole = {
        "figures": figures, "baseline": {"accuracy": 0.9, "log_loss": 0.25},
        "n_samples": 100, "n_used": 100, "n_repeats": 5, "seed": 0,
        "n_columns": len(names), "columns": columns,
    }  # fmt: skip
    return Importance(**(whole | changes))


@pytest.mark.parametrize("n_columns", [1, 5, 50])
def test_every_column_has_a_bar_and_its_name(n_columns):
    names = [f"column {k}" for k in range(n_columns)]
    drawing = draw_importance(importance(names))
    assert drawing.png.startswith(PNG)
    for name in names:
        assert f">{name}<" in drawing.svg
    assert "accuracy lost when the column is shuffled" in drawing.svg
    assert draw_importance(importance(names)) == drawing


@pytest.mark.parametrize(
    "figures",
    [("r2_lost", "rmse_added"), ("prediction_moved",), ("rmse_added",),
     ("probability_moved", "classes_changed")],
)  # fmt: skip
def test_every_kind_of_figure_is_drawn(figures):
    assert draw_importance(importance(["a", "b"], figures)).png.startswith(PNG)


def test_nothing_but_zeros_is_drawn_and_names_are_no_formulas():
    still = importance(["$x^", "<b>&", "ünï\x00", "x" * 300])
    zero = [
        ColumnImportance(
            name=one.name,
            n_features=1,
            figures={name: Repeated(mean=0.0, std=0.0) for name in still.figures},
        )
        for one in still.columns
    ]
    svg = draw_importance(importance([], columns=tuple(zero))).svg
    assert "$x^" in svg
    assert "&lt;b&gt;&amp;" in svg
    assert "x" * LONGEST not in svg


def test_names_that_differ_stay_apart_when_they_are_cut():
    ends = [f"the pressure at some place number {k}" for k in range(9)]
    starts = [f"{k} is the number of a place of pressure" for k in range(9)]
    for names in (ends, starts):
        cut = short_names(names, 20)
        assert len(set(cut)) == 9
        assert all(len(one) == 20 for one in cut)
    assert short_names(["short", "a\nb"], 20) == ["short", "a\ufffdb"]


def test_the_words_say_what_was_measured_and_what_left_out():
    said = " ".join(about(importance(["a", "b"]), ("outcome",)))
    assert "How much worse `outcome` is predicted" in said
    assert "accuracy 90.00 %, log loss 0.25" in said
    assert "On 100 samples; mean ± standard deviation of 5 permutations." in said
    few = importance(["a"], n_samples=5000, n_columns=784, n_screened=80, baseline={})
    said = " ".join(about(few, ()))
    assert "no labels given" in said
    assert "On 100 samples, chosen at random from 5,000" in said
    assert "Of 784 columns, only the 1 that move the predictions of 80" in said
