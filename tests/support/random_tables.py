"""Tables of numbers, categories and classes, as columns and as features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from dssfn.config import Plan
from dssfn.consensus import Tree
from dssfn.lockstep import Workers
from dssfn.schema import Column, Encoding, Schema, Target
from dssfn.schema.encoding import GAP, UNKNOWN
from dssfn.shard import Shard, one_hot
from dssfn.simulator import run_programs
from dssfn.topology import build_topology

SCHEMA = Schema(
    columns=(
        Column(name="age", kind="number", missing=True, unit="years"),
        Column(name="id", kind="ignore"),
        Column(name="pain", kind="category", levels=("no", "some", 3), other=True,
               missing=True),
        Column(name="sex", kind="category", levels=("f", "m")),
        Column(name="smokes", kind="boolean", missing=True),
        Column(name="height", kind="number"),
    ),
    target=Target(column="outcome", classes=("well", "ill")),
)  # fmt: skip
PLAN = Plan(**SCHEMA.settings())
NUMBERS = SCHEMA.with_target(Target(column="days", kind="number"))
NUMBERS_PLAN = Plan(**NUMBERS.settings())


@dataclass(frozen=True)
class Rows:
    """The values of some rows, column by column; codes of categories and classes."""

    age: np.ndarray
    pain: np.ndarray
    sex: np.ndarray
    smokes: np.ndarray
    height: np.ndarray
    outcome: np.ndarray

    @property
    def n(self):
        return len(self.age)

    def some(self, which):
        return Rows(*(values[which] for values in vars(self).values()))

    def shard(self, plan=PLAN):
        """As a node has them; as a target, `height` does for a number."""
        *columns, outcome = vars(self).values()
        T = self.height[None] if plan.is_regression else one_hot(outcome, 2)
        return Shard(Encoding(plan.schema).features(columns), T, has_gaps=True)


finite = st.integers(0, 3).map(float) | st.floats(-1e12, 1e12).filter(
    lambda x: x == 0 or abs(x) > 1e-15  # squares of differences must have digits
)


@st.composite
def tables(draw, min_rows=1, max_rows=40):
    n = draw(st.integers(min_rows, max_rows))

    def column(values):
        return np.array(draw(st.lists(values, min_size=n, max_size=n)))

    return Rows(
        age=column(finite | st.just(float("nan"))),
        pain=column(st.sampled_from([GAP, UNKNOWN, 0, 1, 2])),
        sex=column(st.integers(0, 1)),
        smokes=column(st.sampled_from([0.0, 1.0, float("nan")])),
        height=column(finite),
        outcome=column(st.integers(0, 1)),
    )


@st.composite
def divided(draw, min_rows=1, max_rows=40):
    """A table, and the same rows divided over nodes, each of which has some."""
    table = draw(tables(min_rows=min_rows, max_rows=max_rows))
    n_nodes = draw(st.integers(1, min(4, table.n)))
    order = draw(st.permutations(range(table.n)))
    owners = [*range(n_nodes), *(
        draw(st.integers(0, n_nodes - 1)) for _ in range(table.n - n_nodes)
    )]  # fmt: skip
    parts = [
        table.some(
            [row for row, owner in zip(order, owners, strict=True) if owner == k]
        )
        for k in range(n_nodes)
    ]
    return table, parts


def together(programs):
    """What each node ends with, over a ring or less."""
    topology = build_topology("circular" if len(programs) > 2 else "complete",
                              len(programs))  # fmt: skip
    with Workers(len(programs), 1) as workers:
        return run_programs(programs, Tree(topology), workers)
