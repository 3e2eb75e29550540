"""`dssfn simulate`: train over a graph in this process and account for the traffic."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from dssfn.cli.bad_network import PERFECT_NETWORK, BadNetwork, over_bad_links
from dssfn.cli.graphs import Degree, GraphName, Nodes
from dssfn.cli.options import (
    NETWORK,
    OUTPUT,
    TRAINING,
    Alpha,
    Bias,
    ClassWeight,
    Colluders,
    DataDir,
    Delta,
    Epsilon,
    Folds,
    Gain,
    ImageShape,
    InputHigh,
    InputLow,
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
from dssfn.cli.reading import reads_files
from dssfn.cli.simulated import (
    Consensus,
    Data,
    Iterations,
    MuHidden,
    MuInput,
    Partition,
    Relaxation,
    Rounds,
    SchemaFile,
    Seed,
    Shards,
    SimulatedData,
    Tol,
)
from dssfn.config import PRECISIONS, bytes_of
from dssfn.datasets import ReadOptions
from dssfn.datasets.read_options import ALL
from dssfn.runs import execute


@over_bad_links
@reads_files
def simulate(
    data: Data = None,
    shard: Shards = None,
    schema: SchemaFile = None,
    target: Target = None,
    test: TestFile = None,
    test_size: TestSize = 0.25,
    data_dir: DataDir = None,
    read: ReadOptions = ALL,
    partition: Partition = "iid",
    nodes: Nodes = None,
    topology: GraphName = "circular",
    degree: Degree = None,
    consensus: Consensus = "auto",
    tol: Tol = None,
    rounds: Rounds = None,
    latency: Annotated[
        float, option("Seconds per exchange; helps `auto` to choose a scheme.", NETWORK)
    ] = 0.02,
    bandwidth: Annotated[
        float,
        option("Bits per second of a link; helps `auto` to choose a scheme.", NETWORK),
    ] = 1e9,
    network: BadNetwork = PERFECT_NETWORK,
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
    epsilon: Epsilon = None,
    delta: Delta = 1e-5,
    colluders: Colluders = 1,
    input_low: InputLow = None,
    input_high: InputHigh = None,
    precision: Annotated[
        str,
        option(f"Precision of the hidden units: {', '.join(PRECISIONS)}.", TRAINING),
    ] = "float64",
    solver: Solver = "auto",
    iterations: Iterations = 100,
    mu_input: MuInput = None,
    mu_hidden: MuHidden = None,
    warm_start: Annotated[
        bool,
        option(
            "Start ADMM of each layer from the previous layer's solution.",
            TRAINING,
            "--warm-start",
        ),
    ] = False,
    relaxation: Relaxation = 1.0,
    balance_mu: Annotated[
        bool, option("Let ADMM balance its residuals.", TRAINING, "--balance-mu")
    ] = False,
    residual_tol: Annotated[
        float | None, option("Stop ADMM once its residuals are below this.", TRAINING)
    ] = None,
    seed: Seed = 0,
    memory: Annotated[
        str | None,
        option(
            "Memory limit for all nodes, such as 2GB; the rest goes to disk.", TRAINING
        ),
    ] = None,
    secure: Annotated[
        bool,
        option(
            "Mask the nodes' messages, as real networks do.",
            NETWORK,
            "--secure",
        ),
    ] = False,
    check_equivalence: Annotated[
        bool,
        option(
            "Also train one centralised model, and compare.",
            OUTPUT,
            "--check-equivalence",
        ),
    ] = False,
    out: Out = None,
    json: JsonOutput = False,
    quiet: Quiet = False,
) -> None:
    """Train on a simulated network of nodes and report accuracy and traffic.

    With --preset paper, mu is the paper's value for the data set, if it has one. Any of
    the options for imperfect links and nodes also simulates time: dssfn simulate --data
    digits --loss 0.3 --delay lognormal:20ms --timeline time.png.
    """
    given = SimulatedData(
        data, shard or [], schema, target, test, test_size, data_dir, read, partition
    )
    graph = given.graph(topology, nodes, degree, seed)
    conditions = network.conditions(graph.n_nodes, seed)
    mu_input, mu_hidden = given.mu(preset, graph, mu_input, mu_hidden)
    settings = training_settings(
        preset, layers=layers, width=width, members=members, ridge=ridge, scale=scale,
        folds=folds, size=size, class_weight=class_weight, alpha=alpha, gain=gain,
        standardize=standardize, bias=bias, units=units, image_shape=image_shape,
        epsilon=epsilon, delta=delta, colluders=colluders, input_low=input_low,
        input_high=input_high,
        precision=precision, solver=solver,
        n_iter=iterations, mu_input=mu_input, mu_hidden=mu_hidden,
        warm_start=warm_start, relaxation=relaxation, balance_mu=balance_mu,
        residual_tol=residual_tol, consensus=consensus, tol=tol, n_rounds=rounds,
        latency=latency, bandwidth=bandwidth, seed=seed,
    )  # fmt: skip
    budget = None if memory is None else bytes_of(memory)
    run = given.run(graph, settings, memory=budget, quiet=quiet)
    run = replace(run, secure=secure, conditions=conditions, scheme=network.scheme)
    output = Presentation(out, as_json=json, quiet=quiet)
    with (
        output.folder(),
        output.progress(run.plan) as on_layer,
        network.recorded() as trace,
    ):
        outcome = execute(
            run, check_equivalence=check_equivalence, on_layer=on_layer, trace=trace
        )
        output.write(outcome)
    output.show(outcome)
