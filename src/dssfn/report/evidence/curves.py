"""Metrics of the paper's experiments, from rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dssfn.report.canvas import (
    FIRST,
    INK,
    MUTED,
    QUIET,
    SECOND,
    SMALL,
    SURFACE,
    Axes,
    Drawing,
    FuncFormatter,
    MaxNLocator,
    finish,
    log_range,
    new_axes,
    style,
)
from dssfn.report.evidence.select import (
    best_of,
    degree_rows,
    deviation,
    file_name,
    grouped,
    is_papers,
    mean,
    where,
)
from dssfn.report.evidence.tables import METHODS, SCHEMES, SETTINGS
from dssfn.report.numbers import amount, decibel, percent, small
from dssfn.rows import Row


class Look(NamedTuple):
    """How a series is told from others, also without colours."""

    colour: str
    dash: str
    mark: str


BLUE, ORANGE = Look(FIRST, "-", "o"), Look(SECOND, "--", "s")
GREY, BLACK = Look(MUTED, "-.", "^"), Look(INK, ":", "D")


def draw_evidence(rows: Sequence[Row]) -> dict[str, Drawing]:
    """Every figure that the rows have the numbers for, by name."""
    with style():
        drawn = [
            one for name, draw in _DRAWERS.items() for one in draw(where(rows, name))
        ]
    return {drawing.name: drawing for drawing in drawn}


def draw_table2(rows: Sequence[Row]) -> Iterator[Drawing]:
    """Test accuracy on the nodes, beside what the paper has."""
    several = [row for row in rows if is_papers(row) and row.key["n_nodes"] != 1]
    if not several:
        return
    sets = grouped(several, ("data",))
    axes = new_axes(96 * len(sets) + 110)
    looks = {
        "paper": BLUE,
        "range": GREY._replace(mark="x"),
        "scaled": GREY,
        "default": ORANGE,
        "unscaled": ORANGE._replace(mark="v"),
        "wide": BLACK,
    }
    top, *heights = np.linspace(0.34, -0.34, 1 + len(looks))
    named, told = set(), []
    for row, ((data,), group) in enumerate(sets.items()):
        there, around = group[0].metrics["paper"]["test_accuracy"]
        axes.axhspan(-row - 0.43, -row + 0.43, color=QUIET, alpha=0.13, linewidth=0)
        name = None if row else "published, ± its deviation"
        axes.errorbar(
            there, top - row, xerr=around, fmt="|", color=MUTED, markersize=11,
            markeredgewidth=2.5, label=name,
        )  # fmt: skip
        told.append(f"{data} {there:g} % published")
        for (settings, look), height in zip(looks.items(), heights, strict=True):
            some = where(group, "table2", settings=settings)
            if not some:
                continue
            value = 100 * mean(some, "test_accuracy")
            axes.errorbar(
                value, height - row, xerr=100 * deviation(some, "test_accuracy"),
                fmt=look.mark, color=look.colour, markersize=5.5,
                label=None if settings in named else SETTINGS[settings],
            )  # fmt: skip
            named.add(settings)
            told.append(f"{SETTINGS[settings]} {value:.1f} %")
    axes.set_yticks([-row for row in range(len(sets))], [str(k[0]) for k in sets])
    axes.set_ylim(-len(sets) + 0.5, 0.5)
    _percent_axis(axes, "x")
    axes.set_xlabel("test samples predicted right")
    axes.spines["left"].set_visible(False)
    _legend(axes, columns=1)
    yield finish(axes, "test-accuracy", f"Test accuracy: {'; '.join(told)}.")


def draw_satimage(rows: Sequence[Row]) -> Iterator[Drawing]:
    """The train error after every change, beside the published one."""
    groups = grouped(rows, ("change",))
    if not groups:
        return
    paper = rows[0].metrics["paper"]["train_error_db"]
    axes = new_axes(34 * len(groups) + 60)
    side = axes.get_yaxis_transform()
    for row, ((change,), group) in enumerate(groups.items()):
        value = mean(group, "train_error_db")
        axes.plot([paper, value], [-row - 0.2] * 2, color=QUIET, linewidth=1.2)
        axes.plot(value, -row - 0.2, "o", color=FIRST, markersize=6)
        axes.text(
            0, -row + 0.03, str(change), va="bottom", size=SMALL, transform=side,
            bbox={"facecolor": SURFACE, "edgecolor": "none", "pad": 1},
        )  # fmt: skip
        axes.text(
            1, -row + 0.03, decibel(value), va="bottom", ha="right", color=MUTED,
            size=SMALL, transform=side,
        )  # fmt: skip
    axes.axvline(paper, color=SECOND, linewidth=1.4, zorder=0)
    axes.set_ylim(-len(groups) + 0.45, 0.75)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6))
    axes.set_xlabel("train error, dB (line: published)")
    label = f"Train error by change; published: {decibel(paper)}."
    yield finish(axes, "satimage-changes", label)


def draw_convergence(rows: Sequence[Row]) -> Iterator[Drawing]:
    """Cost against averagings over all layers, both logarithmic."""
    looks = {"admm": BLUE, "krylov": ORANGE}
    names = {"admm": "ADMM, every iteration", "krylov": "krylov, every layer"}
    for (data,), group in grouped(rows, ("data",)).items():
        axes, told = new_axes(250), []
        for row in group:
            x = np.array(row.metrics["averagings"], dtype=float)
            y = np.array(row.metrics["cost"])
            solver = str(row.key["solver"])
            look, every = looks[solver], solver == "krylov"
            axes.plot(
                x, y, look.dash, color=look.colour, linewidth=1.6,
                marker=look.mark if every else "", markersize=4, label=names[solver],
            )  # fmt: skip
            told.append(
                f"{names[solver]}: {amount(y[0])} after the first to {amount(y[-1])} "
                f"after {x[-1]:.0f} averagings"
            )
            if solver == "admm":
                exponent, factor = power_law(x, y)
                axes.plot(
                    x, factor * x**exponent, ":", color=MUTED, linewidth=1.4,
                    label=f"power law, exponent {exponent:.2f}".replace("-", "−"),
                )  # fmt: skip
        _log_log(axes)
        axes.set_xlabel("averagings, over all layers")
        axes.set_ylabel("cost")
        axes.grid(axis="y")
        _legend(axes, columns=1)
        yield finish(
            axes, file_name("convergence", data), f"{data}: {'; '.join(told)}."
        )


def power_law(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Exponent and factor of the straight line through a curve on log-log axes.

    Every stretch of the logarithmic axis counts alike.

    >>> x = np.arange(1.0, 100.0)
    >>> exponent, factor = power_law(x, 3 * x**-0.5)
    >>> round(exponent, 6), round(factor, 6)
    (-0.5, 3.0)
    """
    at = np.unique(np.geomspace(1, len(x), 60).astype(int) - 1)
    exponent, intercept = np.polyfit(np.log(x[at]), np.log(y[at]), 1)
    return float(exponent), float(np.exp(intercept))


