"""`dssfn simulate`: train over a graph in this process and account for the traffic."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from dssfn.cli.console import say_dialect
from dssfn.cli.graphs import Degree, GraphName, Nodes, read_topology
from dssfn.cli.options import (
    DATA,
    NETWORK,
    OUTPUT,
    TRAINING,
    Alpha,
    Bias,
    ClassWeight,
    DataDir,
    Folds,
    Gain,
    ImageShape,
    JsonOutput,
    Layers,
    Members,
    Out,
    Preset,
    Quiet,
    Ridge,
    Scale,
    Size,
    Solver,
    Standardize,
    Target,
    TestFile,
    TestSize,
    Units,
    Width,
    option,
    training_settings,
)
from dssfn.cli.presentation import Presentation
from dssfn.cli.read_progress import reading_progress
from dssfn.cli.reading import reads_files
from dssfn.cli.sample import schema_settings
from dssfn.config import PRECISIONS, bytes_of
from dssfn.datasets import (
    KNOWN_NAMES,
    PARTITIONS,
    ReadOptions,
    open_shards,
    open_tables,
)
from dssfn.datasets.files import check_formats
from dssfn.datasets.read_options import ALL
from dssfn.errors import PlanError
from dssfn.presets import paper_mu
from dssfn.registry import AVERAGING
from dssfn.runs import DataOptions, divided, execute, from_files, make_plan


@reads_files
def simulate(
    data: Annotated[
        str | None, option(f"A file, or a name: {', '.join(KNOWN_NAMES)}, ...", DATA)
    ] = None,
    shard: Annotated[
        list[Path] | None,
        option("A node's own file, read in chunks; once per node.", DATA),
    ] = None,
    schema: Annotated[
        Path | None,
        option("What columns of files mean, as `dssfn schema` writes it.", DATA),
    ] = None,
    target: Target = None,
    test: TestFile = None,
    test_size: TestSize = 0.25,
    data_dir: DataDir = None,
    read: ReadOptions = ALL,
    partition: Annotated[
        str, option(f"How samples are divided: {', '.join(PARTITIONS)}.", DATA)
    ] = "iid",
    nodes: Nodes = None,
    topology: GraphName = "circular",
    degree: Degree = None,
    consensus: Annotated[
        str, option(f"How averages are found: auto, {', '.join(AVERAGING)}.", NETWORK)
    ] = "auto",
    tol: Annotated[float | None, option("Accuracy of every average.", NETWORK)] = None,
    rounds: Annotated[
        int | None, option("Gossip rounds per average, instead of --tol.", NETWORK)
    ] = None,
    latency: Annotated[
        float, option("Seconds per exchange, for auto.", NETWORK)
    ] = 0.02,
    bandwidth: Annotated[
        float, option("Bits per second of a link, for auto.", NETWORK)
    ] = 1e9,
    preset: Preset = "default",
    layers: Layers = None,
    width: Width = None,
    members: Members = None,
    ridge: Ridge = "auto",
    scale: Scale = "auto",
    folds: Folds = "rows",
    size: Size = "auto",
    class_weight: ClassWeight = None,
    alpha: Alpha = None,
    gain: Gain = None,
    standardize: Standardize = None,
    bias: Bias = None,
    units: Units = "auto",
    image_shape: ImageShape = None,
    precision: Annotated[
        str, option(f"Of the features: {', '.join(PRECISIONS)}.", TRAINING)
    ] = "float64",
    solver: Solver = "auto",
    iterations: Annotated[int, option("K, ADMM iterations per layer.", TRAINING)] = 100,
    mu_input: Annotated[
        float | None, option("ADMM parameter of layer 0.", TRAINING)
    ] = None,
    mu_hidden: Annotated[
        float | None, option("ADMM parameter of the others.", TRAINING)
    ] = None,
    warm_start: Annotated[
        bool,
        option(
            "Start ADMM of a layer at the output of the one before.",
            TRAINING,
            "--warm-start",
        ),
    ] = False,
    relaxation: Annotated[
        float, option("Over-relaxation of ADMM; 1 for none.", TRAINING)
    ] = 1.0,
    balance_mu: Annotated[
        bool, option("Let ADMM balance its residuals.", TRAINING, "--balance-mu")
    ] = False,
    residual_tol: Annotated[
        float | None, option("End ADMM at residuals below this.", TRAINING)
    ] = None,
    seed: Annotated[
        int, option("Random seed, also of the partition and the split.", TRAINING)
    ] = 0,
    memory: Annotated[
        str | None,
        option("Budget for all nodes, such as 2GB; the rest goes to disk.", TRAINING),
    ] = None,
    secure: Annotated[
        bool,
        option(
            "Mask the messages of every node, as real networks do.",
            NETWORK,
            "--secure",
        ),
    ] = False,
    check_equivalence: Annotated[
        bool,
        option(
            "Train a centralised model too and compare.", OUTPUT, "--check-equivalence"
        ),
    ] = False,
    out: Out = None,
    json: JsonOutput = False,
    quiet: Quiet = False,
) -> None:
    """Train on a simulated network of nodes and report accuracy and traffic.

    With --preset paper the paper's mu for the data set is taken where it has one.
    """
    if (data is None) == (not shard):
        raise PlanError("Give either `--data`, or `--shard` once for every node.")
    if shard and nodes not in (None, len(shard)):
        raise PlanError(
            f"`--nodes` must be left out, or {len(shard)}: one per --shard."
        )
    sources = [*(shard or []), *(one for one in (data, test) if one is not None)]
    check_formats(read, sources)
    graph = read_topology(topology, len(shard) if shard else nodes, degree, seed)
    if preset == "paper" and data and (row := paper_mu(data, graph.n_nodes)):
        mu_input, mu_hidden = mu_input or row[0], mu_hidden or row[1]
    settings = training_settings(
        preset, layers=layers, width=width, members=members, ridge=ridge, scale=scale,
        folds=folds, size=size, class_weight=class_weight, alpha=alpha, gain=gain,
        standardize=standardize, bias=bias, units=units, image_shape=image_shape,
        precision=precision, solver=solver,
        n_iter=iterations, mu_input=mu_input, mu_hidden=mu_hidden,
        warm_start=warm_start, relaxation=relaxation, balance_mu=balance_mu,
        residual_tol=residual_tol, consensus=consensus, tol=tol, n_rounds=rounds,
        latency=latency, bandwidth=bandwidth, seed=seed,
    )  # fmt: skip
    budget = None if memory is None else bytes_of(memory)
    known = None
    if schema is not None:
        known = schema_settings(schema, [], target, None, None)["schema"]
    if data is not None:
        options = DataOptions(data, target, partition, test, test_size, data_dir, read)
        with reading_progress(quiet=quiet):
            loaded = options.load(seed, known)
        say_dialect(loaded.name, loaded.dialect, quiet=quiet)
        plan = make_plan(loaded, **settings)
        run = divided(loaded, plan, graph, partition, memory=budget)
    else:
        more: dict[str, Any] = {"test": test, "memory": budget, "options": read}
        with reading_progress(quiet=quiet):
            if known is None:
                files = open_shards(shard or [], target, **more)
            else:
                files = open_tables(shard or [], known, **more)
        for path, samples in zip(shard or [], files.shards, strict=True):
            say_dialect(path.name, samples.dialect, quiet=quiet)
        run = from_files(files, graph, settings, memory=budget)
    run = replace(run, secure=secure)
    output = Presentation(out, as_json=json, quiet=quiet)
    with output.folder(), output.progress(run.plan) as on_layer:
        outcome = execute(run, check_equivalence=check_equivalence, on_layer=on_layer)
        output.write(outcome)
    output.show(outcome)
