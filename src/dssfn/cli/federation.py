"""`dssfn federation`: set up a network of organisations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dssfn.cli.graphs import Degree
from dssfn.cli.listed import addresses, edges, words
from dssfn.cli.options import (
    CERTIFICATES,
    DATA,
    NETWORK,
    TRAINING,
    Alpha,
    Bias,
    ClassWeight,
    Colluders,
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
    Preset,
    Ridge,
    Scale,
    Size,
    Solver,
    Standardize,
    Units,
    Width,
    option,
    training_settings,
)
from dssfn.cli.outcome import print_json, show_lines
from dssfn.cli.reading import check_has_file, reads_files
from dssfn.cli.sample import data_settings, schema_settings
from dssfn.config import Plan
from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.errors import PlanError
from dssfn.federation import (
    FEWEST_HIDDEN,
    Federation,
    Graph,
    Member,
    split_address,
)
from dssfn.hints import listing
from dssfn.topology import KINDS

LAB_HOST, LAB_PORT = "127.0.0.1", 7400
MOST_PORT = 65535
STAND_IN_CLASSES = ("no", "yes")  # while the plan has none


FolderArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="The federation's folder.")
]
DaysOption = Annotated[
    int, option("How many days a node's certificate is valid.", CERTIFICATES)
]


@reads_files
def init(
    folder: FolderArgument,
    nodes: Annotated[str, option("Names of the nodes, such as a,b,c.", NETWORK)],
    topology: Annotated[
        str | None, option(f"{', '.join(KINDS)}.", NETWORK, show_default="circular")
    ] = None,
    degree: Degree = None,
    edges: Annotated[
        str | None,
        option("Who talks to whom, such as a-b,b-c, instead of --topology.", NETWORK),
    ] = None,
    address: Annotated[
        list[str] | None,
        option(
            "Where others reach a node, as NAME=host:port; may be repeated. A node "
            "without an address only makes outgoing connections.",
            NETWORK,
        ),
    ] = None,
    host: Annotated[
        str | None,
        option(
            "Rehearse with all nodes on this one machine; the default without "
            "--address.",
            NETWORK,
            show_default=LAB_HOST,
        ),
    ] = None,
    port: Annotated[
        int | None,
        option(
            "With --host: port of the first node; the others get the following ports.",
            NETWORK,
            show_default=str(LAB_PORT),
        ),
    ] = None,
    round_deadline: Annotated[
        float, option("Seconds within which a lost neighbour is noticed.", NETWORK)
    ] = 30.0,
    secure: Annotated[
        bool | None,
        option(
            "Mask all messages, so that nodes see only totals.",
            NETWORK,
            "--secure/--no-secure",
            show_default="yes, except with --preset paper",
        ),
    ] = None,
    mask_degree: Annotated[
        int | None,
        option(
            "With how many other nodes each node shares masks.",
            NETWORK,
            show_default="all; above 16 nodes, about 2 log2 of them",
        ),
    ] = None,
    min_nodes: Annotated[
        int, option("Nodes refuse to take part in a plan with fewer nodes.", NETWORK)
    ] = FEWEST_HIDDEN,
    quorum: Annotated[
        int | None,
        option(
            "Training continues without the others while at least this many nodes, "
            "more than half, are there.",
            NETWORK,
            show_default="all nodes must be there",
        ),
    ] = None,
    leave_after: Annotated[
        float | None,
        option(
            "With --quorum: seconds after which a missing node is left out.",
            NETWORK,
            show_default="10 round deadlines",
        ),
    ] = None,
    min_rows: Annotated[
        int, option("A node with fewer rows refuses to take part.", NETWORK)
    ] = 20,
    min_cell: Annotated[
        int, option("Statistics hide counts of fewer rows than this.", NETWORK)
    ] = 5,
    publish_sites: Annotated[
        bool,
        option(
            "Statistics also show each node's own numbers.", NETWORK, "--publish-sites"
        ),
    ] = False,
    schema: Annotated[
        Path | None,
        option("What the columns mean: a file written by `dssfn schema`.", DATA),
    ] = None,
    like: Annotated[
        list[Path] | None,
        option(
            "Take classes and features from this file; if repeated, make a schema "
            "from all of them.",
            DATA,
        ),
    ] = None,
    target: Annotated[
        str | None, option("The column to predict in the nodes' files.", DATA)
    ] = None,
    classes: Annotated[
        str | None,
        option(
            "The class labels, such as yes,no. As in a CSV file, 1,2 are numbers; "
            '\'"1","2"\' are text.',
            DATA,
        ),
    ] = None,
    features: Annotated[
        str | None,
        option("The feature columns, such as age,bmi, or just their number.", DATA),
    ] = None,
    read: ReadOptions = ALL,
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
    solver: Solver = "auto",
    seed: Annotated[int, option("Random seed.", TRAINING)] = 0,
    keys: Annotated[
        bool,
        option(
            "Create all nodes' keys here, for a rehearsal. With --no-keys every node "
            "creates its own (`dssfn node request`) and you sign it.",
            CERTIFICATES,
            "--keys/--no-keys",
        ),
    ] = True,
    days: DaysOption = 825,
    json: JsonOutput = False,
) -> None:
    """Set up a federation: plan, certificate authority, a folder for each organisation.

    The nodes' keys are created here for a rehearsal only. For real data use --no-keys:
    then every node's private key stays with its organisation. Nothing is ever
    overwritten.
    """
    from dssfn.setup.folders import write_federation

    settings = training_settings(
        preset, layers=layers, width=width, members=members, ridge=ridge, scale=scale,
        folds=folds, size=size, class_weight=class_weight, alpha=alpha, gain=gain,
        standardize=standardize, bias=bias, units=units, image_shape=image_shape,
        epsilon=epsilon, delta=delta, colluders=colluders, input_low=input_low,
        input_high=input_high,
        solver=solver, consensus="tree", seed=seed,
    )  # fmt: skip
    names = _names(nodes, min_nodes)
    samples = like or []
    check_has_file(read, samples, "`--like`, the file that it is about")
    if schema is not None or len(samples) > 1:
        known = schema_settings(schema, samples, target, classes, features, read)
        target = known["schema"].target.column
    else:
        known = data_settings(
            samples[0] if samples else None, target, classes, features, read
        )
    needed = ("targets" if "targets" in known else "classes", "feature_names")
    left_open = [field for field in needed if field not in known]
    suffix = samples[0].suffix.lower() if samples else ".csv"
    stand_in: dict[str, Any] = {"n_features": 1}
    if "classes" in left_open:
        stand_in["classes"] = STAND_IN_CLASSES
    federation = Federation(
        nodes=_members(names, address, host, port),
        graph=_graph(names, topology, degree, edges),
        training=Plan(**{**stand_in, **known, **settings}),
        round_deadline=round_deadline,
        secure=preset != "paper" if secure is None else secure,
        mask_degree=mask_degree,
        min_nodes=min_nodes,
        quorum=quorum,
        leave_after=leave_after,
        min_rows=min_rows,
        min_cell=min_cell,
        publish_sites=publish_sites,
    )
    _check_reachable(federation)
    write_federation(
        folder,
        federation,
        left_open=left_open,
        data=f"data{suffix}",
        target=target,
        days=days,
        with_keys=keys,
    )
    if json:
        print_json({**_figures(folder, federation, left_open, days), "keys": keys})
    else:
        _tell(folder, federation, left_open, rehearsal=not address, with_keys=keys)


def _names(nodes: str, least: int) -> list[str]:
    names = words("--nodes", nodes)
    if len(names) < 2:
        raise PlanError(
            f"`--nodes` must name at least two nodes, such as a,b,c; got {nodes!r}."
        )
    if len(names) == 2 and least == FEWEST_HIDDEN:
        raise PlanError(
            f"`--nodes` must name at least {least} nodes, got {nodes!r}: with two "
            "nodes, each learns the other's sums by subtracting its own from the "
            "total. If both agree to that, give `--min-nodes 2`."
        )
    if len(names) < least:
        raise PlanError(
            f"`--nodes` must name at least {least} nodes (`--min-nodes`), got "
            f"{len(names)}."
        )
    return names


def _members(
    names: list[str], address: list[str] | None, host: str | None, port: int | None
) -> tuple[Member, ...]:
    found = addresses(address or (), names)
    if address and host is None and port is not None:
        raise PlanError(
            "`--port` must come with `--host`; with `--address`, give each port there."
        )
    if host is not None or not address:  # a rehearsal on one machine
        host = LAB_HOST if host is None else host
        if ":" in host and not host.startswith("["):
            host = f"[{host}]"  # an IPv6 address
        first = LAB_PORT if port is None else port
        _check_first_port(first, len(names))
        for k, name in enumerate(names):
            found.setdefault(name, f"{host}:{first + k}")
    for name, one in found.items():
        if not split_address(one)[1]:
            raise PlanError(f"The port of an address must not be 0, got {name}={one}.")
    return tuple(Member(name, found.get(name)) for name in names)


def _check_first_port(first: int, n_nodes: int) -> None:
    most = MOST_PORT + 1 - n_nodes
    if not 1 <= first <= most:
        raise PlanError(
            f"`--port` must lie in 1..{most} for {n_nodes} nodes, which get this port "
            f"and the following ones; got {first}."
        )


def _graph(
    names: list[str], topology: str | None, degree: int | None, edge_list: str | None
) -> Graph:
    if edge_list is None:
        return Graph(kind=topology or "circular", degree=degree)
    if topology is not None or degree is not None:
        raise PlanError(
            "`--edges` must come without `--topology` and `--degree`: it already "
            "lists all edges."
        )
    return Graph(edges=edges(edge_list, names))


def _check_reachable(federation: Federation) -> None:
    nodes = federation.nodes
    for i, j in federation.topology().edges():
        if nodes[i].address is None and nodes[j].address is None:
            a, b = nodes[i].name, nodes[j].name
            raise PlanError(
                f"Every edge needs an address at one end at least, but neither {a} nor "
                f"{b} has one. Give `--address {a}=host:port` or `--address "
                f"{b}=host:port`."
            )


def _figures(
    folder: Path, federation: Federation, left_open: list[str], days: int
) -> dict[str, Any]:
    names = federation.names
    return {
        "folder": str(folder),
        "plan": str(folder / "plan.toml"),
        "fingerprint": None if left_open else federation.fingerprint(),
        "fill_in": left_open,
        "nodes": [
            {"name": one.name, "folder": str(folder / one.name), "address": one.address}
            for one in federation.nodes
        ],
        "edges": [[names[i], names[j]] for i, j in federation.topology().edges()],
        "days": days,
    }


_STEPS = """\
{folder} now holds a plan for {count} nodes ({graph}), a certificate authority
and a folder for each node.
{taken}{rehearsal}
What to do next:
{fill_in}
{keys}
- Each organisation puts its data file beside node.toml, reviews that file, and runs
      dssfn node check node.toml
      dssfn federation statistics node.toml    (optional: what all nodes hold)
      dssfn node run node.toml
