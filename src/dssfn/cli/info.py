"""`dssfn info`: what a model file holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from dssfn.cli.display import show_pairs
from dssfn.cli.model import MOST_CLASSES_SHOWN, ModelArgument
from dssfn.cli.options import Json
from dssfn.cli.outcome import print_json
from dssfn.ensemble import Ensemble
from dssfn.modelfile import load_network, who_took_part
from dssfn.report.numbers import plural, size
from dssfn.report.training.tables import without_meaning
from dssfn.schema import Schema
from dssfn.training import Model


def info(model: ModelArgument, json: Json = False) -> None:
    """Show what is in a model file."""
    network = load_network(model)
    plan = network.plan
    settings: dict[str, Any] = msgspec.to_builtins(plan)
    learned = n_learned(network)
    took_part = who_took_part(model)
    n_bytes = model.stat().st_size
    if json:
        figures: dict[str, Any] = {
            "widths": _widths(network),
            "learned_numbers": learned,
        }
        if took_part:
            figures["took_part"] = took_part
        print_json({**settings, **figures, "file_bytes": n_bytes})
        return
    outputs = ("targets", plan.targets) if plan.targets else ("classes", plan.classes)
    hidden = {"classes", "targets", "feature_names", "n_features", "schema"}
    hidden |= without_meaning(
        finds_size=isinstance(network, Ensemble), solver=plan.solver
    )
    show_pairs(
        [
            ("file", f"{model}, {size(n_bytes, gap=' ')}"),
            (outputs[0], _some(outputs[1])),
            *([] if plan.schema is None else [("columns", _columns(plan.schema))]),
            ("features", _features(plan.n_features, plan.feature_names)),
            ("network", size_in_words(network)),
            ("learned parameters", f"{learned:,}"),
            *(
                ("nodes that took part", line)
                for line in attendance_in_words(took_part)
            ),
            *(
                (name, str(value))
                for name, value in settings.items()
                if name not in hidden and value is not None
            ),
        ]
    )


def attendance_in_words(took_part: Sequence[Sequence[str]]) -> list[str]:
    """Return which nodes took part in which layers, a line for every change.

    >>> attendance_in_words([("a", "b"), ("a", "b"), ("a",)])
    ['layers 0 to 1: a, b', 'layer 2: a']
    """
    lines, first = [], 0
    for last, nodes in enumerate(took_part):
        if last + 1 == len(took_part) or took_part[last + 1] != nodes:
            which = f"layer {last}" if first == last else f"layers {first} to {last}"
            lines.append(f"{which}: {', '.join(nodes)}")
            first = last + 1
    return lines


def n_learned(network: Model) -> int:
    """Return how many numbers a network has learned."""
    return sum(O.size for O in network.outputs)


def size_in_words(network: Model) -> str:
    """Return the size of a network in words."""
    depth = plural(network.plan.depth, "hidden layer")
    widths = _widths(network)
    units = f" of {', '.join(map(str, widths))} random units" if widths else ""
    if len(set(widths)) == 1:
        units = f" of {plural(widths[0], 'random unit')}"
    n_members = network.n_members if isinstance(network, Ensemble) else 1
    name = f"an ensemble of {n_members} networks" if n_members > 1 else "one network"
    return f"{name} with {depth}{units}"


def _widths(network: Model) -> list[int]:
    """Return the random units of every hidden layer."""
    beside = 2 * network.plan.n_outputs + isinstance(network, Ensemble)
    return [O.shape[-1] - beside for O in network.outputs[1:]]


def _some(names: tuple[Any, ...]) -> str:
    shown = ", ".join(map(str, names[:MOST_CLASSES_SHOWN]))
    more = len(names) - MOST_CLASSES_SHOWN
    return shown + (f" and {more} more" if more > 0 else "")


def _columns(schema: Schema) -> str:
    """Return how many columns of each kind a table has."""
    kinds = Counter(column.kind for column in schema.used)
    several = {"number": "numbers", "category": "categories", "boolean": "booleans"}
    said = [f"{n} {kind if n == 1 else several[kind]}" for kind, n in kinds.items()]
    n_gaps = sum(column.missing for column in schema.used)
    gaps = f"; {n_gaps} may have missing values" if n_gaps else ""
    return f"{len(schema.used)}: {', '.join(said)}{gaps}"


def _features(count: int, names: tuple[str, ...] | None) -> str:
    if names is None:
        return f"{count}, unnamed"
    return f"{count}: {', '.join(names[:4])}{', ...' if count > 4 else ''}"
