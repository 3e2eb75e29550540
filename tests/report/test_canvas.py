"""Numbers on the axes of figures."""

from __future__ import annotations

import pytest

pytest.importorskip("matplotlib", reason="needs the extra `report`")

from dssfn.report.canvas import new_axes, percent_axis, round_numbers, style


def labels_of(axes, low, high):
    axes.set_xlim(low, high)
    return axes.xaxis.get_major_formatter().format_ticks(axes.get_xticks())


@pytest.mark.parametrize(
    ("low", "high", "some"),
    [
        (0, 1.0, ["0.0", "0.2", "1.0"]),
        (-2, 2, ["\N{MINUS SIGN}1", "0", "1"]),
        (0, 3e-5, ["0.00000", "0.00001"]),
        (0, 3e6, ["0", "500,000", "1,500,000"]),
    ],
)
def test_ticks_have_as_many_digits_as_they_need(low, high, some):
    with style():
        axes = new_axes(100)
        round_numbers(axes, "x")
        labels = labels_of(axes, low, high)
    assert set(some) <= set(labels)
    assert len(set(labels)) == len(labels)


def test_zero_has_no_minus():
    with style():
        axes = new_axes(100)
        percent_axis(axes, "x")
        formatter = axes.xaxis.get_major_formatter()
        assert formatter.format_ticks([-0.5, -0.0, -1e-17, 0.5])[1:3] == ["0.0 %"] * 2
