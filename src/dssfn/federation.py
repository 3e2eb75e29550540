"""Federation: the plan file of a real network. Who takes part, who talks to whom, and
the settings of the training. Every node holds the same file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from dssfn._typing import NodeId
from dssfn.config import AUTO, Plan, n_honest
from dssfn.errors import PlanError, TopologyError
from dssfn.graph_links import Links
from dssfn.hints import did_you_mean, joined
from dssfn.masking import check_mask_degree
from dssfn.node_names import check_node_name
from dssfn.schema import Column, Schema, Target
from dssfn.toml_text import PLAN, convert_toml, read_toml
from dssfn.topology import Topology, build_topology, from_edges

NO_SETTING = "(no such setting)"
TRAINING, STATISTICS = "dssfn node run", "dssfn federation statistics"
"""The commands for which nodes meet."""

FEWEST_HIDDEN = 3  # nodes, for masks to hide their sums from each other
MOST_NODES = 2000  # gossip takes a matrix of all nodes by all nodes


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node: its name, and its address if it has an open port."""

    name: str
    address: str | None = None

    def __post_init__(self) -> None:
        check_node_name("The `name` of a node", self.name)
        if self.address is not None:
            split_address(self.address)


class Graph(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The graph: a kind as in `build_topology`, or a list of edges."""

    kind: str | None = None
    degree: int | None = None
    edges: tuple[tuple[str, str], ...] | None = None

    def __post_init__(self) -> None:
        if (self.kind is None) == (self.edges is None):
            raise PlanError("`graph` must have either a `kind` or a list of `edges`.")


class Federation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings that all nodes agree on before they start.

    Parameters
    ----------
    nodes : tuple of Member
        The members, in the order of the graph's nodes.
    graph : Graph
        Who talks to whom.
    training : Plan
        The settings of the training.
    round_deadline : float
        Seconds within which a neighbour that is gone is named. All other times are
        derived from it.
    secure : bool
        Whether messages are masked, so that nodes see totals only.
    mask_degree : int, optional
        How many nodes a node shares masks with; by default all others among up to 16
        nodes, else about 2 log2 of their number.
    min_nodes : int
        The least number of nodes that real ones take part with.
    quorum : int, optional
        The fewest nodes that may go on without the others, more than half of them; by
        default all nodes must be there.
    leave_after : float, optional
        Seconds after which a node that is gone is left out, if there is a quorum; by
        default ten times `round_deadline`.
    min_rows : int
        A node with fewer training rows takes no part: what it would send is computed
        from them, and the fewer they are, the more it shows of each.
    min_cell : int
        Statistics show no count of fewer rows, and a node with numbers in fewer rows of
        a column takes no part: sums over them would show them.
    publish_sites : bool
        Whether statistics show the figures of every node, beside those of all together.
    """

    nodes: tuple[Member, ...]
    graph: Graph
    training: Plan
    round_deadline: float = 30.0
    secure: bool = True
    mask_degree: int | None = None
    min_nodes: int = FEWEST_HIDDEN
    quorum: int | None = None
    leave_after: float | None = None
    min_rows: int = 20
    min_cell: int = 5
    publish_sites: bool = False

    def __post_init__(self) -> None:
        names = self.names
        if len(names) > MOST_NODES:
            raise PlanError(f"`nodes` must be at most {MOST_NODES}, got {len(names)}.")
        if len(set(names)) < len(names) or not names:
            raise PlanError(f"`nodes` must have different names, got {names}.")
        if not 0 < self.round_deadline < 1e6:
            raise PlanError(
                "`round_deadline` must be a positive number of seconds, "
                f"got {self.round_deadline!r}."
            )
        for field in ("min_nodes", "min_rows", "min_cell"):
            if getattr(self, field) < 1:
                raise PlanError(
                    f"`{field}` must be at least 1, got {getattr(self, field)}."
                )
        if self.publish_sites and self.min_rows < self.min_cell:
            raise PlanError(
                "`min_rows` must be at least `min_cell` if `publish_sites` shows "
                f"every node's number of rows, got {self.min_rows} and "
                f"{self.min_cell}. Raise `min_rows`, or turn `publish_sites` off."
            )
        for a, b in self.graph.edges or ():
            if a not in names or b not in names or a == b:
                raise PlanError(
                    f"`edges` must join two of the nodes {', '.join(names)}; "
                    f"got {a!r} and {b!r}."
                )
        _check_by_averages(self.training)
        if self.secure:
            check_secure(self.training)
        if self.mask_degree is not None:
            self._check_masks(self.mask_degree)
        if self.training.is_private:
            self._check_private()
        if self.quorum is not None:
            self._check_quorum(self.quorum)
        if self.leave_after is not None and self.quorum is None:
            raise PlanError(
                "`leave_after` must come with a `quorum`: without one, all nodes must "
                "be there and none is left out."
            )
        if self.leave_after is not None and not 0 < self.leave_after < 1e6:
            raise PlanError(
                "`leave_after` must be a positive number of seconds, "
                f"got {self.leave_after!r}."
            )
        self.topology()  # a graph that cannot be is refused here

    def _check_masks(self, degree: int) -> None:
        """Refuse a number of mask partners that these nodes cannot have."""
        if not self.secure:
            raise PlanError(
                "`mask_degree` must come with `secure = true`: without masks there "
                f"are no partners to share them with; got {degree}. Leave it out."
            )
        check_mask_degree(len(self.nodes), degree)

    def _check_private(self) -> None:
        """Refuse a budget of privacy that this federation cannot keep."""
        if not self.secure:
            raise PlanError(
                "`epsilon` needs `secure = true`: each node adds only its share of "
                "the noise, and without masks its neighbours would see sums with no "
                "more noise than that."
            )
        if self.mask_degree not in (None, len(self.nodes) - 1):
            raise PlanError(
                "`mask_degree` must be left out with `epsilon`: then every node "
                "shares masks with all others, as fewer partners could collude to see "
                "a node's sums with only its own share of the noise; got "
                f"{self.mask_degree}."
            )
        n_honest(self.training, len(self.nodes))  # refuses more colluders than nodes

    def _check_quorum(self, quorum: int) -> None:
        """Refuse a quorum that two groups could have, or a training that needs all."""
        n_nodes, plan = len(self.nodes), self.training
        if not n_nodes < 2 * quorum <= 2 * n_nodes:
            raise PlanError(
                f"`quorum` must be more than half of the {n_nodes} nodes, so that two "
                f"groups can never both continue, and at most {n_nodes}; got "
                f"{quorum}."
            )
        if quorum == n_nodes:
            return
        if quorum < self.min_nodes:
            raise PlanError(
                f"`quorum` must be at least `min_nodes`, {self.min_nodes}, below which "
                f"no node takes part; got {quorum}."
            )
        reasons = {
            "the sums of this training are real numbers": not plan.is_exact,
            "`epsilon` divides the noise among all nodes": plan.is_private,
            '`folds` = "nodes" leaves every node out in turn': plan.folds == "nodes",
            "`publish_scores` shows scores of every node": plan.publish_scores,
            "with a given `ridge` no layer is compared with the previous one, which "
            "is how `n_layers` is chosen": _is_found_by_ridge(plan),
        }
        if found := next((text for text, is_so in reasons.items() if is_so), None):
            raise PlanError(
                f"`quorum` must be left out, or be all {n_nodes} nodes, because "
                f"{found}; got {quorum}."
            )

    @property
    def is_elastic(self) -> bool:
        """Whether nodes may go on without some of the others."""
        return self.quorum is not None and self.quorum < len(self.nodes)

    @property
    def names(self) -> list[str]:
        """The names of all nodes, in the plan's order."""
        return [member.name for member in self.nodes]

    @property
    def hides_nodes(self) -> bool:
        """Whether nobody learns the sums of a single node.

        Of two nodes each can take its own from the total, which leaves the other's.
        """
        is_public = self.training.folds == "nodes"  # the sums of layer 0 are
        return self.secure and len(self.nodes) >= FEWEST_HIDDEN and not is_public

    @property
    def n_partners(self) -> int | None:
        """How many mask partners a node has, as `mask_partners` takes it.

        With a budget of privacy all others: a node's own share of the noise is less
        than the budget asks for.
        """
        return len(self.nodes) - 1 if self.training.is_private else self.mask_degree

    def topology(self) -> Topology:
        """Return the graph with its mixing matrix."""
        return _topology(self.graph, tuple(self.names))

    def index(self, name: str) -> NodeId:
        """Return the number of a node."""
        if name not in self.names:
            raise PlanError(
                f"`name` must be one of the plan's nodes {', '.join(self.names)}, "
                f"got {name!r}.{did_you_mean(name, self.names)}"
            )
        return self.names.index(name)

    def fingerprint(self) -> str:
        """Return a digest of all that nodes must agree on; addresses may differ."""
        return hashlib.sha256(self.agreed()).hexdigest()

    def agreed(self, command: str = TRAINING) -> bytes:
        """Return all that nodes must agree on, as JSON, the command that runs first."""
        nodes = tuple(Member(name) for name in self.names)
        settings = msgspec.to_builtins(msgspec.structs.replace(self, nodes=nodes))
        return msgspec.json.encode({"command": command, **settings})

    def differences(
        self, other: bytes, command: str = TRAINING
    ) -> Iterator[tuple[str, Any, Any]]:
        """Yield every setting in which another node's `agreed` is different.

        Each is the setting's name, its value here and its value there.
        """
        try:
            theirs = msgspec.json.decode(other)
        # msgspec lets the last two through, for bytes that no node sends.
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
            yield "plan", "JSON", f"something that is not ({exc})"
            return
        yield from _differences("", msgspec.json.decode(self.agreed(command)), theirs)


def _is_found_by_ridge(plan: Plan) -> bool:
    """Return whether a ridge is given, and the depth is not."""
    is_given = not isinstance(plan.ridge, str)
    return plan.finds_size and is_given and plan.n_layers == AUTO and plan.size == AUTO


def check_secure(plan: Plan) -> None:
    """Refuse a plan whose messages cannot be masked.

    Masks are integers modulo 2^64: they cancel in the totals of integers, and would
    leave nothing but rounding errors in averages of real numbers.
    """
    if not plan.is_exact:
        raise PlanError(
            "`secure`: masks can hide only sums of integers, but the sums of this "
            'training are real numbers. Write `units = "integer"`, or `secure = false`,'
            " with which nodes see sums of their neighbours."
        )


def _check_by_averages(plan: Plan) -> None:
    """Refuse a solver whose letters no real network carries."""
    if plan.solver == "relaxed":
        raise PlanError(
            "`solver`: relaxed runs only in simulated time. Leave `solver` out, or "
            "try it with `dssfn simulate --solver relaxed --loss 0.1`."
        )


@lru_cache(maxsize=4)
def _topology(graph: Graph, names: tuple[str, ...]) -> Topology:
    if graph.edges is None:
        assert graph.kind is not None
        return build_topology(graph.kind, len(names), degree=graph.degree)
    edges = [(names.index(a), names.index(b)) for a, b in graph.edges]
    _check_connected(names, edges)
    return from_edges(len(names), edges)


def _check_connected(
    names: Sequence[str], edges: Sequence[tuple[NodeId, NodeId]]
) -> None:
    """Refuse a list of edges that leaves some nodes apart, and name those."""
    ends = np.array(edges, dtype=np.intp).reshape(-1, 2)
    links = Links.of_pairs(len(names), ends[:, 0], ends[:, 1])
    parts = links.components()
    if len(parts) > 1:
        _, node = min(parts)
        apart = [names[k] for k in np.flatnonzero(links.hops(node) >= 0).tolist()]
        are = "is" if len(apart) == 1 else "are"
        raise TopologyError(
            f"`edges` must connect all nodes, but {joined(apart)} {are} not connected "
            "to the others. Add an edge between them."
        )


def _differences(field: str, mine: Any, theirs: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key in sorted(mine.keys() | theirs.keys()):
            inner = f"{field}.{key}" if field else key
            if key in mine and key in theirs:
                yield from _differences(inner, mine[key], theirs[key])
            else:  # a setting of another version of this package
                yield inner, mine.get(key, NO_SETTING), theirs.get(key, NO_SETTING)
    elif isinstance(mine, list) and isinstance(theirs, list):
        if len(mine) != len(theirs):
            yield f"{field} (how many)", len(mine), len(theirs)
        for k, (a, b) in enumerate(zip(mine, theirs, strict=False)):
            yield from _differences(f"{field}[{k}]", a, b)
    elif msgspec.json.encode(mine) != msgspec.json.encode(theirs):  # 1 is not True
        yield field, mine, theirs


def split_address(address: str) -> tuple[str, int]:
    """Return host and port of "host:port", or of "[::1]:port".

    >>> split_address("a.example.org:7400")
    ('a.example.org', 7400)
    """
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 <= int(port) < 65536:
        raise PlanError(
            "An address must be host:port, such as a.example.org:7400; got "
            f"{address!r}."
        )
    return host.strip("[]"), int(port)


def where_to_listen(address: str) -> str:
    """Return where a node listens if others call it at this address.

    That is on all interfaces, or on the loopback if that is its address.

    >>> where_to_listen("a.example.org:7400"), where_to_listen("127.0.0.1:7400")
    ('0.0.0.0:7400', '127.0.0.1:7400')
    """
    host, port = split_address(address)
    try:
        number = ip_address(host)
    except ValueError:
        return f"127.0.0.1:{port}" if host == "localhost" else f"0.0.0.0:{port}"
    if number.is_loopback:
        return address
    return f"[::]:{port}" if number.version == 6 else f"0.0.0.0:{port}"


STRUCTS = (Federation, Plan, Graph, Member, Schema, Column, Target)


def load_federation(path: str | Path) -> Federation:
    """Read a plan file."""
    content = read_toml(path, PLAN)
    training = content.get("training")
    if isinstance(training, dict):
        if "targets" in training and "schema" not in training:
            raise PlanError(
                f"`{path}`: `targets` under [training] must come with a schema: to "
                "predict numbers, write one with `dssfn schema FILE --target COLUMN "
                "--number`, and give it to `dssfn federation init --schema`."
            )
        for field in ("classes", "feature_names"):
            if training.get(field) == []:
                raise PlanError(
                    f"`{path}`: `{field}` under [training] is still empty. Fill it "
                    "in, with the same value on every node."
                )
        if "schema" in training:
            under = ("training", "schema")
            schema: Schema = convert_toml(
                training["schema"], Schema, path, STRUCTS, under
            )
            for name, value in schema.settings().items():
                training.setdefault(name, value)
        if isinstance(training.get("feature_names"), list):
            training.setdefault("n_features", len(training["feature_names"]))
    federation: Federation = convert_toml(content, Federation, path, STRUCTS)
    return federation
