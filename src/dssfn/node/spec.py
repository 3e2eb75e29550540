"""NodeSpec: one node's own file. Who it is, and where its data and keys are.

Paths are relative to the folder of the file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import msgspec

from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.errors import PlanError
from dssfn.federation import Federation, load_federation, split_address
from dssfn.hints import did_you_mean, few, listing, unknown
from dssfn.node.log_file import BACKUPS, MAX_BYTES
from dssfn.node.log_format import FORMATS, TEXT
from dssfn.schema import Schema
from dssfn.toml_text import NODE, convert_toml, read_toml

NODE_FILE = "node.toml"
ANYWHERE = ("0.0.0.0", "::")  # all addresses of a machine
LOOPBACK = {"localhost": "127.0.0.1"}  # another name of the same address
LEAST_LOG = 4096  # bytes
MOST_BACKUPS = 1000
PATHS = ("plan", "data", "test", "out", "certificate", "key", "authorities", "revoked")


class NodeSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One node, as its own organisation sets it up.

    Parameters
    ----------
    name : str
        Its name in the plan, which its certificate must carry.
    plan : str
        The plan file, the same on all nodes.
    data : str
        The data file: CSV, TSV, Parquet, Feather, XLSX or NPZ, read in chunks.
    target : str, optional
        The column of labels; `y` for NPZ.
    test : str, optional
        A file with the same columns, on whose samples this node tests the model. Left
        out, it takes those of its training samples that a member was not trained on.
    read : ReadOptions
        How both files are read, where that is to be said: a table ``[read]`` with
        `sep`, `decimal`, `encoding`, `sheet`, `id`, `columns` or `drop`. It is this
        node's own and no part of the plan.
    local_model : bool, optional
        Whether to train a model on this node's samples alone as well, to compare with;
        by default if they are not too many.
    out : str
        Folder for the model, the log and the checkpoint.
    certificate, key, authorities : str
        PEM files: this node's certificate and its key, and the certificates of those
        who may vouch for the other nodes.
    revoked : str, optional
        PEM file: lists of certificates that count no more (CRLs), signed by the
        authorities. Left out, a certificate counts until it ends.
    listen : str, optional
        Address and port to open; left out, this node only dials.
    peers : dict, optional
        Addresses of other nodes where they differ from the plan's.
    memory : str, optional
        The most memory to use, as in "2GB".
    threads : int, optional
        How many threads to use; by default as many as there are cores.
    metrics : str, optional
        Address and port on which to serve metrics; left out, there are none.
    page : str, optional
        Address and port on which to serve the status page; left out, there is none.
    start_deadline : float, optional
        Seconds to wait at the start until all nodes have met; by default without end.
    log_format : {"text", "json"}
        How lines of the log are written: for people, or one JSON object a line.
    log_max_bytes : int
        How large the log may become before it is rotated.
    log_backups : int
        How many older logs are kept.
    """

    name: str
    plan: str
    data: str
    target: str | None = None
    test: str | None = None
    read: ReadOptions = ALL
    local_model: bool | None = None
    out: str = "out"
    certificate: str
    key: str
    authorities: str
    revoked: str | None = None
    listen: str | None = None
    peers: dict[str, str] = {}
    memory: str | None = None
    threads: int | None = None
    metrics: str | None = None
    page: str | None = None
    start_deadline: float | None = None
    log_format: str = TEXT
    log_max_bytes: int = MAX_BYTES
    log_backups: int = BACKUPS

    def __post_init__(self) -> None:
        for address in (self.listen, self.metrics, self.page, *self.peers.values()):
            if address is not None:
                split_address(address)
        self._check_ports()
        if self.threads is not None and self.threads < 1:
            raise PlanError(f"`threads` must be at least 1, got {self.threads}.")
        if self.start_deadline is not None and not self.start_deadline > 0:
            raise PlanError(
                "`start_deadline` must be a positive number of seconds, got "
                f"{self.start_deadline:g}. Leave it out to wait without a limit."
            )
        self._check_log()

    def _check_log(self) -> None:
        if self.log_format not in FORMATS:
            raise PlanError(unknown("log_format", self.log_format, FORMATS))
        if self.log_max_bytes < LEAST_LOG:
            raise PlanError(
                f"`log_max_bytes` must be at least {LEAST_LOG}, a few lines, got "
                f"{self.log_max_bytes}. Leave it out for {MAX_BYTES:,}."
            )
        if not 1 <= self.log_backups <= MOST_BACKUPS:
            raise PlanError(
                f"`log_backups` must lie in 1..{MOST_BACKUPS}, got "
                f"{self.log_backups}. Leave it out for {BACKUPS}."
            )

    def _check_ports(self) -> None:
        if self.page is not None and split_address(self.page)[1] == 0:
            raise PlanError(
                f"`page` must have a port of its own, not 0, got {self.page!r}. For "
                "example: 127.0.0.1:9401."
            )
        opened = {
            field: address
            for field in ("listen", "metrics", "page")
            if (address := getattr(self, field)) is not None
        }
        for (first, one), (second, other) in combinations(opened.items(), 2):
            if _is_same_port(one, other):
                raise PlanError(
                    f"`{second}` must have a port of its own, got {other!r}, the port "
                    f"of `{first}` = {one!r}. Choose another port."
                )


