"""What the stages of a training hold, and the model that follows from them.

A stage is what all nodes know of a layer once it is solved: its output matrices, the
errors it was chosen by, and what was tried. The first one also holds the basis; a last
one, after all layers, how steep the probabilities are and how good the model is.
"""

from __future__ import annotations

import numpy as np

from dssfn._typing import Array
from dssfn.config import AUTO, Plan
from dssfn.ensemble.basis import Basis
from dssfn.ensemble.choices import choose, rules_of, scale_factors
from dssfn.ensemble.model import Ensemble
from dssfn.ensemble.ridge import message_size
from dssfn.ensemble.track import TALLY
from dssfn.ensemble.units import CONSTANT, n_features_of
from dssfn.ensemble.validation import (
    AgreedScores,
    agreed_scores,
    check_score_stage,
    most_score_numbers,
)
from dssfn.exact.limbs import N_LIMBS
from dssfn.progress import Progress, Stage

MOST_TRIED = 200  # numbers of a message about what was tried in a layer, or more


BEFORE = "before"  # the name of the error of the layer before, on the same samples


def errors_of(progress: Progress) -> list[float]:
    """Return the validation error of every layer; for one member, that of training.

    Where nodes come and go, layers are validated on different samples. Then the errors
    of two layers are those that both have on the samples of the second.
    """
    errors: list[float] = []
    for layer, stage in enumerate(progress.layers):
        error = float(stage["validation"][picked_scale(progress, layer), 0])
        if BEFORE in stage and errors:
            before = float(stage[BEFORE][0])
            error = errors[-1] * (error / before if before > 0 else 1.0)
        errors.append(error)
    return errors


def is_complete(progress: Progress | None) -> bool:
    """Return whether nothing is left to be found."""
    return progress is not None and "slope" in progress.stages[-1]


def scores_of(plan: Plan, progress: Progress) -> AgreedScores | None:
    """Return how good the model of a finished training is on validation samples."""
    basis = Basis.from_stage(progress.stages[0])
    return agreed_scores(plan, progress.stages[-1], basis)


def ensemble_of(plan: Plan, progress: Progress) -> Ensemble:
    """Return the model of a finished training, as deep as validation has it."""
    first = progress.stages[0]
    basis, picked = Basis.from_stage(first), picked_scale(progress, 0)
    scales = scales_of(plan, basis)
    depth = rules_of(plan, basis.weight).depth(errors_of(progress))
    layers = progress.layers[: depth + 1]
    found = plan.replace(
        n_layers=depth,
        width=max((width_of(stage["O"]) for stage in layers[1:]), default=1),
        members=basis.n_members,
        scale=scale_names(plan)[picked] if plan.standardize else plan.scale,
    )
    return Ensemble(
        plan=found,
        outputs=(first["O"][picked], *(stage["O"] for stage in layers[1:])),
        centres=first["centres"],
        means=tuple(stage["means"] for stage in layers[1:-1]),
        deviations=tuple(stage["deviations"] for stage in layers[1:-1]),
        shift=basis.shift,
        scale=basis.scale,
        factors=scales[picked],
        target_shift=basis.target_shift,
        target_scale=basis.target_scale,
        slope=float(progress.stages[-1]["slope"][0]),
    )


def picked_scale(progress: Progress, layer: int) -> int:
    """Return the number of the scale that was picked, among those of a layer.

    Before that, it is the better one so far.
    """
    if layer > 0:
        return 0
    for stage in progress.stages[:2]:
        if "picked" in stage:
            return int(stage["picked"][0])
    return choose(progress.stages[0]["validation"][:, 0])


def width_of(O: Array) -> int:
    """Return the number of random units that output matrices (.., Q, n) are for."""
    Q, n = O.shape[-2:]
    return int(n) - CONSTANT - 2 * int(Q)


def steps_of(stage: Stage) -> list[int]:
    """Return the widths by which a layer has grown to its own.

    Units that are made in other steps may be rounded in another way.
    """
    tried = set(stage["tries"][:, 1].astype(int).tolist())
    return sorted(width for width in tried if width <= width_of(stage["O"]))


def widths_of(progress: Progress) -> list[int]:
    """Return the widths of all hidden layers."""
    return [width_of(stage["O"]) for stage in progress.layers[1:]]


