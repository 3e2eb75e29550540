"""What few rows at a node mean for privacy: it sends sums, and a sum of one is it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from dssfn.config import Plan
from dssfn.errors import DataError, PlanError
from dssfn.federation import Federation
from dssfn.node.spec import NodeSpec

FEW = 10  # samples; with fewer, sums over them say much of each


def check_nodes(federation: Federation) -> None:
    """Refuse a federation of so few nodes that totals would show what each of them has.

    A node takes its own sums from the total, and has those of all others.
    """
    n_nodes = len(federation.nodes)
    if n_nodes < federation.min_nodes:
        raise PlanError(
            f"`nodes` must be at least {federation.min_nodes}, the plan's "
            f"`min_nodes`, got {n_nodes}. Every node learns the totals and can "
            "subtract its own sums, which leaves those of all others together; with "
            "two nodes, those of the other one. Find more organisations, or agree "
            "with all nodes on a smaller `min_nodes` in the plan."
        )


def check_rows(spec: NodeSpec, federation: Federation, n_rows: int) -> None:
    """Refuse a node with so few rows that its messages would show single ones.

    Where noise hides single rows, a refusal would tell more than the messages.
    """
    if n_rows < federation.min_rows and not federation.training.is_private:
        raise DataError(
            f"`{Path(spec.data).name}` must have at least {federation.min_rows} rows, "
            f"the plan's `min_rows`, got {n_rows}. A node sends sums over its rows: "
            "the fewer there are, the more the sums reveal about each. Agree with all "
            "nodes on a smaller `min_rows` in the plan, or join another organisation "
            "and take part as one node."
        )


def check_numbers(
    spec: NodeSpec, federation: Federation, held: Iterable[tuple[str, int]]
) -> None:
    """Refuse a node that has so few numbers in a column that its sums would show them.

    Parameters
    ----------
    spec, federation : NodeSpec, Federation
        The node, and its plan.
    held : iterable of (str, int)
        The columns of numbers, and how many rows of this node have one.
    """
    least = federation.min_cell
    for name, n in held:
        if 0 < n < least and not federation.training.is_private:
            raise DataError(
                f"`{Path(spec.data).name}`, column `{name}`: either at least {least} "
                f"rows (the plan's `min_cell`) must have a number, or none; got {n}. "
                "A node sends sums over its rows, and a sum over so few numbers "
                "reveals them. Leave these fields empty, or agree with all nodes to "
                "ignore the column in the schema, or on a smaller `min_cell`."
            )


def few_samples(n_samples: int) -> Iterator[str]:
    """Yield a warning about a node with very few samples; none if they are enough."""
    if n_samples == 1:
        yield "1 sample: this node's sums reveal it. Take part with more samples."
    elif n_samples < FEW:
        yield (
            f"{n_samples} samples: so few that the sums that this node sends may "
            "reveal them. Take part with more samples."
        )


def numbers_held(plan: Plan, counts: Iterable[int]) -> Iterator[tuple[str, int]]:
    """Yield the columns of numbers, and how many rows have one.

    Parameters
    ----------
    plan : Plan
        The plan; without a schema all rows have all numbers, and nothing is yielded.
    counts : iterable of int
        How many rows have a value of each feature.
    """
    of_features = iter(counts)
    for column in plan.schema.used if plan.schema else ():
        first, *_ = (next(of_features) for _ in column.feature_names)
        if column.kind == "number":
            yield column.name, first
