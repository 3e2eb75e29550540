"""Audits: of a training that is simulated for it, and of one that was recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from dssfn._typing import Array, NodeId
from dssfn.audit.attackers import Wanted
from dssfn.audit.attacks import by_letters, by_total
from dssfn.audit.findings import Evidence, Report, audited
from dssfn.audit.listening import listen
from dssfn.audit.pictures import Pictures, picture_shape
from dssfn.audit.recorded import Recording, recorded_transcript
from dssfn.audit.rows import found_rows
from dssfn.audit.sums import FirstLayer, Sums
from dssfn.audit.truth import Scaling, true_sums
from dssfn.audit.views import Transcript
from dssfn.config import Plan
from dssfn.errors import DataError, PlanError
from dssfn.federation import Federation, check_secure
from dssfn.node.runtime import settled
from dssfn.planning import settle
from dssfn.runs import Run
from dssfn.shard import Samples

MASKED, PLAIN = "on and off", "off"
Seen = tuple[str, Array]
"""Pictures (k, height, width), and what they are."""


@dataclass(frozen=True, slots=True, eq=False)
class Audit:
    """What an audit finds, and what attackers see if inputs are pictures.

    Parameters
    ----------
    report : Report
        All figures.
    pictures : list
        Rows of pictures with their names; none if inputs are no pictures.
    classes : tuple of str
        The classes that the pictures are of.
    """

    report: Report
    pictures: list[Seen]
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A training of real nodes, as far as some of them have recorded it.

    Parameters
    ----------
    federation : Federation
        The plan that the nodes had.
    recordings : sequence of Recording
        What every attacker received.
    own : sequence of Samples
        The attackers' own data, in the same order; none if they are not given.
    victim : Samples, optional
        The victim's data, to compare with.
    scaling : Scaling, optional
        How inputs were scaled; not needed with the attackers' own data.
    """

    federation: Federation
    recordings: Sequence[Recording]
    own: Sequence[Samples] = ()
    victim: Samples | None = None
    scaling: Scaling | None = None


def audit_simulated(run: Run, wanted: Wanted) -> Audit:
    """Train up to the first layer, without masks and with them, and attack it.

    A plan whose messages cannot be masked is attacked without; the report says why.
    """
    wanted.check(run.topology, run.names)
    _check_without_noise(run.plan)
    plan, averaging = settle(run.plan, run.topology)
    shards = dict(enumerate(run.shards))
    plain = listen(shards, plan, averaging, run.topology)
    assert plain.agreed is not None
    scaling = Scaling.of_stage(plain.agreed)

    @cache
    def truth(node: NodeId) -> Sums:
        return true_sums(shards[node], plan, scaling)

    evidence = audited(plain, wanted, truth, run.names, masked=False)
    masked, said = None, MASKED
    try:
        check_secure(plan)
    except PlanError as exc:
        said = "not possible: " + str(exc).removeprefix("`secure`: ")
    else:
        masked = listen(shards, plan, averaging, run.topology, secure=True)
        more = audited(masked, wanted, truth, run.names, masked=True)
        evidence = [one for pair in zip(evidence, more, strict=True) for one in pair]
    return Audit(
        report=Report(
            data=run.name,
            n_nodes=run.topology.n_nodes,
            solver=plan.solver,
            units=plan.units,
            consensus=plan.consensus,
            n_features=FirstLayer(plan).n,
            rows={
                name: shard.n_samples
                for name, shard in zip(run.names, run.shards, strict=True)
            },
            masks=said,
            attacks=tuple(one.attack for one in evidence),
        ),
        pictures=_pictures(evidence, plain, masked, scaling, truth),
        classes=tuple(map(str, plan.classes)),
    )


def _check_without_noise(plan: Plan) -> None:
    """Refuse a training whose sums have noise, which no attack here takes away."""
    if plan.is_private:
        raise PlanError(
            "`epsilon`: an audit attacks exact sums, but these have noise. What "
            "attackers can learn from them is bounded by epsilon; see "
            "docs/privacy.md. Leave `epsilon` out to see what attackers would learn "
            "without noise."
        )


