"""The data of one rank's nodes: files of their own, or parts of a set that all know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dssfn._typing import NodeId
from dssfn.config import Plan
from dssfn.datasets import Dataset, FileSamples
from dssfn.errors import DataError, PlanError
from dssfn.federation import Federation
from dssfn.results import ONE_FILE_EACH
from dssfn.runs import DataOptions, Run, divided


def open_data(
    options: DataOptions,
    federation: Federation,
    hosts: Sequence[Sequence[NodeId]],
    rank: int,
    memory: int | None,
) -> Run:
    """Return what a rank's nodes train on; no file of another node is opened."""
    if "{" in options.source:
        return _own_files(options, federation, hosts, rank, memory)
    plan = federation.training
    data = options.load(plan.seed, plan.schema)
    _check_fit(data, plan)
    how = options.partition or "iid"
    run = divided(
        data, plan, federation.topology(), how, memory=memory, nodes=hosts[rank]
    )
    return replace(run, **_of_the_plan(federation))


def _own_files(
    options: DataOptions,
    federation: Federation,
    hosts: Sequence[Sequence[NodeId]],
    rank: int,
    memory: int | None,
) -> Run:
    if options.partition is not None:
        raise PlanError("`--partition` must be left out: every node has its own file.")
    plan = federation.training
    paths = node_files(options.source, federation.names, hosts)
    each = None if memory is None else memory // len(hosts[rank])

    def open_one(path: str | Path) -> FileSamples:
        return FileSamples.of_plan(
            path, options.target, plan, memory=each, options=options.read
        )

    test = open_one(options.test) if options.test and rank == 0 else None
    return Run(
        name=options.source,
        shards=[open_one(paths[node]) for node in hosts[rank]],
        test=test,
        plan=plan,
        topology=federation.topology(),
        partition=ONE_FILE_EACH,
        memory=memory,
        **_of_the_plan(federation),
    )


def _of_the_plan(federation: Federation) -> dict[str, Any]:
    return {
        "node_names": federation.names,
        "secure": federation.secure,
        "mask_degree": federation.n_partners,
    }


def node_files(
    pattern: str, names: Sequence[str], hosts: Sequence[Sequence[NodeId]]
) -> list[str]:
    """Return the file of every node.

    >>> node_files("{rank}/{node}.csv", ["a", "b", "c"], [[0], [1, 2]])
    ['0/a.csv', '1/b.csv', '1/c.csv']
    """
    files = []
    for rank, nodes in enumerate(hosts):
        for node in nodes:
            file = pattern.replace("{node}", names[node])
            file = file.replace("{number}", str(node)).replace("{rank}", str(rank))
            files.append(file)
    if "{" in files[0]:
        raise PlanError(
            "`--data` may contain only the placeholders {node}, {number} and {rank}, "
            f"got {pattern!r}."
        )
    if len(set(files)) < len(files):
        raise PlanError(
            "`--data` must give each node a file of its own, for example with {node}; "
            f"got {pattern!r}, which gives several nodes "
            f"`{max(files, key=files.count)}`."
        )
    return files


def column_names(run: Run) -> bytes:
    """Return the columns of a rank's files, all alike; none if the plan names them."""
    if run.plan.feature_names is not None:
        return b""
    found = {
        shard.feature_names for shard in run.shards if isinstance(shard, FileSamples)
    }
    if len(found) > 1:
        raise DataError(SAME_COLUMNS)
    return repr(found).encode()


SAME_COLUMNS = (
    "All files must have the same columns in the same order, unless the plan has "
    "`feature_names`. List the columns there."
)


def _check_fit(data: Dataset, plan: Plan) -> None:
    """Refuse a plan that was made for other data; say what it should be."""
    n_features = data.X_train.shape[1]
    if n_features != plan.n_features:
        raise PlanError(
            f"The plan's `n_features` must be that of `{data.name}`, {n_features}; got "
            f"{plan.n_features}. Write n_features = {n_features}."
        )
    if data.targets != plan.targets:
        raise PlanError(
            f"The plan's `targets` must be those of `{data.name}`, "
            f"{list(data.targets)}; got {list(plan.targets)}. Leave them out for "
            "classes."
        )
    labels = [] if data.targets else np.unique(data.y_train).tolist()
    if not set(labels) <= set(plan.classes):
        raise PlanError(
            f"The plan's `classes` must hold all labels of `{data.name}`, got "
            f"{list(plan.classes)}. Write classes = {labels}."
        )
    named = plan.feature_names
    if named is not None and data.feature_names not in (None, named):
        raise PlanError(
            f"The plan's `feature_names` must be those of `{data.name}`, "
            f"{', '.join(data.feature_names or ())}; got {', '.join(named)}."
        )
