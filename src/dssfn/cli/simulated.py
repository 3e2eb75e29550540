"""The training that options describe, for commands that host all nodes themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from dssfn.cli.console import say_dialect
from dssfn.cli.graphs import read_topology
from dssfn.cli.options import DATA, NETWORK, TRAINING, option
from dssfn.cli.read_progress import reading_progress
from dssfn.cli.sample import schema_settings
from dssfn.datasets import (
    KNOWN_NAMES,
    PARTITIONS,
    ReadOptions,
    open_shards,
    open_tables,
)
from dssfn.datasets.files import check_formats
from dssfn.errors import PlanError
from dssfn.presets import paper_mu
from dssfn.registry import AVERAGING
from dssfn.runs import DataOptions, Run, divided, from_files, make_plan
from dssfn.schema import Schema
from dssfn.topology import Topology

Data = Annotated[
    str | None,
    option(f"A file, or the name of a data set: {', '.join(KNOWN_NAMES)}, ...", DATA),
]
Shards = Annotated[
    list[Path] | None,
    option(
        "One node's own file, read in chunks; repeat for each node.", DATA, "--shard"
    ),
]
SchemaFile = Annotated[
    Path | None,
    option("What the columns mean: a file written by `dssfn schema`.", DATA),
]
Partition = Annotated[
    str,
    option(f"How samples are divided among the nodes: {', '.join(PARTITIONS)}.", DATA),
]
Consensus = Annotated[
    str, option(f"How nodes compute averages: auto, {', '.join(AVERAGING)}.", NETWORK)
]
Tol = Annotated[float | None, option("Accuracy of each average.", NETWORK)]
Rounds = Annotated[
    int | None, option("Gossip rounds per average, instead of --tol.", NETWORK)
]
Iterations = Annotated[int, option("ADMM iterations per layer, K.", TRAINING)]
MuInput = Annotated[float | None, option("ADMM parameter mu of layer 0.", TRAINING)]
MuHidden = Annotated[
    float | None, option("ADMM parameter mu of the other layers.", TRAINING)
]
Relaxation = Annotated[float, option("Over-relaxation of ADMM; 1 for none.", TRAINING)]
Seed = Annotated[
    int,
    option("Random seed; it also decides the partition and the test split.", TRAINING),
]


@dataclass(frozen=True, slots=True)
class SimulatedData:
    """The data of all nodes: one set that is divided, or a file for every node.

    Parameters
    ----------
    data : str, optional
        A name or a file.
    shards : sequence of Path
        A file for every node, if there is no such set.
    schema : Path, optional
        What the columns of files mean.
    target, test, test_size, data_dir, read, partition
        As in `dssfn.runs.DataOptions`.
    """

    data: str | None
    shards: Sequence[Path]
    schema: Path | None
    target: str | None
    test: Path | None
    test_size: float
    data_dir: Path | None
    read: ReadOptions
    partition: str

    def graph(
        self, name: str, nodes: int | None, degree: int | None, seed: int
    ) -> Topology:
        """Return the graph of the nodes, after a look at the options."""
        if (self.data is None) == (not self.shards):
            raise PlanError("Give either `--data`, or `--shard` once for every node.")
        if self.shards and nodes not in (None, len(self.shards)):
            raise PlanError(
                f"`--nodes` must be {len(self.shards)}, one per `--shard`, or left out."
            )
        named = (one for one in (self.data, self.test) if one is not None)
        check_formats(self.read, [*self.shards, *named])
        n_nodes = len(self.shards) if self.shards else nodes
        return read_topology(name, n_nodes, degree, seed)

    def mu(
        self,
        preset: str,
        graph: Topology,
        mu_input: float | None,
        mu_hidden: float | None,
    ) -> tuple[float | None, float | None]:
        """Return the parameters of ADMM; left open, the paper's for its own sets."""
        if preset == "paper" and self.data:
            row = paper_mu(self.data, graph.n_nodes)
            if row:
                return mu_input or row[0], mu_hidden or row[1]
        return mu_input, mu_hidden

    def run(
        self,
        graph: Topology,
        settings: dict[str, Any],
        *,
        memory: int | None = None,
        quiet: bool = False,
    ) -> Run:
        """Read the data, and return the training on them."""
        known = None
        if self.schema is not None:
            known = schema_settings(self.schema, [], self.target, None, None)["schema"]
        if self.data is None:
            return self._from_files(graph, settings, known, memory, quiet=quiet)
        options = DataOptions(
            self.data, self.target, self.partition, self.test, self.test_size,
            self.data_dir, self.read,
        )  # fmt: skip
        with reading_progress(quiet=quiet):
            loaded = options.load(settings["seed"], known)
        say_dialect(loaded.name, loaded.dialect, quiet=quiet)
        plan = make_plan(loaded, **settings)
        return divided(loaded, plan, graph, self.partition, memory=memory)

    def _from_files(
        self,
        graph: Topology,
        settings: dict[str, Any],
        known: Schema | None,
        memory: int | None,
        *,
        quiet: bool,
    ) -> Run:
        more: dict[str, Any] = {"test": self.test, "memory": memory}
        with reading_progress(quiet=quiet):
            if known is None:
                files = open_shards(self.shards, self.target, options=self.read, **more)
            else:
                files = open_tables(self.shards, known, options=self.read, **more)
        for path, samples in zip(self.shards, files.shards, strict=True):
            say_dialect(path.name, samples.dialect, quiet=quiet)
        return from_files(files, graph, settings, memory=memory)
