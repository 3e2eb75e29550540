"""The checks before a training starts, which find all errors that can be found then."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dssfn._atomic import make_writable
from dssfn.config import Plan, bytes_of
from dssfn.datasets import FileSamples
from dssfn.datasets.dialect import USUAL
from dssfn.datasets.files import check_formats
from dssfn.errors import DataError, InputError, ProtocolError, TransportError
from dssfn.federation import Federation, split_address
from dssfn.hints import few
from dssfn.masking import mask_partners
from dssfn.node.checkpoint import CHECKPOINT_FILE, Checkpoints
from dssfn.node.connect import (
    check_listens,
    largest_letter,
    leave_after_of,
    neighbours_of,
)
from dssfn.node.few_rows import (
    check_nodes,
    check_numbers,
    check_rows,
    few_samples,
    numbers_held,
)
from dssfn.node.identity import Identity, read_identity, read_revoked
from dssfn.node.noise_ledger import spent_so_far
from dssfn.node.page_server import open_port, open_to_others
from dssfn.node.read_settings import in_words_of_the_node, shown_settings
from dssfn.node.renewal import RenewableIdentity
from dssfn.node.spec import NodeSpec
from dssfn.planning import settle_federation
from dssfn.scaling import check_summable
from dssfn.shard import Samples
from dssfn.transports.grpc.peer_names import certificate_of_peer
from dssfn.transports.grpc.refusals import Refusal, Refused
from dssfn.transports.grpc.troubles import DIALLING

# isort: split
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

REACH = 3.0  # seconds for a neighbour to answer
CHUNK = 1000  # samples read at a time
MOST_CLASSES_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check: `is_good` is None where a person, or time, must tell."""

    what: str
    is_good: bool | None
    text: str


def keyring_of(spec: NodeSpec) -> RenewableIdentity:
    """Return the node's verified certificate and key, which may be renewed."""
    return RenewableIdentity(
        spec.certificate, spec.key, spec.authorities, spec.name, spec.revoked
    )


def samples_of(spec: NodeSpec, plan: Plan) -> FileSamples:
    """Return the node's data, which must have the plan's features and classes."""
    files = [path for path in (spec.data, spec.test) if path is not None]
    with in_words_of_the_node(spec.read):
        check_formats(spec.read, files)
    return _open(spec, spec.data, plan)


def samples_to_test_on(spec: NodeSpec, plan: Plan) -> FileSamples | None:
    """Return the samples that the node tests on; None if it has no file of them."""
    return None if spec.test is None else _open(spec, spec.test, plan)


def _open(spec: NodeSpec, path: str, plan: Plan) -> FileSamples:
    with in_words_of_the_node(spec.read):
        samples = FileSamples.of_plan(
            path, spec.target, plan, memory=_memory(spec), options=spec.read
        )
    if samples.n_samples < 1:
        raise DataError(f"`{path}` must hold at least one sample, got none.")
    return samples


def _memory(spec: NodeSpec) -> int | None:
    return bytes_of(spec.memory) if spec.memory else None


def checkpoints_of(
    spec: NodeSpec, federation: Federation, samples: Samples
) -> Checkpoints:
    """Return where the node keeps its progress, and what that belongs to."""
    return Checkpoints(
        Path(spec.out) / CHECKPOINT_FILE,
        {
            "plan": federation.fingerprint(),
            "number of samples": samples.n_samples,
        },
    )


@dataclass(frozen=True, slots=True)
class Held:
    """How many samples of a node have each class, and a value of each feature.

    In a regression `classes` are the samples whose target is not zero.
    """

    classes: NDArray[np.intp]
    values: NDArray[np.intp]


def look_at(samples: FileSamples, plan: Plan) -> Held:
    """Read all samples, check every value and every label, and count them."""
    classes = np.zeros(samples.n_outputs, dtype=np.intp)
    values = np.zeros(samples.n_features, dtype=np.intp)
    with in_words_of_the_node():
        for X, T, _ in samples.chunks(CHUNK):
            if plan.is_exact:
                check_summable(X, plan.feature_names)
            classes += np.count_nonzero(T, axis=1)
            values += np.count_nonzero(~np.isnan(X), axis=1)
    return Held(classes, values)


