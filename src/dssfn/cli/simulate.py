"""`dssfn simulate`: train over a graph in this process and account for the traffic."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from dssfn.cli.options import (
    DATA,
    NETWORK,
    OUTPUT,
    TRAINING,
    Alpha,
    Bias,
    Degree,
    Gain,
    JsonOutput,
    Layers,
    Preset,
    Solver,
    Standardize,
    Width,
    option,
)
from dssfn.cli.presentation import Presentation
from dssfn.config import PRECISIONS, SCHEMES, bytes_of
from dssfn.datasets import (
    KNOWN_NAMES,
    PARTITIONS,
    open_shards,
)
from dssfn.errors import PlanError, TopologyError
from dssfn.hints import no_file
from dssfn.presets import paper_mu, resolve
from dssfn.runs import (
    DataOptions,
    divided,
    from_files,
    make_plan,
    run_experiment,
)
from dssfn.topology import (
    KINDS,
    Topology,
    build_topology,
    read_edge_list,
    read_matrix,
)

DEFAULT_NODES = 20
NODES_LEFT_OUT = f"{DEFAULT_NODES}, or as a graph's file has"


def simulate(
    data: Annotated[
        str | None, option(f"A file, or a name: {', '.join(KNOWN_NAMES)}, ...", DATA)
    ] = None,
    shard: Annotated[
        list[Path] | None,
        option("A node's own file, read in chunks; once per node.", DATA),
    ] = None,
    target: Annotated[
        str | None, option("The column of labels in a file.", DATA)
    ] = None,
    test: Annotated[
        Path | None, option("A second file to test on.", DATA, "--test")
    ] = None,
    test_size: Annotated[
        float, option("Share of samples to test on where none are set apart.", DATA)
    ] = 0.25,
    data_dir: Annotated[
        Path | None, option("Folder of NAME.npz files (or DSSFN_DATA_DIR).", DATA)
    ] = None,
    partition: Annotated[
        str, option(f"How samples are divided: {', '.join(PARTITIONS)}.", DATA)
    ] = "iid",
    nodes: Annotated[
        int | None, option("How many nodes.", NETWORK, show_default=NODES_LEFT_OUT)
    ] = None,
    topology: Annotated[
        str,
        option(f"{', '.join(KINDS)}, an edge-list file or a .npy matrix.", NETWORK),
    ] = "circular",
    degree: Degree = None,
    consensus: Annotated[
        str, option(f"How averages are found: {', '.join(SCHEMES)}.", NETWORK)
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
    layers: Layers = 20,
    width: Width = 1000,
    alpha: Alpha = None,
    gain: Gain = None,
    standardize: Standardize = None,
    bias: Bias = None,
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
        bool, option("Start ADMM at lossless flow.", TRAINING, "--warm-start")
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
        int, option("Key of the random matrices, partition and split.", TRAINING)
    ] = 0,
    memory: Annotated[
        str | None,
        option("Budget for all nodes, such as 2GB; the rest goes to disk.", TRAINING),
    ] = None,
    check_equivalence: Annotated[
        bool,
        option("Train in one place too and compare.", OUTPUT, "--check-equivalence"),
    ] = False,
    out: Annotated[
        Path | None, option("Folder for the model, figures and report.", OUTPUT)
    ] = None,
    json: JsonOutput = False,
    quiet: Annotated[bool, option("No progress.", OUTPUT, "--quiet")] = False,
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
    graph = read_topology(topology, len(shard) if shard else nodes, degree, seed)
    if preset == "paper" and data and (row := paper_mu(data, graph.n_nodes)):
        mu_input, mu_hidden = mu_input or row[0], mu_hidden or row[1]
    given = {
        "alpha": alpha, "gain": gain, "standardize": standardize, "bias": bias,
        "solver": solver, "tol": tol, "consensus": consensus, "n_rounds": rounds,
    }  # fmt: skip
    settings = {
        "n_layers": layers, "width": width, "n_iter": iterations,
        "mu_input": mu_input, "mu_hidden": mu_hidden, "warm_start": warm_start,
        "relaxation": relaxation, "balance_mu": balance_mu,
        "residual_tol": residual_tol, "latency": latency, "bandwidth": bandwidth,
        "precision": precision, "seed": seed, **resolve(preset, given),
    }  # fmt: skip
    budget = None if memory is None else bytes_of(memory)
    if data is not None:
        options = DataOptions(data, target, partition, test, test_size, data_dir)
        loaded = options.load(seed)
        plan = make_plan(loaded, **settings)
        experiment = divided(loaded, plan, graph, partition, memory=budget)
    else:
        files = open_shards(shard or [], target, test=test)
        experiment = from_files(files, graph, settings, memory=budget)
    output = Presentation(out, as_json=json, quiet=quiet)
    with output.folder(), output.progress(layers) as on_layer:
        outcome = run_experiment(
            experiment, check_equivalence=check_equivalence, on_layer=on_layer
        )
        output.write(outcome)
    output.show(outcome)


def read_topology(
    name: str, nodes: int | None, degree: int | None, seed: int
) -> Topology:
    """A graph by its kind, from an edge-list file, or from a matrix in a .npy file.

    If `nodes` is left out, a file decides how many there are.
    """
    is_file = os.sep in name or "." in name or Path(name).is_file()
    if name in KINDS or not is_file:
        n_nodes = DEFAULT_NODES if nodes is None else nodes
        return build_topology(name, n_nodes, degree=degree, seed=seed)
    if degree is not None:
        raise TopologyError(f"`degree` must be left out: `{name}` has all the edges.")
    if not Path(name).is_file():
        raise TopologyError(no_file(Path(name)))
    read = read_matrix if name.endswith(".npy") else read_edge_list
    return read(name, nodes)