def draw_degree(rows: Sequence[Row]) -> Iterator[Drawing]:
    """Rounds by degree, and the time of a training, modelled and estimated."""
    found = degree_rows(rows)
    for one in found[:1]:
        rounds = {
            scheme: {d: float(figures["rounds"]) for d, figures in by_degree.items()}
            for scheme, by_degree in one.schemes.items()
        }
        yield _degree_figure("degree-rounds", rounds, "rounds of one averaging")
    for one in found:
        for kind, unit, length in (("modelled", "minutes", 60), ("estimated", "s", 1)):
            times = {
                scheme: {d: t / length for d, t in one.times(scheme, kind).items()}
                for scheme in one.schemes
            }
            yield _degree_figure(
                file_name("degree", kind, one.data), times,
                f"{kind} training time, {unit}",
                floor=one.training["seconds"] / length,
            )  # fmt: skip


def _degree_figure(
    name: str,
    curves: dict[str, dict[int, float]],
    what: str,
    floor: float | None = None,
) -> Drawing:
    looks = {"gossip": GREY, "chebyshev": ORANGE, "exact": BLUE}
    axes, told = new_axes(230), []
    for scheme, values in curves.items():
        look, degrees = looks[scheme], sorted(values)
        axes.plot(
            degrees, [values[d] for d in degrees], look.dash + look.mark,
            color=look.colour, markersize=5, label=scheme,
        )  # fmt: skip
        first, last = degrees[0], degrees[-1]
        told.append(
            f"{scheme} {small(values[first])} at d = {first}, {small(values[last])} at "
            f"d = {last}"
        )
    every = [value for values in curves.values() for value in values.values()]
    log_range(axes, "y", min(every), max(every))
    if floor is not None:
        axes.axhline(floor, color=QUIET, linewidth=1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10))
    axes.set_xlabel("degree d")
    axes.set_ylabel(what)
    axes.grid(axis="y")
    axes.spines["left"].set_visible(False)
    _legend(axes, columns=3)
    return finish(axes, name, f"{what} by degree: {'; '.join(told)}.")