def _is_same_port(one: str, other: str) -> bool:
    """Return whether only one of two addresses can be opened; port 0 is a free one."""
    (one_host, one_port), (other_host, other_port) = map(split_address, (one, other))
    if one_port != other_port or one_port == 0:
        return False
    hosts = {LOOPBACK.get(host, host) for host in (one_host, other_host)}
    return len(hosts) == 1 or not hosts.isdisjoint(ANYWHERE)


def load_node(path: str | Path) -> tuple[NodeSpec, Federation]:
    """Read a node's file, its paths made absolute, and the plan that it names.

    A folder stands for the `node.toml` in it.
    """
    path = Path(path)
    if path.is_dir():
        _check_folder(path)
        path /= NODE_FILE
    content = read_toml(path, NODE)
    spec: NodeSpec = convert_toml(content, NodeSpec, path, [NodeSpec, ReadOptions])
    folder = path.resolve().parent
    paths = {
        field: str(folder / os.path.expanduser(given))  # noqa: PTH111
        for field in PATHS
        if (given := getattr(spec, field)) is not None
    }
    spec = msgspec.structs.replace(spec, **paths)
    federation = load_federation(spec.plan)
    federation.index(spec.name)
    _check_peers(spec, federation.names, path)
    _check_target(spec, federation.training.schema, path)
    return spec, federation


def _check_folder(folder: Path) -> None:
    """Refuse the folder of a whole federation."""
    if (folder / NODE_FILE).exists():
        return
    if nodes := [str(one.parent) for one in sorted(folder.glob(f"*/{NODE_FILE}"))]:
        raise PlanError(
            f"`{folder}` is the federation's folder. Give a node's folder: "
            f"{listing(nodes)}."
        )


def _check_peers(spec: NodeSpec, names: Sequence[str], path: Path) -> None:
    for name in spec.peers:
        if name not in names:
            raise PlanError(
                f"`{path}`: `peers` must name nodes of the plan, {few(names)}; got "
                f"{name!r}.{did_you_mean(name, names)}"
            )


def _check_target(spec: NodeSpec, schema: Schema | None, path: Path) -> None:
    """Refuse a target beside another one in the schema, which is what counts."""
    if schema is None or schema.target is None or spec.target is None:
        return
    if spec.target != schema.target.column:
        raise PlanError(
            f"`{path}`: `target` must be the schema's target, "
            f"`{schema.target.column}`, or left out; got `{spec.target}`."
        )