def _shown_counts(plan: Plan, counts: NDArray[np.intp]) -> str:
    held = [(label, n) for label, n in zip(plan.classes, counts, strict=True) if n]
    lacking = [repr(c) for c, n in zip(plan.classes, counts, strict=True) if not n]
    text = ", ".join(f"{label!r} {n}" for label, n in held[:MOST_CLASSES_SHOWN])
    if len(held) > MOST_CLASSES_SHOWN:
        text += f" and {len(held) - MOST_CLASSES_SHOWN} more classes"
    if lacking:
        text += f"; no sample of {', '.join(lacking[:MOST_CLASSES_SHOWN])}"
    if len(lacking) > MOST_CLASSES_SHOWN:
        text += f" and {len(lacking) - MOST_CLASSES_SHOWN} more"
    return text


def _shown_reading(spec: NodeSpec, samples: FileSamples) -> str:
    """Return how a file was read, to end a line; nothing if it is as most are."""
    parts = [samples.dialect] if samples.dialect not in USUAL else []
    if said := shown_settings(spec.read):
        parts.append(f"read as node.toml says ({said})")
    return "".join(f"; {part}" for part in parts)


def _examine_data(
    spec: NodeSpec, federation: Federation, plan: Plan
) -> Generator[Finding, None, FileSamples | None]:
    """Look at the data, and return them if they can be used."""
    try:
        samples = samples_of(spec, plan)
        held = look_at(samples, plan)
    except InputError as exc:
        yield Finding("data", False, str(exc))
        return None
    found = f"{samples.n_samples} samples, {samples.n_features} features"
    yield Finding("data", True, found + _shown_reading(spec, samples))
    if not plan.is_regression:
        yield Finding("classes", True, _shown_counts(plan, held.classes))
    for warning in few_samples(samples.n_samples):
        yield Finding("few samples", None, warning)
    try:
        check_rows(spec, federation, samples.n_samples)
    except DataError as exc:
        yield Finding("min_rows", False, str(exc))
    try:
        check_numbers(spec, federation, numbers_held(plan, held.values.tolist()))
    except DataError as exc:
        yield Finding("min_cell", False, str(exc))
    return samples


def _examine_test(spec: NodeSpec, plan: Plan) -> Iterator[Finding]:
    def test() -> str:
        samples = samples_to_test_on(spec, plan)
        assert samples is not None
        held = look_at(samples, plan)
        said = f"{samples.n_samples} samples"
        if not plan.is_regression:
            said += f": {_shown_counts(plan, held.classes)}"
        return said + _shown_reading(spec, samples)

    if spec.test is not None:
        yield _finding("test", test)


def prepare_place(spec: NodeSpec, federation: Federation, plan: Plan) -> Path:
    """Return the folder `out`; the port that is to be opened is free as well."""
    check_listens(spec, federation)
    out = prepare_out(spec, plan)
    if spec.listen is not None:
        check_port("listen", spec.listen)
    return out


def prepare_out(spec: NodeSpec, plan: Plan) -> Path:
    """Return the folder for model, log and checkpoint, with enough room in it."""
    folder = Path(spec.out)
    units = sum(plan.inputs_of(layer) for layer in range(plan.most_layers + 1))
    needed = 4 * 8 * (plan.n_outputs * units + 2 * plan.n_features) + 2**20
    make_writable(folder, "out", private=True)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise InputError(
            f"`out`: the model and checkpoints need {needed / 1e6:.0f} MB in "
            f"`{folder}`, but only {free / 1e6:.0f} MB are free. Free some space, or "
            "choose another folder."
        )
    return folder


