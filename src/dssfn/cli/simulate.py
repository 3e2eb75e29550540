"""`dssfn simulate`: train over a graph in this process and account for the traffic."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from dssfn.cli.display import layer_progress, show_outcome
from dssfn.cli.outfolder import out_folder, write_outcome
from dssfn.cli.report import try_to_report
from dssfn.config import PRECISIONS, SCHEMES, SOLVERS, bytes_of
from dssfn.datasets import (
    KNOWN_NAMES,
    PARTITIONS,
    load,
    open_shards,
)
from dssfn.errors import PlanError, TopologyError
from dssfn.experiments.trial import (
    divided,
    from_files,
    make_plan,
    run_experiment,
)
from dssfn.presets import PRESETS, paper_mu, resolve
from dssfn.topology import (
    KINDS,
    Topology,
    build_topology,
    read_edge_list,
    read_matrix,
)

# Headings of the help text.
DATA, NETWORK, MODEL = "Data", "Network of nodes", "Model"
TRAINING, OUTPUT = "Training", "Output"

DEFAULT_NODES = 20


def _option(help: str, panel: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


def simulate(
    data: Annotated[
        str | None, _option(f"A file, or a name: {', '.join(KNOWN_NAMES)}, ...", DATA)
    ] = None,
    shard: Annotated[
        list[Path] | None,
        _option("A node's own file, read in chunks; once per node.", DATA),
    ] = None,
    target: Annotated[
        str | None, _option("The column of labels in a file.", DATA)
    ] = None,
    test: Annotated[
        Path | None, _option("A second file to test on.", DATA, "--test")
    ] = None,
    test_size: Annotated[
        float, _option("Share of samples to test on where none are set apart.", DATA)
    ] = 0.25,
    data_dir: Annotated[
        Path | None, _option("Folder of NAME.npz files (or DSSFN_DATA_DIR).", DATA)
    ] = None,
    partition: Annotated[
        str, _option(f"How samples are divided: {', '.join(PARTITIONS)}.", DATA)
    ] = "iid",
    nodes: Annotated[
        int | None, _option("How many nodes.", NETWORK, show_default=str(DEFAULT_NODES))
    ] = None,
    topology: Annotated[
        str,
        _option(f"{', '.join(KINDS)}, an edge-list file or a .npy matrix.", NETWORK),
    ] = "circular",
    degree: Annotated[
        int | None, _option("Neighbours on each side of a circular graph.", NETWORK)
    ] = None,
    consensus: Annotated[
        str, _option(f"How averages are found: {', '.join(SCHEMES)}.", NETWORK)
    ] = "auto",
    tol: Annotated[float | None, _option("Accuracy of every average.", NETWORK)] = None,
    rounds: Annotated[
        int | None, _option("Gossip rounds per average, instead of --tol.", NETWORK)
    ] = None,
    latency: Annotated[
        float, _option("Seconds per exchange, for auto.", NETWORK)
    ] = 0.02,
    bandwidth: Annotated[
        float, _option("Bits per second of a link, for auto.", NETWORK)
    ] = 1e9,
    preset: Annotated[
        str, _option(f"Settings to start from: {', '.join(PRESETS)}.", MODEL)
    ] = "default",
    layers: Annotated[int, _option("L, hidden layers.", MODEL)] = 20,
    width: Annotated[int, _option("Random units per layer.", MODEL)] = 1000,
    alpha: Annotated[
        float | None,
        _option("Radius of the output matrix, in units of sqrt(2Q).", MODEL),
    ] = None,
    gain: Annotated[
        float | None, _option("Norm of the random features.", MODEL)
    ] = None,
    standardize: Annotated[
        bool | None, _option("Scale inputs by the network's mean and spread.", MODEL)
    ] = None,
    bias: Annotated[
        float | None, _option("Value of a constant input; 0 for none.", MODEL)
    ] = None,
    precision: Annotated[
        str, _option(f"Of the features: {', '.join(PRECISIONS)}.", TRAINING)
    ] = "float64",
    solver: Annotated[
        str, _option(f"How a layer is solved: {', '.join(SOLVERS)}.", TRAINING)
    ] = "auto",
    iterations: Annotated[
        int, _option("K, ADMM iterations per layer.", TRAINING)
    ] = 100,
    mu_input: Annotated[
        float | None, _option("ADMM parameter of layer 0.", TRAINING)
    ] = None,
    mu_hidden: Annotated[
        float | None, _option("ADMM parameter of the others.", TRAINING)
    ] = None,
    warm_start: Annotated[
        bool, _option("Start ADMM at lossless flow.", TRAINING, "--warm-start")
    ] = False,
    relaxation: Annotated[
        float, _option("Over-relaxation of ADMM; 1 for none.", TRAINING)
    ] = 1.0,
    balance_mu: Annotated[
        bool, _option("Let ADMM balance its residuals.", TRAINING, "--balance-mu")
    ] = False,
    residual_tol: Annotated[
        float | None, _option("End ADMM at residuals below this.", TRAINING)
    ] = None,
    seed: Annotated[
        int, _option("Key of the random matrices, partition and split.", TRAINING)
    ] = 0,
    memory: Annotated[
        str | None,
        _option("Budget for all nodes, such as 2GB; the rest goes to disk.", TRAINING),
    ] = None,
    check_equivalence: Annotated[
        bool,
        _option("Train in one place too and compare.", OUTPUT, "--check-equivalence"),
    ] = False,
    out: Annotated[
        Path | None, _option("Folder for the model, figures and report.", OUTPUT)
    ] = None,
    json: Annotated[
        bool, _option("Print one JSON object, nothing else.", OUTPUT, "--json")
    ] = False,
    quiet: Annotated[bool, _option("No progress.", OUTPUT, "--quiet")] = False,
) -> None:
    """Train on a simulated network of nodes and report accuracy and traffic.

    With --preset paper the paper's mu for the data set is taken where it has one.
    """
    if (data is None) == (not shard):
        raise PlanError("Give either `--data`, or `--shard` once for every node.")
    n_nodes = len(shard) if shard else DEFAULT_NODES if nodes is None else nodes
    if nodes not in (None, n_nodes):
        raise PlanError(f"`--nodes` must be left out, or {n_nodes}: one per --shard.")
    graph = read_topology(topology, n_nodes, degree, seed)
    if preset == "paper" and data and (row := paper_mu(data, n_nodes)):
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
        loaded = load(
            data, target=target, data_dir=data_dir, test_size=test_size, seed=seed,
            test_file=test,
        )  # fmt: skip
        plan = make_plan(loaded, **settings)
        experiment = divided(loaded, plan, graph, partition, memory=budget)
    else:
        files = open_shards(shard or [], target, test=test)
        experiment = from_files(files, graph, settings, memory=budget)
    with out_folder(out), layer_progress(layers, quiet=quiet) as on_layer:
        outcome = run_experiment(
            experiment, check_equivalence=check_equivalence, on_layer=on_layer
        )
        if out is not None:
            write_outcome(outcome, out)
    show_outcome(outcome, out, as_json=json)
    if out is not None:
        try_to_report(outcome.figures, out, quiet=json)


def read_topology(name: str, nodes: int, degree: int | None, seed: int) -> Topology:
    """A graph by its kind, from an edge-list file, or from a matrix in a .npy file."""
    is_file = os.sep in name or "." in name or Path(name).is_file()
    if name in KINDS or not is_file:
        return build_topology(name, nodes, degree=degree, seed=seed)
    if degree is not None:
        raise TopologyError(f"`degree` must be left out: `{name}` has all the edges.")
    read = read_matrix if name.endswith(".npy") else read_edge_list
    return read(name, nodes)