def draw_communication(rows: Sequence[Row]) -> Iterator[Drawing]:
    """Cost against the numbers that a node has sent."""
    looks = {"paper": GREY, "gram": BLUE, "krylov": BLACK}
    names = ("data", "layers", "width", "descent")
    for key, group in grouped(rows, names).items():
        axes = new_axes(260)
        for row in group:
            look, found = looks[str(row.key["scheme"])], row.metrics
            axes.plot(
                found["dssfn_cost_scalars"], found["dssfn_cost"], look.dash,
                marker=look.mark, color=look.colour, markersize=4, linewidth=1.5,
                label=f"dSSFN, {SCHEMES[str(row.key['scheme'])]}",
            )  # fmt: skip
        # The way of descent is one, but every kind of averages charges it otherwise.
        charged = {str(row.metrics["dssfn_consensus"]): row.metrics for row in group}
        for (consensus, found), dash in zip(charged.items(), ("--", ":"), strict=False):
            axes.plot(  # from the first iteration on: before it nothing was sent
                found["descent_cost_scalars"][1:], found["descent_cost"][1:], dash,
                color=SECOND, label=f"{key[-1]}, averages by {consensus}",
            )  # fmt: skip
        _log_log(axes)
        axes.set_xlabel("numbers in messages, per node")
        axes.set_ylabel("cost")
        axes.grid(axis="y")
        _legend(axes, columns=1)
        ratios = ", ".join(
            f"{SCHEMES[str(row.key['scheme'])]} {small(row.metrics['eta_measured'])}"
            for row in group
        )
        label = f"Cost against numbers sent; gradient descent over dSSFN: {ratios}."
        yield finish(axes, file_name("communication", *key), label)


def draw_comparison(rows: Sequence[Row]) -> Iterator[Drawing]:
    """Test accuracy against bytes: a figure for every split, on the same axes."""
    for (data,), of_data in grouped(rows, ("data",)).items():
        known = [row for row in of_data if row.metrics["bytes_total"]]
        if not known:
            continue  # all of them diverged
        sent = [value for row in known for value in row.metrics["bytes_total"]]
        lowest = min(
            100 * max(row.metrics["best_accuracy"] for row in group)
            for group in grouped(known, ("method", "split")).values()
        )
        for (split,), group in grouped(known, ("split",)).items():
            axes, told = new_axes(250), []
            for label, row, look in _shown(group):
                axes.plot(
                    np.array(row.metrics["bytes_total"]) / 1e6,
                    100 * np.array(row.metrics["test_accuracy"]),
                    look.dash, marker=look.mark, color=look.colour, markersize=4,
                    linewidth=1.6, label=label,
                    drawstyle="steps-post" if row.key["method"] == "dssfn" else None,
                )  # fmt: skip
                told.append(f"{label} {percent(row.metrics['best_accuracy'])}")
            log_range(axes, "x", min(sent) / 1e6, max(sent) / 1e6)
            axes.set_ylim(max(0.0, lowest - 25), 101)
            _percent_axis(axes, "y")
            axes.set_xlabel("MB over all links")
            axes.grid(axis="y")
            axes.spines["left"].set_visible(False)
            _legend(axes, columns=2)
            name = file_name("comparison", data, split)
            yield finish(axes, name, f"{data}, {split}, best: {'; '.join(told)}.")


def _shown(group: Sequence[Row]) -> Iterator[tuple[str, Row, Look]]:
    """dSSFN in every size; of the other methods the best curve."""
    for place, row in enumerate(where(group, "comparison", method="dssfn")):
        look = BLACK if place else BLUE
        yield f"{METHODS['dssfn']}, {row.key['setting']}", row, look
    for method, look in (("fedavg", ORANGE), ("dpsgd", GREY)):
        best = best_of(where(group, "comparison", method=method))
        if best:
            yield METHODS[method], best, look


def _log_log(axes: Axes) -> None:
    """Both axes logarithmic, as wide as what is drawn."""
    lines = axes.get_lines()
    x = np.concatenate([np.asarray(line.get_xdata(), dtype=float) for line in lines])
    y = np.concatenate([np.asarray(line.get_ydata(), dtype=float) for line in lines])
    log_range(axes, "x", float(x.min()), float(x.max()))
    log_range(axes, "y", float(y.min()), float(y.max()))


def _percent_axis(axes: Axes, which: str) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))


def _legend(axes: Axes, *, columns: int) -> None:
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, handlelength=2.4,
        borderpad=0, columnspacing=1.2, labelspacing=0.3,
    )  # fmt: skip


_DRAWERS: dict[str, Callable[[Sequence[Row]], Iterator[Drawing]]] = {
    "table2": draw_table2,
    "satimage": draw_satimage,
    "convergence": draw_convergence,
    "degree": draw_degree,
    "communication": draw_communication,
    "comparison": draw_comparison,
}