def check_stages(plan: Plan, progress: Progress) -> None:
    """Refuse stages that no training with this plan has, with a ValueError."""
    layers = progress.layers
    if not layers or "centres" not in layers[0]:
        raise ValueError("it has no first layer")
    if len(layers) > plan.most_layers + 1 or len(progress.stages) > len(layers) + 1:
        raise ValueError(f"it has {len(layers)} layers")
    if any("O" not in stage for stage in progress.stages[: len(layers)]):
        raise ValueError("its layers are out of order")
    K = len(layers[0]["centres"])
    for layer, stage in enumerate(layers):
        n = stage["O"].shape[-1] if stage["O"].ndim else 0
        shapes = _shapes_of(plan, K, layer, n)
        found = {name: A.shape for name, A in stage.items() if name not in _FREE}
        picked = stage.get("picked", np.zeros(1))
        if found != shapes or not _is_number_of(picked, len(scale_names(plan))):
            raise ValueError("its matrices are not those of the plan")
        _check_width(plan, layer, stage)
    if float(layers[0]["members"][0]) != K:
        raise ValueError("it has matrices of other members")
    check_score_stage(plan, progress.stages[-1])


_FREE = ("picked", "tries", "gaps", "usual_weight", BEFORE)  # not in every layer


def _is_number_of(values: Array, n: int) -> bool:
    """Return whether an array holds one number, which is one of n things."""
    return values.shape == (1,) and float(values[0]) in range(n)


def _shapes_of(plan: Plan, K: int, layer: int, n: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of what every layer with n features holds."""
    P, Q, S = plan.n_features, plan.n_outputs, len(scale_names(plan))
    if layer > 0:
        moments = (K, n - CONSTANT - Q)
        shapes = {"O": (K, Q, n), "means": moments, "deviations": moments}
        return shapes | {"validation": (1, 3)}
    n = n_features_of(0, P, Q, 0)
    shapes = {"O": (S, K, Q, n), "centres": (K, Q), "validation": (S, 3)}
    shapes |= dict.fromkeys(("weight", "members"), (1,))
    shapes |= dict.fromkeys(("shift", "scale", "constant"), (P,))
    return shapes | dict.fromkeys(
        ("target_shift", "target_scale", "class_factors"), (Q,)
    )


def _check_width(plan: Plan, layer: int, stage: Stage) -> None:
    """Refuse a hidden layer of a width that cannot have been tried."""
    if layer == 0:
        return
    tries = stage.get("tries", np.empty(0))
    if not 1 <= width_of(stage["O"]) <= plan.most_width or tries.shape[1:] != (3,):
        raise ValueError("its layers are wider than those of the plan, or narrower")
    if width_of(stage["O"]) not in tries[:, 1] or tries[:, 1].min() < 1:
        raise ValueError("it has layers of a width that was not tried")


def largest_found(plan: Plan, n_nodes: int) -> int:
    """Return how many numbers the largest letter of a training can have.

    It is a layer's sums for two scales, or all that was agreed on, of which nodes
    compare the lowest and the highest numbers.
    """
    Q, P, K = plan.n_outputs, plan.n_features, plan.most_members
    n = n_features_of(1, P, Q, plan.most_width)
    n_linear = n_features_of(0, P, Q, 0)
    sums = max(2 * K * message_size(Q, 0, n), (K + 1) * message_size(Q, 0, n_linear))
    per_layer = K * (Q * n + 2 * n + 8)
    stages = 2 * K * Q * n_linear + (plan.most_layers + 1) * per_layer + 3 * P + 6 * Q
    n_scores = most_score_numbers(plan, n_nodes)
    tallies = max(n_scores, 1 + 2 * (P + Q), MOST_TRIED) + 4 * TALLY
    if plan.is_exact:  # with weights, every sum may take two words
        sums, tallies = 2 * sums, N_LIMBS * tallies
    return max(sums, 2 * (stages + n_scores), tallies) + tallies


def scales_of(plan: Plan, basis: Basis) -> list[Array]:
    """Return what standardised inputs are multiplied by, for every scale to try.

    Of two that validate alike, the last is taken.
    """
    is_image = plan.image_shape is not None
    common = scale_factors(basis.scale, basis.constant.astype(bool), alike=is_image)
    factors = {"columns": np.ones(plan.n_features), "common": common}
    return [factors[name] for name in scale_names(plan)]


def scale_names(plan: Plan) -> list[str]:
    """Return the names of the scales to try, in the order of `scales_of`."""
    if plan.scale != AUTO and plan.standardize:
        return [plan.scale]
    if plan.image_shape is not None:
        return ["common"]
    is_open = plan.standardize and plan.size == AUTO
    return ["common", "columns"] if is_open else ["columns"]
