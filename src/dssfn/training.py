"""The training of one node: the program of the network that the plan asks for.

A program yields messages (see `dssfn.programs`), and whoever drives it sees those only;
samples and labels stay in here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from dssfn import ensemble, fixed_size, privacy
from dssfn._typing import NodeId
from dssfn.config import Plan
from dssfn.ensemble import AgreedScores, Ensemble
from dssfn.errors import DataError, PlanError, TopologyError
from dssfn.network import Network
from dssfn.privacy import NoiseSource
from dssfn.programs import MembersOf, Program
from dssfn.progress import Progress
from dssfn.records import LayerRecord
from dssfn.shard import Samples
from dssfn.topology import Topology

Model: TypeAlias = Network | Ensemble


def train_node(
    samples: Samples,
    plan: Plan,
    *,
    n_nodes: int,
    node: NodeId = 0,
    memory: int | None = None,
    n_threads: int = 1,
    noise: NoiseSource | None = None,
    members_of: MembersOf | None = None,
    start: Progress | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_layer: Callable[[LayerRecord], None] | None = None,
) -> Program[Model]:
    """Return the program that grows a network layer by layer on one node's samples.

    Parameters
    ----------
    samples : Samples
        This node's data, which never leave this program.
    plan : Plan
        What all nodes agreed on.
    n_nodes : int
        The number of nodes M, to turn means into sums.
    node : int
        The number of this node.
    memory : int, optional
        Memory limit of this node in bytes; see `dssfn.features.Features`.
    n_threads : int
        Threads for this node's samples.
    noise : NoiseSource, optional
        The noise of a training with differential privacy, and a record of what the
        budget was spent on. Default: a new one.
    members_of : callable, optional
        If nodes may come and go: returns the nodes that take part in an averaging,
        given its number.
    start : Progress, optional
        The progress to resume from; all other nodes resume from the same layer.
    on_progress : callable, optional
        Called with the progress after every solved layer.
    on_layer : callable, optional
        Called with the record of a layer, once the next one is solved.

    Returns
    -------
    generator
        It yields what must be averaged over all nodes, expects the average by `send`,
        and returns the trained network. `dssfn.simulate` drives the programs of all
        nodes in one process.

    Examples
    --------
    >>> import numpy as np
    >>> from dssfn import Plan, Shard
    >>> shard = Shard(np.arange(12.0).reshape(2, 6), np.eye(2)[:, [0, 1] * 3])
    >>> sizes = {"n_layers": 1, "width": 5, "solver": "gram", "units": "dense"}
    >>> plan = Plan(n_features=2, classes=("a", "b"), **sizes)
    >>> program = train_node(shard, plan, n_nodes=1)
    >>> next(program).size  # the first message: a sum for each feature, and a count
    3
    """
    check_samples(samples, plan)
    if plan.is_private:
        return privacy.train_private(
            samples,
            plan,
            n_nodes=n_nodes,
            node=node,
            noise=noise,
            n_threads=n_threads,
            start=start,
            on_progress=on_progress,
            on_layer=on_layer,
        )
    if plan.finds_size:
        return ensemble.grow_ensemble(
            samples,
            plan,
            n_nodes=n_nodes,
            node=node,
            memory=memory,
            n_threads=n_threads,
            members_of=members_of,
            start=start,
            on_progress=on_progress,
            on_layer=on_layer,
        )
    return fixed_size.train_fixed(
        samples,
        plan,
        n_nodes=n_nodes,
        memory=memory,
        n_threads=n_threads,
        is_elastic=members_of is not None,
        start=start,
        on_progress=on_progress,
        on_layer=on_layer,
    )


def model_of(plan: Plan, progress: Progress) -> Model:
    """Return the model of a finished training."""
    if plan.finds_size:
        return ensemble.ensemble_of(plan, progress)
    if plan.is_private:
        return privacy.network_of(plan, progress)
    return fixed_size.network_of(plan, progress)


def scores_of(plan: Plan, progress: Progress) -> AgreedScores | None:
    """Return what a finished training has agreed on about validation samples.

    A network of fixed size has none, so that nothing is known.
    """
    return ensemble.scores_of(plan, progress) if plan.finds_size else None


def is_complete(plan: Plan, progress: Progress | None) -> bool:
    """Return whether nothing is left to be trained."""
    if plan.is_private:
        return privacy.is_complete(progress)
    if plan.finds_size:
        return ensemble.is_complete(progress)
    return fixed_size.is_complete(plan, progress)


def check_stages(plan: Plan, progress: Progress) -> None:
    """Refuse stages that no training with this plan has, with a ValueError."""
    if plan.is_private:
        privacy.check_stages(plan, progress)
    elif plan.finds_size:
        ensemble.check_stages(plan, progress)
    else:
        fixed_size.check_stages(plan, progress)


def check_network(shards: Sequence[Samples], plan: Plan, topology: Topology) -> None:
    """Refuse what is not a shard for each node of a graph, and a plan."""
    if not isinstance(topology, Topology):
        raise TopologyError(
            f"`topology` must be a Topology, got {type(topology).__name__}. "
            "`dssfn.build_topology` makes one."
        )
    if not isinstance(plan, Plan):
        raise PlanError(
            f"`plan` must be a Plan, got {type(plan).__name__}. `dssfn.Plan` makes one."
        )
    if not isinstance(shards, Sequence):
        raise DataError(
            "`shards` must be a list with one Shard for each node, got "
            f"{type(shards).__name__}."
        )
    for one in shards:
        if not hasattr(one, "chunks"):
            raise DataError(
                f"`shards` must hold Shard objects, got {type(one).__name__}. "
                "`dssfn.Shard` makes one of `X` and `T`."
            )
    if len(shards) != topology.n_nodes:
        raise DataError(
            f"`shards` must hold one shard for each of the {topology.n_nodes} nodes, "
            f"got {len(shards)}."
        )


def check_samples(samples: Samples, plan: Plan) -> None:
    """Refuse samples that are not those of the plan."""
    came = samples.n_features, samples.n_outputs
    if came != (plan.n_features, plan.n_outputs):
        raise DataError(
            f"A shard must have {plan.n_features} features and {plan.n_outputs} target "
            f"rows as the plan says, got {came[0]} and {came[1]}."
        )
    if samples.has_gaps and not plan.has_gaps:
        raise DataError(
            "A shard must not have missing values, unless the plan has a schema that "
            "allows them; got one that has."
        )
