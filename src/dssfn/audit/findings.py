"""What an audit finds: how far every attack gets, in figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import msgspec
import numpy as np
from threadpoolctl import threadpool_limits

from dssfn._typing import NodeId
from dssfn.audit.attackers import Attempt, Wanted, attempts
from dssfn.audit.attacks import Recovered, by_letters, by_total
from dssfn.audit.rows import found_rows
from dssfn.audit.sums import FirstLayer, Sums, scaled_error
from dssfn.audit.views import Transcript
from dssfn.config import Plan

ROUNDING = 1e-9


class Figures(msgspec.Struct, frozen=True):
    """How near an attack comes to what a node holds.

    Errors are relative to the truth, the smallest over all multiples of what was found:
    0 if that is all, about 1 if it is noise. They are None where the truth is not
    known.

    Parameters
    ----------
    nodes : tuple of str
        The nodes whose sum was found; the victim alone, if the attack is good.
    gram_error : float, optional
        Of Y Y^T.
    cross_error : float, optional
        Of T Y^T.
    class_means_error : float, optional
        Of the means of every class, from the mean of all nodes; None in a regression.
    directions : float
        The share of all directions in which Y Y^T was found.
    rows : int
        How many single rows were found, as they are.
    looks_real : bool
        Whether what was found could be sums of rows: Y Y^T without negative
        eigenvalues, and whole numbers of rows in every class, unless classes weigh.
    """

    nodes: tuple[str, ...]
    gram_error: float | None
    cross_error: float | None
    class_means_error: float | None
    directions: float
    rows: int
    looks_real: bool


class Attack(msgspec.Struct, frozen=True):
    """The best attack of a kind.

    Parameters
    ----------
    kind : str
        In which places the attackers are.
    attackers : tuple of str
        Their names.
    victim : str
        The node that they found out about.
    masked : bool
        Whether messages were masked.
    letters : Figures, optional
        What letters give; None if they tell no more than the total.
    total : Figures, optional
        What the total gives, which every member has; None if it is not known.
    """

    kind: str
    attackers: tuple[str, ...]
    victim: str
    masked: bool
    letters: Figures | None
    total: Figures | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """The figures of an attack, and who attacked whom."""

    attack: Attack
    attempt: Attempt


def audited(
    transcript: Transcript,
    wanted: Wanted,
    truth: Callable[[NodeId], Sums | None],
    names: Sequence[str],
    *,
    masked: bool,
) -> list[Evidence]:
    """Carry out all attacks that are wanted, and return the best one of every kind.

    Parameters
    ----------
    transcript : Transcript
        What was sent.
    wanted : Wanted
        Which attacks.
    truth : callable
        Returns what a node holds, or None if nobody knows.
    names : sequence of str
        The names of the nodes.
    masked : bool
        Whether messages were masked.
    """

    @cache  # a node may be the hub, the root and a neighbour
    def measured(attempt: Attempt) -> list[Figures | None]:
        view, true = transcript.seen_by(attempt.members), truth(attempt.victim)
        found = by_letters(view, attempt.victim), by_total(view, attempt.victim)
        return [
            None if one is None else _figures(one, true, transcript.plan, names)
            for one in found
        ]

    best = []
    with threadpool_limits(1, user_api="blas"):  # the matrices are small
        for kind, every in attempts(transcript, wanted):
            found = [
                Evidence(
                    Attack(
                        kind,
                        tuple(names[node] for node in sorted(attempt.members)),
                        names[attempt.victim],
                        masked,
                        *measured(attempt),
                    ),
                    attempt,
                )
                for attempt in every
            ]
            best.append(min(found, key=lambda one: _rank(one.attack)))
    return best


def _rank(attack: Attack) -> tuple[float, int, float]:
    """Return what puts the worst attack for its victim first.

    It is the error, then the rows that were found; of errors that are rounding alone,
    none is worse.
    """
    letters, total = (
        1.0 if one is None or one.gram_error is None else max(one.gram_error, ROUNDING)
        for one in (attack.letters, attack.total)
    )
    return letters, -attack.letters.rows if attack.letters else 0, total


def _figures(
    found: Recovered, truth: Sums | None, plan: Plan, names: Sequence[str]
) -> Figures:
    sums, layer, has_classes = found.sums, FirstLayer(plan), not plan.is_regression
    measured: dict[str, float | None] = dict.fromkeys(("G", "C", "means"))
    if truth is not None:
        measured["G"] = scaled_error(sums.G, truth.G)
        measured["C"] = scaled_error(sums.C, truth.C)
        if has_classes:
            means = (layer.class_means(one.C) for one in (sums, truth))
            measured["means"] = scaled_error(*means)
    return Figures(
        nodes=tuple(names[node] for node in sorted(found.nodes)),
        gram_error=measured["G"],
        cross_error=measured["C"],
        class_means_error=measured["means"],
        directions=sums.share,
        rows=len(found_rows(layer, sums)) if has_classes else 0,
        looks_real=_looks_real(sums, plan),
    )


def _looks_real(sums: Sums, plan: Plan) -> bool:
    eigenvalues = np.linalg.eigvalsh(sums.G)
    if eigenvalues[0] < -1e-6 * abs(eigenvalues[-1]):
        return False
    counts = FirstLayer(plan).counts(sums.C)
    if counts is None or plan.is_regression or plan.class_weight is not None:
        return True
    whole = np.rint(counts)
    return bool((whole >= 0).all() and np.allclose(counts, whole, atol=1e-3))


class Report(msgspec.Struct, frozen=True):
    """What an audit finds, as `audit.json` holds it.

    Parameters
    ----------
    data : str
        What was trained on, or where the recording is.
    n_nodes : int
        The number of nodes.
    solver, units, consensus : str
        How the layer was solved, in which arithmetic, and how sums were found.
    n_features : int
        The number of features of layer 0, the rows of Y.
    rows : dict
        The number of rows of every node that is known.
    masks : str
        What masks do here: why there are none, if the plan cannot have them.
    attacks : tuple of Attack
        The best attack of every kind, without masks and with them.
    """

    data: str
    n_nodes: int
    solver: str
    units: str
    consensus: str
    n_features: int
    rows: Mapping[str, int]
    masks: str
    attacks: tuple[Attack, ...]
