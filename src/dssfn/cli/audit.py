"""`dssfn audit`: play the attacker, and tell how far that gets."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import msgspec

from dssfn._atomic import write_atomically
from dssfn.audit import (
    Audit,
    RecordedRun,
    Scaling,
    Wanted,
    audit_recorded,
    audit_simulated,
    node_called,
    read_recording,
)
from dssfn.cli.attacks import show_report
from dssfn.cli.console import notes
from dssfn.cli.graphs import Degree, GraphName, Nodes
from dssfn.cli.listed import words
from dssfn.cli.options import (
    OUTPUT,
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
    Preset,
    Quiet,
    Scale,
    Size,
    Solver,
    Standardize,
    Target,
    TestSize,
    Units,
    Width,
    option,
    training_settings,
)
from dssfn.cli.outcome import print_json, show_lines
from dssfn.cli.outfolder import out_folder
from dssfn.cli.reading import check_has_file, reads_files
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
from dssfn.datasets import FileSamples, ReadOptions
from dssfn.datasets.read_options import ALL
from dssfn.errors import InputError, PlanError
from dssfn.federation import load_federation
from dssfn.json_text import to_json
from dssfn.modelfile import load_network

ATTACK, RECORDING = "Attack", "Recorded run (instead of a simulated one)"
AUDIT_FILE, PICTURE_FILE = "audit.json", "audit.png"
OF_RECORDING = {"plan", "own", "victim_data", "model"}
OF_ANY = {"recorded", "victim", "target", "out", "json", "quiet"}


@reads_files
def audit(
    victim: Annotated[
        str | None,
        option(
            "The node that is attacked.",
            ATTACK,
            show_default="the node that reveals most",
        ),
    ] = None,
    attackers: Annotated[
        str | None,
        option("Nodes that collude, such as 0,3.", ATTACK),
    ] = None,
    together: Annotated[
        int | None,
        option("How many nodes collude; those that learn most are chosen.", ATTACK),
    ] = None,
    recorded: Annotated[
        list[Path] | None,
        option(
            "Folder written by `dssfn node run --record`; repeat for each attacker.",
            RECORDING,
        ),
    ] = None,
    plan: Annotated[
        Path | None, option("The plan that the recorded nodes ran.", RECORDING)
    ] = None,
    own: Annotated[
        list[Path] | None,
        option("An attacker's own data; repeat in the order of --recorded.", RECORDING),
    ] = None,
    victim_data: Annotated[
        Path | None, option("The victim's data, to compare the result with.", RECORDING)
    ] = None,
    model: Annotated[
        Path | None,
        option(
            "The model that this run produced; it holds the input scaling.", RECORDING
        ),
    ] = None,
    data: Data = None,
    shard: Shards = None,
    schema: SchemaFile = None,
    target: Target = None,
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
    preset: Preset = "default",
    layers: Layers = None,
    width: Width = None,
    members: Members = None,
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
    solver: Solver = "auto",
    iterations: Iterations = 100,
    mu_input: MuInput = None,
    mu_hidden: MuHidden = None,
    relaxation: Relaxation = 1.0,
    seed: Seed = 0,
    out: Annotated[
        Path | None, option(f"Folder for {AUDIT_FILE} and {PICTURE_FILE}.", OUTPUT)
    ] = None,
    json: JsonOutput = False,
    quiet: Quiet = False,
) -> None:
    """Play the attacker: what can other nodes learn from a node's messages?

    The attackers are nodes that follow the protocol but are curious about what they
    receive: a neighbour, the hub of a star, the root of the tree, or several that
    collude. They try to recover Y Y^T and T Y^T of the input layer, which reveal the
    mean of each class and sometimes single rows.

    Errors are relative to the true values: 0 means that everything was recovered, 1
    that nothing was.
    """
    _check_kind(_said(locals()))
    with out_folder(out):
        if recorded:
            found = _recorded(
                recorded, plan, own or [], victim_data, model, target, read, victim
            )
        else:
            given = SimulatedData(
                data, shard or [], schema, target, None, test_size, data_dir, read,
                partition,
            )  # fmt: skip
            graph = given.graph(topology, nodes, degree, seed)
            names = [str(node) for node in range(graph.n_nodes)]
            wanted = _wanted(victim, attackers, together, names)
            wanted.check(graph, names)
            mu_input, mu_hidden = given.mu(preset, graph, mu_input, mu_hidden)
            settings = training_settings(
                preset, layers=layers, width=width, members=members, ridge="auto",
                scale=scale, folds=folds, size=size, class_weight=class_weight,
                alpha=alpha, gain=gain, standardize=standardize, bias=bias, units=units,
                image_shape=image_shape, solver=solver, n_iter=iterations,
                mu_input=mu_input, mu_hidden=mu_hidden, relaxation=relaxation,
                consensus=consensus, tol=tol, n_rounds=rounds, seed=seed,
            )  # fmt: skip
            found = audit_simulated(given.run(graph, settings, quiet=quiet), wanted)
        written = [] if out is None else _write(found, out)
    if json:
        print_json(msgspec.to_builtins(found.report))
        return
    show_report(found.report)
    for path, what in written:
        show_lines(f"\n{what} in {path}")


def _said(values: dict[str, Any]) -> set[str]:
    """Return the options that were given, but for those about files."""
    options = inspect.signature(audit).parameters
    return {
        name
        for name, value in values.items()
        if name in options and value != options[name].default
    }


def _check_kind(said: set[str]) -> None:
    """Refuse options of a simulated run for a recorded one, and the other way round."""
    if "recorded" not in said:
        if unknown := said & OF_RECORDING:
            raise PlanError(f"`{min(unknown)}` must come with `--recorded`.")
    elif unknown := said - OF_ANY - OF_RECORDING:
        raise PlanError(
            f"`{min(unknown)}` must be left out with `--recorded`: the attackers are "
            "the nodes that recorded, and everything else comes from the plan."
        )


def _wanted(
    victim: str | None, attackers: str | None, together: int | None, names: list[str]
) -> Wanted:
    if attackers is not None and together is not None:
        raise PlanError(
            "Give either `--attackers` (which nodes) or `--together` (how many), not "
            "both."
        )
    return Wanted(
        victim=None if victim is None else node_called("victim", victim, names),
        members=None
        if attackers is None
        else frozenset(
            node_called("attackers", one, names)
            for one in words("--attackers", attackers)
        ),
        n_members=together,
    )


def _recorded(
    folders: list[Path],
    plan: Path | None,
    own: list[Path],
    victim_data: Path | None,
    model: Path | None,
    target: str | None,
    read: ReadOptions,
    victim: str | None,
) -> Audit:
    """Audit what real nodes have recorded."""
    if plan is None:
        raise PlanError(
            "`--recorded` must come with `--plan`, the plan that the nodes ran."
        )
    if own and len(own) != len(folders):
        raise PlanError(
            f"`--own` must be given once for each of the {len(folders)} recordings, "
            f"in the same order, got {len(own)}."
        )
    if victim_data is not None and victim is None:
        raise PlanError(
            "`--victim-data` must come with `--victim`, the node whose data they are."
        )
    files = [*own, *([] if victim_data is None else [victim_data])]
    check_has_file(read, files, "`--own` or `--victim-data`")
    federation = load_federation(plan)
    if federation.is_elastic:
        raise PlanError(
            "`--recorded` must be a run of a plan without a `quorum`: with one, nodes "
            "come and go, and the messages do not say which nodes took part. Record a "
            "rehearsal without a quorum."
        )
    node = None if victim is None else node_called("victim", victim, federation.names)

    def samples(path: Path) -> FileSamples:
        return FileSamples.of_plan(path, target, federation.training, options=read)

    return audit_recorded(
        RecordedRun(
            federation=federation,
            recordings=[
                read_recording(folder, federation.topology()) for folder in folders
            ],
            own=[samples(path) for path in own],
            victim=None if victim_data is None else samples(victim_data),
            scaling=None if model is None else Scaling.of_model(load_network(model)),
        ),
        node,
    )


def _write(found: Audit, out: Path) -> list[tuple[Path, str]]:
    """Write the figures, and the pictures if there are any; return what is where."""
    text = to_json(msgspec.to_builtins(found.report))
    write_atomically(out / AUDIT_FILE, text.encode())
    written = [(out / AUDIT_FILE, "All metrics are")]
    (out / PICTURE_FILE).unlink(missing_ok=True)  # it is about another audit
    if not found.pictures:
        return written
    try:
        from dssfn.report.audit import Strip, draw_strips
    except InputError as exc:
        notes.print(f"No images were drawn: {exc}", soft_wrap=True)
        return written
    strips = [Strip(label, pictures) for label, pictures in found.pictures]
    write_atomically(out / PICTURE_FILE, draw_strips(strips, found.classes).png)
    return [
        *written,
        (out / PICTURE_FILE, "Images of what the attackers recovered are"),
    ]
