"""The plan and the nodes' files for people: TOML with a comment on each line."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from dssfn.config import Plan
from dssfn.federation import Federation, Member, where_to_listen
from dssfn.schema.text import schema_blocks
from dssfn.toml_text import setting, toml_value

TO_FILL_IN = "FILL IN"  # the mark of a place that is left open

_PLAN_HEAD = """\
# The plan of this federation. Every node has the same file: nodes compare their plans
# when they connect, and do not start if anything but an address differs.
"""

_RULES = {
    "round_deadline": "seconds within which a lost neighbour is noticed",
    "secure": "whether messages are masked, so that nodes see only totals",
    "mask_degree": "with how many other nodes each node shares masks",
    "min_nodes": "with fewer nodes, none takes part: two nodes learn each other's sums",
    "quorum": "this many nodes continue if others are gone; else all must be there",
    "leave_after": "seconds after which a missing node is left out",
    "min_rows": "a node with fewer rows does not take part: its sums could reveal them",
    "min_cell": "statistics hide counts of fewer rows than this",
    "publish_sites": "whether statistics show each node's own numbers",
}

_CLASSES = """\
# All class labels: text in quotes, whole numbers, or true and false, as in the data.
# (If all labels in a CSV file are whole numbers, they are numbers here, too.)
# A node may lack a class, but may have no other classes.
"""

_FEATURES = """\
# The feature columns, by name and in this order; other columns are ignored.
"""

_N_FEATURES = """\
# The number of features. To select columns by name, write `feature_names = [...]`.
"""

_SCHEMA = """\
# What the columns mean. Other columns of the nodes' files are ignored.
"""

_SETTINGS = {
    "n_layers": "hidden layers; auto: chosen by validation",
    "width": "random units per layer, or auto",
    "members": "networks in the ensemble, or auto; 1: a single one of given size",
    "ridge": "regularisation strength, or auto",
    "scale": "input scaling: columns (each by its standard deviation), common, auto",
    "folds": "what a member leaves out: rows, or nodes (then all see their sums)",
    "size": "auto, or ssfn: one network, grown by its training error",
    "class_weight": "rare classes count as much as common ones",
    "publish_scores": "whether all nodes see how well the model does at each node",
    "alpha": "bound on the output matrices, in sqrt(2 x classes); for given sizes",
    "gain": "scale of the random units: their norm, or with auto the rms of one",
    "standardize": "scale inputs by the mean and spread over all nodes",
    "bias": "value of a constant input that is added; 0 for none",
    "units": "arithmetic of hidden units: integer (exact sums), dense, or auto",
    "image_shape": "height, width and channels, if the features are pixels",
    "solver": "auto, gram; for given sizes also krylov or admm",
    "n_iter": "iterations per layer, for admm only",
    "consensus": "averages are computed along a tree: all nodes get the same bits",
    "tol": "accuracy of each average, for other averaging schemes",
    "latency": "seconds per exchange, a hint for auto",
    "bandwidth": "bits per second of a link, a hint for auto",
    "seed": "random seed",
    "epsilon": "privacy budget: noise is added to the sums",
}

_EXAMPLES = {
    "class_weight": "balanced",
    "image_shape": [28, 28],
    "epsilon": 1.0,
}  # of settings that may be left out

# These stand first, or follow from the schema, which stands last.
_INPUTS = ("classes", "targets", "feature_names", "n_features", "schema")

_NODE = """\
# Node {name}. Paths are relative to this file's folder.

name = {name_value}
plan = "plan.toml"

data = {data}  # this node's file: CSV, Parquet, Feather, XLSX or NPZ; it stays here
{target}
# test = "test.csv"  # samples to test the model on; by default, validation samples
# local_model = false  # do not train a model on this node alone, for comparison
out = "out"  # folder for the model, the log and the checkpoint

certificate = "node.crt"
key = "node.key"  # private: whoever has it can pose as this node. Keep it here
authorities = "ca.crt"  # the certificate authorities that this node trusts
revoked = "crl.pem"  # the revocation list; it is read again when it changes

{listen}

# memory = "2GB"  # memory limit; what does not fit goes to a temporary file
# threads = 4  # by default one for each core
# metrics = "127.0.0.1:9400"  # address of metrics for Prometheus
# page = "127.0.0.1:9401"  # address of the status page, see dssfn node status
# start_deadline = 3600  # seconds to wait for the other nodes; by default no limit
# log_format = "json"  # one JSON object a line, for programs that collect logs
# log_max_bytes = 10000000  # a larger out/node.log is rotated; log_backups = 5 are kept

# [read]  # how to read data and test, where it cannot be detected
# sep = ";"  # field separator; also decimal = ",", encoding = "latin-1"
# sheet = "2024"  # which sheet, if an XLSX file has several
# id = "patient"  # column that identifies the rows; columns = [...], drop = [...]

# [peers]  # addresses of other nodes, if they differ from the plan's
# {peer} = "10.0.0.7:7400"
"""


_NOTES = """\
A federation of dssfn: {names}.

