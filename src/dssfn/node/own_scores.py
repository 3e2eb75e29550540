"""How good the model is for one node, beside what this node could do alone.

All that is found here stays with the node: it is computed from its own samples after
the training, and nobody is told.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from dssfn._typing import Array, NodeId
from dssfn.config import Plan
from dssfn.errors import DataError, NumericalError
from dssfn.lockstep import Workers
from dssfn.network import CHUNK
from dssfn.planning import settle
from dssfn.results import OwnScores
from dssfn.scores import Scores, Tally
from dssfn.scoring import leaves_out, measure_for, predictions, scores_of, some_of
from dssfn.shard import Samples
from dssfn.simulator import run_programs
from dssfn.topology import build_topology
from dssfn.training import Model, train_node

log = logging.getLogger("dssfn.node")

MOST_SAMPLES = 50_000  # of a model for one node that nobody has asked for

NO_SAMPLES = (
    "all members were trained on all samples of this node. Give a file of other "
    "samples as `test` in node.toml."
)
TOO_FEW = "this node has fewer samples than the plan has members."
NOT_WANTED = "`local_model` is false in node.toml."
TOO_MANY = (
    f"this node has more than {MOST_SAMPLES} samples. Write `local_model = true` in "
    "node.toml to train it all the same."
)
NOT_FINITE = "training on these samples alone gave numbers that are not finite."
TOO_FAR = "a sample cannot be predicted; the log names it."


@dataclass(frozen=True, slots=True)
class OwnSamples:
    """The samples of one node, and how it wants the model to be scored on them.

    Parameters
    ----------
    node : int
        The number of the node.
    training : Samples
        What it trained on.
    test : Samples, optional
        What it tests on; left out, it takes what members have left out in training.
    local_model : bool, optional
        Whether to train a model on its samples alone; by default if they are few.
    memory, n_threads : int
        Bytes and threads that this may use.
    """

    node: NodeId
    training: Samples
    test: Samples | None = None
    local_model: bool | None = None
    memory: int | None = None
    n_threads: int = 1

    def scored(self, network: Model, plan: Plan) -> OwnScores:
        """Return how good a network is, which was trained by this plan."""
        if self.test is None and not leaves_out(network):
            return OwnScores(samples="validation", missing={"model": NO_SAMPLES})
        local, why = self._local(plan)
        models = {"model": network} | ({} if local is None else {"local": local})
        found, missing = {}, {} if why is None else {"local": why}
        try:
            found = self._scores(models)
        except DataError as exc:
            log.warning("the model cannot be scored: %s", exc)
            missing["model"] = TOO_FAR
        return OwnScores(
            samples="validation" if self.test is None else "test",
            missing=missing,
            **found,
        )

    def _local(self, plan: Plan) -> tuple[Model | None, str | None]:
        """Return the model of these samples alone, or why there is none."""
        if self.local_model is False:
            return None, NOT_WANTED
        if self.local_model is None and self.training.n_samples > MOST_SAMPLES:
            return None, TOO_MANY
        if self.training.n_samples < (
            plan.members if isinstance(plan.members, int) else 1
        ):
            return None, TOO_FEW
        try:
            return self._trained_alone(plan), None
        except NumericalError:
            return None, NOT_FINITE

    def _trained_alone(self, plan: Plan) -> Model:
        """Return the model of this node's samples, with the settings of the plan."""
        log.info("training a model on this node's samples alone, for comparison")
        plan = plan.replace(
            folds="rows", publish_scores=False, consensus="auto", n_rounds=None
        )
        if not plan.finds_size:
            plan = plan.replace(solver="gram")
        alone, averaging = settle(plan, build_topology("complete", 1))
        program = train_node(
            self.training,
            alone,
            n_nodes=1,
            memory=self.memory,
            n_threads=self.n_threads,
        )
        with Workers(1, self.n_threads) as workers:
            return run_programs([program], averaging, workers)[0]

    def _scores(self, models: dict[str, Model]) -> dict[str, Scores]:
        """Score models and the baseline on the samples that the first can predict."""
        node = self.node if self.test is None else None
        measure = measure_for(models["model"])
        tallies = {name: Tally(measure) for name in (*models, "baseline")}
        constant = self._mean_target()[:, None]
        for rows in (self.test or self.training).chunks(CHUNK):
            known = np.ones(rows.X.shape[1], dtype=bool)
            for name, model in models.items():
                scores = scores_of(model, rows.X, node)
                # A model of this node alone may have left out fewer of them.
                known = known & np.isfinite(scores[0])
                _, T, weights = some_of(rows, known)
                tallies[name].add(predictions(model, scores[:, known]), T, weights)
                if name == "model":
                    same = np.repeat(constant, T.shape[1], axis=1)
                    tallies["baseline"].add(same, T, weights)
        return {name: tally.scores() for name, tally in tallies.items()}

    def _mean_target(self) -> Array:
        """Return the mean of this node's targets: of classes, the share of each."""
        total: Array = np.zeros(self.training.n_outputs)
        for _, T, weights in self.training.chunks(CHUNK):
            total += T.sum(axis=1) if weights is None else T @ weights
        return total / self.training.weight
