"""Raw columns of a table as operators: one input for each column of a schema.

How this works. An input has the name of its column and one value for each sample. Of a
number it is float64, NaN where it is missing. Of a category, and of true and false, it
is text, empty where it is missing. A graph cannot read text, it can only look it up; so
every way in which a level may be written leads to the place of its feature among those
of the column, which `dssfn.schema.Encoding` sets to one.

A table that the schema does not fit is refused, as `dssfn predict` does it: the run
fails at an operator that names the column. Estimators are less strict, and so are their
graphs: in a category, whatever was never seen counts as missing.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from dssfn._typing import Array
from dssfn.export.graph import Graph, Port, Tensor
from dssfn.export.inputs import add_checked, add_refusing, add_transposed
from dssfn.schema import Column, Schema
from dssfn.schema.values import TRUTHS, level_text, spellings

TEXT, NUMBER = np.dtype(object), np.dtype(np.float64)
NOTHING = ""  # a missing text


def column_ports(schema: Schema) -> list[Port]:
    """Return the inputs of a graph that takes columns.

    >>> sex = Column(name="sex", kind="category", levels=("f", "m"))
    >>> [(one.name, one.dtype.name) for one in column_ports(Schema(columns=(sex,)))]
    [('sex', 'object')]
    """
    return [
        Port(column.name, NUMBER if column.kind == "number" else TEXT, 1)
        for column in schema.used
    ]


def column_properties(schema: Schema, *, takes_unseen: bool) -> dict[str, Any]:
    """Return what describes the inputs of a graph that takes columns.

    >>> sex = Column(name="sex", kind="category", levels=("f", "m"))
    >>> told = column_properties(Schema(columns=(sex,)), takes_unseen=True)
    >>> told["unseen"], told["columns"][0]["levels"]
    ('missing', ['f', 'm'])
    """
    columns = [
        {
            "name": column.name,
            "kind": column.kind,
            "levels": list(column.level_texts),
            "same": {text: level_text(level) for text, level in column.same.items()},
            "other": column.other,
            "missing": column.missing,
            "unit": column.unit,
        }
        for column in schema.used
    ]
    return {"columns": columns, "unseen": "missing" if takes_unseen else "refused"}


def add_columns(
    graph: Graph, schema: Schema, scale: Array, *, takes_unseen: bool
) -> Tensor:
    """Add what makes the features (P, J) from the inputs of all columns.

    Parameters
    ----------
    graph : Graph
        The graph.
    schema : Schema
        What the columns mean.
    scale : array of shape (P,)
        The deviations of the features in the training data.
    takes_unseen : bool
        Whether gaps are taken where the schema has none, and what is no level counts as
        missing, as estimators have it; otherwise both are refused.
    """
    features: list[Tensor] = []
    at = 0
    for column in schema.used:
        if column.kind == "category":
            features.append(_add_levels(graph, column, takes_unseen))
        else:
            has_gaps = schema.has_gaps if takes_unseen else column.missing
            of_numbers = scale[at : at + 1]
            features += _add_numbers(graph, column, of_numbers, has_gaps=has_gaps)
        at += len(column.feature_names)
    return add_transposed(graph, graph.node("Concat", *features, axis=1))


def _add_numbers(
    graph: Graph, column: Column, scale: Array, *, has_gaps: bool
) -> list[Tensor]:
    """Add a number (J, 1), and whether it is missing if that is a feature."""
    name = column.name
    if column.kind == "boolean":
        values = _add_truths(graph, column, has_gaps=has_gaps)
    else:
        values = add_checked(graph, name, name, scale, has_gaps=has_gaps)
    if not column.missing:
        return [values]
    return [values, graph.cast(graph.node("IsNaN", values), np.float64)]


def _add_truths(graph: Graph, column: Column, *, has_gaps: bool) -> Tensor:
    """Add what is one for true, zero for false, and NaN for a missing value."""
    numbers = np.array([0.0, 1.0, np.nan][: 2 + has_gaps])
    known = {
        "".join(letters): code
        for text, code in TRUTHS.items()
        for spelling in spellings(text)
        for letters in product(*({one.lower(), one.upper()} for one in spelling))
    }
    places = _add_places(graph, column, known | {NOTHING: 2}, len(numbers))
    return add_refusing(graph, numbers, places, f"{column.name}_must_be_true_or_false")


def _add_levels(graph: Graph, column: Column, takes_unseen: bool) -> Tensor:
    """Add a feature for each level (J, n), which is one where a sample has it."""
    n = len(column.feature_names)
    every = np.arange(n, dtype=np.int64)
    gap = n - 1 if column.missing else n  # there is no feature n
    unseen = len(column.levels) if column.other else n
    codes = column.codes()
    known = {one: code for text, code in codes.items() for one in spellings(text)}
    if takes_unseen:
        known = {NOTHING: gap} | known | codes
        places = _add_places(graph, column, known, unseen if column.has_others else gap)
    else:
        known |= codes | {NOTHING: gap}
        found = _add_places(graph, column, known, unseen)
        name = f"{column.name}_must_be_one_of_its_levels"
        places = add_refusing(graph, every, found, name)
    is_one = graph.node("Equal", places, every[None])
    return graph.cast(is_one, np.float64)


def _add_places(
    graph: Graph, column: Column, known: dict[str, int], unseen: int
) -> Tensor:
    """Add what looks a text up (J, 1), int64."""
    texts = sorted(known)  # equal models are equal files
    return graph.node(
        "LabelEncoder",
        column.name,
        keys_strings=texts,
        values_int64s=[known[text] for text in texts],
        default_int64=unseen,
    )