def examine(spec: NodeSpec, federation: Federation) -> Iterator[Finding]:
    """Check everything that must be right before `run`, and yield each finding."""
    plan, _ = settle_federation(federation)

    def plan_of() -> str:
        check_nodes(federation)
        largest = 8 * largest_letter(plan, len(federation.nodes)) / 1e6
        shown = f"{largest:,.0f}" if largest >= 10 else f"{largest:.2g}"
        return (
            f"{len(federation.nodes)} nodes, fingerprint "
            f"{federation.fingerprint()[:16]}, messages of at most {shown} MB"
        )

    identity: Identity | None = None

    def certificate() -> str:
        nonlocal identity
        files = spec.certificate, spec.key, spec.authorities
        identity = read_identity(*files, spec.name)
        return f"{spec.name}, valid until {identity.expires:%Y-%m-%d}"

    def revoked() -> str:
        nonlocal identity
        assert identity is not None
        trusted = identity.authorities_pem
        lists = read_revoked(spec.revoked, spec.authorities, trusted)
        identity = replace(identity, revoked=lists)
        identity.check_usable()
        n = len(lists.moments)
        until = f"; the list is valid until {lists.ends:%Y-%m-%d}" if lists.ends else ""
        return f"{n} certificate{'s' * (n != 1)} revoked{until}"

    def out() -> str:
        return str(prepare_out(spec, plan))

    yield _finding("plan", plan_of)
    yield _finding("certificate", certificate)
    if spec.revoked is not None and identity is not None:
        yield _finding("revoked", revoked)
    samples = yield from _examine_data(spec, federation, plan)
    yield from _examine_test(spec, plan)
    yield _masks_of(spec, federation)
    if federation.is_elastic:
        yield Finding("quorum", None, _quorum_of(federation))
    if plan.is_private:
        yield _finding("privacy", partial(_budget_of, spec, federation))
    yield _finding("out", out)
    if samples is not None:
        yield from _examine_checkpoint(checkpoints_of(spec, federation, samples), plan)
    yield from _examine_port(spec, federation)
    if spec.metrics is not None:
        yield _finding("metrics", partial(_free, "metrics", spec.metrics))
    if spec.page is not None:
        yield _page_of(spec.page)
    yield from _reach_all(spec, federation, identity)


def _examine_port(spec: NodeSpec, federation: Federation) -> Iterator[Finding]:
    """Say whether the port can be opened; a node that only dials has none."""

    def port() -> str:
        check_listens(spec, federation)
        return "" if spec.listen is None else _free("listen", spec.listen)

    found = _finding("port", port)
    if found.text:
        yield found


def _free(field: str, address: str) -> str:
    check_port(field, address)
    return f"{address} is free"


def _budget_of(spec: NodeSpec, federation: Federation) -> str:
    """Say what the training may spend of privacy, and what this node has spent."""
    plan, spent = federation.training, spent_so_far(Path(spec.out), federation)
    return (
        f"epsilon {plan.epsilon:g}, delta {plan.delta:g} against any "
        f"{plan.colluders} of the others; spent by this node so far: {spent:.3g}"
    )


def _page_of(address: str) -> Finding:
    """Say whether the status page can be shown, and whether others can read it."""
    try:
        with open_port(address) as port:
            for warning in open_to_others(port):
                return Finding("page", None, warning)
    except TransportError as exc:
        return Finding("page", False, str(exc))
    return Finding("page", True, f"{address} is free; only this machine can read it")


def _quorum_of(federation: Federation) -> str:
    """Say how many nodes go on without the others."""
    others = len(federation.nodes) - (federation.quorum or 0)
    return (
        f"{federation.quorum} of {len(federation.nodes)} nodes continue if up to "
        f"{others} are gone for {leave_after_of(federation):g} s; a node that leaves "
        "or comes back reveals to the others how many rows it has"
    )


def _masks_of(spec: NodeSpec, federation: Federation) -> Finding:
    """Say who would have to work together to see what this node sends."""
    if not federation.secure:
        text = "none, because of `secure = false`: others see sums of this node's rows"
        return Finding("masks", None, text)
    if federation.training.folds == "nodes":
        text = '`folds = "nodes"` reveals each node\'s sums of layer 0 to all nodes'
        return Finding("masks", None, text)
    if not federation.hides_nodes:
        text = (
            "with two nodes, each can subtract its own sums from the total, which "
            "leaves the other's; masks hide them only from third parties"
        )
        return Finding("masks", None, text)
    partners = mask_partners(len(federation.nodes), federation.n_partners)
    names = [federation.names[j] for j in partners[federation.index(spec.name)]]
    text = (
        f"shared with {few(names)}: only if all of them colluded could they see this "
        "node's sums"
    )
    return Finding("masks", True, text)