- Keep {folder}/ca/ca.key secret: whoever has it can admit nodes to this federation."""

_KEYS_HERE = """\
- All keys were created here, FOR A REHEARSAL ONLY: whoever can read {folder} can pose
  as any node. For real data start again with --no-keys, or let each organisation create
  its own key with `dssfn node request`, and sign it with `dssfn federation sign`.
- Send each folder to its organisation ({nodes}). It holds that
  node's private key, so nobody else may read it on the way."""

_KEYS_AT_HOME = """\
- Each organisation ({nodes}) creates its own key, which stays there:
      dssfn node request NAME
  It sends you node.csr. Sign it, compare the fingerprints, and send the folder back:
      dssfn federation sign {folder} NAME node.csr"""

_REHEARSAL = """
For a rehearsal, all nodes are on one machine, from {first} up. For a real
network, give --address NAME=host:port for every node that others can reach.
"""

_FILL_IN = """
- Fill in {fields} in {folder}/plan.toml, where it
  says <--, and copy the plan into every node's folder:
      for node in {nodes}; do cp {folder}/plan.toml {folder}/$node/; done"""


def _taken(plan: Plan, left_open: list[str]) -> str:
    """Return which classes and features the plan has, to look at before it goes out."""
    lines = []
    if plan.is_regression:
        lines.append(f"Numbers to predict: {listing(plan.targets)}\n")
    elif "classes" not in left_open:
        labels = listing([str(label) for label in plan.classes])
        lines.append(f"Classes ({plan.n_outputs}): {labels}\n")
    if plan.feature_names is not None and "feature_names" not in left_open:
        lines.append(f"Features ({plan.n_features}): {listing(plan.feature_names)}\n")
    if lines:
        lines.append(
            "All nodes will see these names. Make sure that no id is among them.\n"
        )
    return "".join(lines)


def _tell(
    folder: Path,
    federation: Federation,
    left_open: list[str],
    *,
    rehearsal: bool,
    with_keys: bool,
) -> None:
    nodes = " ".join(federation.names)
    first = federation.nodes[0].address
    fields = " and ".join(f"`{field}`" for field in left_open)
    fill_in = _FILL_IN.format(fields=fields, folder=folder, nodes=nodes)
    keys = _KEYS_HERE if with_keys else _KEYS_AT_HOME
    text = _STEPS.format(
        folder=folder,
        count=len(federation.nodes),
        graph=federation.topology().name,
        keys=keys.format(folder=folder, nodes=", ".join(federation.names)),
        taken=_taken(federation.training, left_open),
        rehearsal=_REHEARSAL.format(first=first) if rehearsal else "",
        fill_in=fill_in if left_open else "",
    )
    show_lines(text)