plan.toml    what all nodes agree on; not secret
ca/ca.key    signs certificates: whoever has it can pose as any node. Keep it offline.
ca/crl.pem   the revocation list (dssfn federation revoke)
{keys}
"""

_KEYS_HERE = """\
NAME/        for that node's organisation, with its key. FOR A REHEARSAL ONLY: all keys
             were created here, so whoever can read this folder can pose as any node.

Before real data are used, every organisation creates a key that nobody else has seen:
    dssfn node request NAME             at the node; then send node.csr here
    dssfn federation sign DIR NAME node.csr"""

_KEYS_AT_HOME = """\
NAME/        for that node's organisation, without its key, which stays with the node.

Every organisation creates its own key, and you sign it:
    dssfn node request NAME             at the node; then send node.csr here
    dssfn federation sign DIR NAME node.csr
Compare the fingerprints that both print, then send NAME/ back."""


def notes_text(names: Sequence[str], *, with_keys: bool) -> str:
    """Return what a federation's folder says about itself and its keys.

    Parameters
    ----------
    names : sequence of str
        The names of the nodes.
    with_keys : bool
        Whether the nodes' keys were made in the folder.
    """
    keys = _KEYS_HERE if with_keys else _KEYS_AT_HOME
    return _NOTES.format(names=", ".join(names), keys=keys)


def plan_text(federation: Federation, *, left_open: Collection[str] = ()) -> str:
    """Return a plan file that `load_federation` reads back as it was.

    Parameters
    ----------
    federation : Federation
        The plan.
    left_open : collection of {"classes", "feature_names"}
        These are left empty and marked; the file is refused until they are filled in.
    """
    parts = [
        _PLAN_HEAD,
        "".join(_rules(federation)),
        "[graph]  # who talks to whom\n" + _graph(federation),
        *map(_member, federation.nodes),
        "[training]\n" + "".join(_training(federation, left_open)),
    ]
    schema = federation.training.schema
    if schema is not None:
        parts += [_SCHEMA, *schema_blocks(schema, "training.schema.")]
    return "\n".join(parts)


def _rules(federation: Federation) -> Iterator[str]:
    for name, comment in _RULES.items():
        value = getattr(federation, name)
        if value is not None:
            yield f"{setting(name, value)}  # {comment}\n"


def _graph(federation: Federation) -> str:
    graph = federation.graph
    lines = []
    if graph.kind is not None:
        lines.append(setting("kind", graph.kind))
    if graph.degree is not None:
        lines.append(setting("degree", graph.degree))
    if graph.edges is not None:
        lines.append(setting("edges", graph.edges))
    return "\n".join(lines) + "\n"


def _member(member: Member) -> str:
    address = (
        "# no address: it only makes outgoing connections"
        if member.address is None
        else setting("address", member.address)
    )
    return f"[[nodes]]\n{setting('name', member.name)}\n{address}\n"


def _training(federation: Federation, left_open: Collection[str]) -> Iterator[str]:
    plan = federation.training
    if plan.schema is None:
        yield from _inputs(plan, left_open)
    for name, comment in _SETTINGS.items():
        value = getattr(plan, name)
        line = setting(name, _EXAMPLES[name] if value is None else value)
        yield f"{'# ' * (value is None)}{line}  # {comment}\n"
    for field in msgspec.structs.fields(Plan):
        value = getattr(plan, field.name)
        if field.name not in (*_SETTINGS, *_INPUTS) and value != field.default:
            yield setting(field.name, value) + "\n"


def _inputs(plan: Plan, left_open: Collection[str]) -> Iterator[str]:
    """Yield classes and features, where no schema says what they are."""
    yield _CLASSES
    yield _names("classes", plan.classes, left_open) + "\n\n"
    if plan.feature_names is None and "feature_names" not in left_open:
        yield _N_FEATURES + setting("n_features", plan.n_features) + "\n\n"
    else:
        yield _FEATURES
        yield _names("feature_names", plan.feature_names or (), left_open) + "\n\n"


def _names(name: str, values: Sequence[Any], left_open: Collection[str]) -> str:
    if name in left_open:
        return f"{name} = []  # <-- {TO_FILL_IN}, the same on every node"
    return setting(name, values)


def node_text(
    member: Member, *, data: str, target: str | None, needs_target: bool, peer: str
) -> str:
    """Return a node's file that `load_node` reads.

    Parameters
    ----------
    member : Member
        Its name and address; one that others reach listens on all interfaces, or on
        the loopback if that is its address.
    data : str
        Where its data will be.
    target : str, optional
        The column of labels.
    needs_target : bool
        Whether that must still be named where it is not given.
    peer : str
        Some other node, for an example.
    """
    if target is not None:
        target_line = f"{setting('target', target)}  # the column to predict"
    elif needs_target:
        target_line = f'# target = "outcome"  # <-- {TO_FILL_IN}: the column to predict'
    else:
        target_line = '# target = "y"  # the array of labels'
    if member.address is None:
        listen = '# listen = "0.0.0.0:7400"  # no address: this node only calls others'
    else:
        listen = (
            f"{setting('listen', where_to_listen(member.address))}  # the port to open"
        )
    return _NODE.format(
        name=member.name,
        name_value=toml_value(member.name),
        data=toml_value(data),
        target=target_line,
        listen=listen,
        peer=toml_value(peer),
    )
