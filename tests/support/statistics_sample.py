"""Statistics of a few nodes, as a node has them."""

from __future__ import annotations

from dssfn.statistics.figures import (
    Agreed,
    Column,
    Figures,
    Level,
    Remark,
    Statistics,
)


def _levels(names, counts):
    pairs = zip(names, counts, strict=True)
    return tuple(Level(name=name, count=n) for name, n in pairs)


def _figures(rows, there, missing, counts, classes, *, level="some", mean=61.25):
    *counts, gaps = counts
    age = Column(
        name="age",
        kind="number",
        unit="years",
        there=there,
        missing=missing,
        mean=mean,
        deviation=None if mean is None else 9.5,
    )
    pain = Column(
        name="pain",
        kind="category",
        levels=_levels(("no", level, "much"), counts),
        other=0,
        missing=gaps,
    )
    target = Column(
        name="outcome", kind="class", levels=_levels(("well", "ill"), classes)
    )
    return Figures(rows=rows, columns=(age, pain), target=target)


def sample_statistics(*, sites=False, level="some", node="north"):
    everybody = _figures(
        1000, "not shown", "fewer than 5", (700, 200, "not shown", "fewer than 5"),
        (600, 400), level=level,
    )  # fmt: skip
    here = _figures(300, 298, 2, (250, 47, 0, 3), (100, 200), level=level, mean=70.5)
    other = _figures(
        700, 700, 0, (450, 153, 97, 0), (500, 200), level=level, mean=None
    )  # fmt: skip
    agreed = Agreed(
        plan="ab" * 32,
        nodes=(node, "south"),
        min_cell=5,
        all=everybody,
        sites=(here, other) if sites else (),
    )
    return Statistics(
        node=node,
        sha256=agreed.sha256,
        agreed=agreed,
        here=here,
        stands_out=(
            Remark(column="age", text="the mean here is 1.0 deviations above"),
            Remark(column="pain", text=f"only here: `{level}`"),
        ),
        made_by={"dssfn": "1.0"},
    )