def _examine_checkpoint(checkpoints: Checkpoints, plan: Plan) -> Iterator[Finding]:
    def checkpoint() -> str:
        checkpoints.check()
        saved = checkpoints.load(plan)
        if saved.furthest is not None:
            last = saved.furthest.n_layers - 1
            return f"layers 0 to {last}; training resumes from there"
        if saved.totals:
            return "sums of layer 0; training resumes from there"
        return "it cannot be used; training starts from scratch"

    if checkpoints.path.exists() or checkpoints.aside.exists():
        yield _finding("checkpoint", checkpoint)


def _finding(what: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(what, True, check())
    except (InputError, TransportError) as exc:
        return Finding(what, False, str(exc))


def check_port(field: str, address: str) -> None:
    """Check that a port can be opened: nobody else has, and the address is here.

    Parameters
    ----------
    field : str
        The setting of the node's file that asks for it.
    address : str
        Its value.
    """
    host, port = split_address(address)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as exc:
            raise TransportError(  # not the file's fault: it may pass by itself
                f"`{field}`: {address} cannot be opened ({exc.strerror}). Either "
                "another program uses the port, or this machine has no such address. "
                "Stop that program, or choose another address."
            ) from exc


def _reach_all(
    spec: NodeSpec, federation: Federation, identity: Identity | None
) -> Iterator[Finding]:
    node = federation.index(spec.name)
    try:
        neighbours = neighbours_of(node, federation, spec.peers)
    except InputError as exc:
        yield Finding("neighbours", False, str(exc))
        return
    for one in neighbours:
        if one.address is None:
            yield Finding(
                one.name,
                None,
                "connects to this node, so it cannot be tested from here",
            )
        elif identity is None:
            text = (
                f"{one.address}: not tested, as this node has no certificate of its own"
            )
            yield Finding(one.name, None, text)
        else:
            yield reach(spec, identity, one.name, one.address)


def reach(spec: NodeSpec, identity: Identity, name: str, address: str) -> Finding:
    """Check whether this node and a neighbour that is running accept each other.

    The neighbour's certificate is judged by the same code as when the node runs.
    """
    looked_at = certificate_of_peer(name, address, identity)
    try:
        theirs = asyncio.run(asyncio.wait_for(looked_at, REACH))
        _be_accepted(spec, name, address, theirs)
    except Refused as exc:
        return Finding(name, False, str(exc))
    except (ssl.SSLError, ProtocolError) as exc:
        why = getattr(exc, "reason", None) or exc
        return Finding(name, False, f"{address}: TLS failed ({why})")
    except OSError as exc:
        text = exc.strerror or str(exc) or f"no answer within {REACH:g} s"
        return Finding(name, None, f"{address}: not reachable ({text}); is it running?")
    return Finding(name, True, f"{address}: reachable, and its certificate is valid")


def _be_accepted(
    spec: NodeSpec, name: str, address: str, theirs: x509.Certificate
) -> None:
    """Show this node's certificate to a neighbour, whose own was looked at before."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False  # that one certificate is trusted, and no other
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=theirs.public_bytes(Encoding.DER))
    context.load_cert_chain(spec.certificate, spec.key)
    context.set_alpn_protocols(["h2"])
    with (
        socket.create_connection(split_address(address), timeout=REACH) as bare,
        context.wrap_socket(bare, server_hostname=name) as secured,
    ):
        secured.settimeout(REACH)
        # A certificate that is refused shows when something is read.
        secured.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
        if not secured.recv(1):
            raise Refused(
                f"{name} cannot be reached at {address}: {DIALLING['Socket closed']}",
                Refusal.CERTIFICATE,
            )