def audit_recorded(run: RecordedRun, victim: NodeId | None) -> Audit:
    """Attack a training by what members have recorded of it.

    Without a victim, all other nodes are attacked one after the other.
    """
    federation = run.federation
    names, topology = federation.names, federation.topology()
    _check_without_noise(federation.training)
    plan, averaging = settled(federation)
    members = frozenset(one.node for one in run.recordings)
    if len(members) < len(run.recordings):
        raise PlanError(
            "`recorded` must be given once for every attacker, got two recordings of "
            "the same node."
        )
    Wanted(victim=victim, members=members).check(topology, names)
    if run.own and federation.secure:
        raise PlanError(
            "`own` must be left out where messages were masked: what the attackers "
            "sent themselves cannot be reproduced, as nobody keeps the keys."
        )
    transcript = recorded_transcript(run.recordings, plan, averaging, topology, run.own)
    scaling = run.scaling
    if transcript.agreed is not None:
        scaling = _same(Scaling.of_stage(transcript.agreed), run.scaling)
    if run.victim is not None and scaling is None:
        raise PlanError(
            "`victim_data` must come with the input scaling: give the attackers' own "
            "data, or the model.safetensors of the training."
        )

    @cache
    def truth(node: NodeId) -> Sums | None:
        if run.victim is None or scaling is None or node != victim:
            return None
        return true_sums(run.victim, plan, scaling)

    masked = federation.secure
    victims = range(topology.n_nodes) if victim is None else [victim]
    evidence = [
        one
        for node in victims
        if node not in members
        for one in audited(
            transcript, Wanted(node, members), truth, names, masked=masked
        )
    ]
    rows = {}
    if run.victim is not None and victim is not None:
        rows[names[victim]] = run.victim.n_samples
    plain, hidden = (None, transcript) if masked else (transcript, None)
    return Audit(
        report=Report(
            data=", ".join(str(one.folder) for one in run.recordings),
            n_nodes=topology.n_nodes,
            solver=plan.solver,
            units=plan.units,
            consensus=plan.consensus,
            n_features=FirstLayer(plan).n,
            rows=rows,
            masks="on" if masked else PLAIN,
            attacks=tuple(one.attack for one in evidence),
        ),
        pictures=_pictures(evidence, plain, hidden, scaling, truth),
        classes=tuple(map(str, plan.classes)),
    )


def _same(played: Scaling, of_model: Scaling | None) -> Scaling:
    """Return the scaling that was played again, which must be that of the model."""
    if of_model is not None and not np.allclose(played.shift, of_model.shift):
        raise DataError(
            "`own` must be the data that the attackers trained on, got other data: "
            "they do not give the model's input scaling."
        )
    return played


def _pictures(
    evidence: Sequence[Evidence],
    plain: Transcript | None,
    masked: Transcript | None,
    scaling: Scaling | None,
    truth: Callable[[NodeId], Sums | None],
) -> list[Seen]:
    """Return what the best attack of all shows of its victim."""
    transcript = plain or masked
    assert transcript is not None
    plan = transcript.plan
    shape = picture_shape(plan)
    if shape is None or scaling is None or plan.is_regression:
        return []
    makes = Pictures(plan, scaling, shape)
    attempt = evidence[0].attempt
    true = truth(attempt.victim)
    strips: list[Seen] = []
    if true is not None:
        strips.append(("true means", makes.class_means(true)))
    for name, one in (("masks off", plain), ("masks on", masked)):
        if one is None:
            continue
        found = by_letters(one.seen_by(attempt.members), attempt.victim)
        sums = None if found is None else found.sums
        strips.append((f"letters,\n{name}", makes.class_means(sums)))
    total = by_total(transcript.seen_by(attempt.members), attempt.victim)
    if total is not None:
        strips.append(("the total alone", makes.class_means(total.sums)))
    if plain is not None:
        found = by_letters(plain.seen_by(attempt.members), attempt.victim)
        if found is not None and found_rows(FirstLayer(plan), found.sums):
            strips.append(("single rows,\nmasks off", makes.single_rows(found.sums)))
    return strips
