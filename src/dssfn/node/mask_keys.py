"""How nodes agree on masks: keys that are signed, flooded, verified and forgotten.

Every attempt at a training begins with new keys. A node signs the public half of its
key with the key of its certificate, for this plan, this command and this attempt; the
signed keys of all nodes go from neighbour to neighbour, so that two nodes share a
secret which those between them do not know. So no key stream is ever used twice: the
keys die with the attempt, and within it every averaging has a stream of its own.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from dssfn._typing import NodeId
from dssfn.consensus import Flood
from dssfn.driver import run_over
from dssfn.errors import IdentityError, ProtocolError
from dssfn.federation import Federation
from dssfn.masking import (
    EphemeralKey,
    Masks,
    mask_partners,
    packed,
    record_size,
    united,
    unpacked,
)
from dssfn.masking.ciphers import PUBLIC_BYTES
from dssfn.node.agreement import AGREEMENT, KEYS, Assembly
from dssfn.node.identity import Identity
from dssfn.node.renewal import Keyring
from dssfn.node.signatures import is_signed_by, signature_of
from dssfn.node.verification import (
    certificates_in,
    check_dates,
    check_name,
    check_signers,
    check_uses,
    day,
)
from dssfn.progress import Progress

log = logging.getLogger("dssfn.node")

MOST_BYTES = 16_384  # of a record: a key, a signature, and a chain of certificates


class Announcement(
    msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True
):
    """A node's public key for masks, with what proves that it is this node's."""

    public: bytes
    signature: bytes
    certificate_pem: bytes


@dataclass(frozen=True, slots=True)
class MaskKeys:
    """Agrees on the masks of one node.

    Parameters
    ----------
    federation : Federation
        The plan, with the names of all nodes.
    command : str
        What the nodes meet for; see `Federation.agreed`.
    keyring : Keyring
        Knows the node's own identity, which may be renewed between two attempts.
    """

    federation: Federation
    command: str
    keyring: Keyring

    def agree(
        self,
        everybody: Assembly,
        epoch: int,
        start: Progress | None = None,
        members: Sequence[NodeId] | None = None,
    ) -> Masks:
        """Return masks for one attempt, once the keys of all nodes are here.

        Parameters
        ----------
        everybody : Assembly
            All nodes that take part.
        epoch : int
            The number of the attempt.
        start : Progress, optional
            What all nodes go on from, which must be the same for all.
        members : sequence of int, optional
            The numbers in the plan of those that take part; by default all nodes do.

        Raises
        ------
        IdentityError
            If this node's own certificate has ended meanwhile, or was revoked.
        ProtocolError
            If the key of another node is not its own, or that node may sign no more.
        """
        identity = self.keyring.current()
        identity.check_usable()
        every = self.federation.names
        names = [every[j] for j in members] if members is not None else every
        node, n_nodes = everybody.node, len(names)
        key = EphemeralKey(node)
        pem = _without_text(identity.certificate_pem)
        claim = self._claim(names[node], epoch, key.public)
        signature = signature_of(identity.key_pem, claim)
        mine = msgspec.msgpack.encode(Announcement(key.public, signature, pem))
        records = run_over(
            everybody.transport,
            Flood(everybody.topology, united),
            {node: packed(mine, node, n_nodes, MOST_BYTES)},
            layer=AGREEMENT,
            step=KEYS,
        )[node]
        found = unpacked(records)
        digest = hashlib.sha256(b"".join(found)).hexdigest()
        publics = [
            self._verified(name, epoch, record, identity)
            for name, record in zip(names, found, strict=True)
        ]
        if len(set(publics)) < len(publics):
            raise ProtocolError("two nodes have announced the same mask key")
        if not everybody.have_same_digest(digest):
            raise ProtocolError("nodes have received different mask keys")
        about = bytes.fromhex(digest) + _digest_of(start)
        partners = self._partners(n_nodes)[node]
        secrets = {j: key.secret_with(j, publics[j], about) for j in partners}
        log.info("messages are masked with %s", _listed([names[j] for j in partners]))
        return Masks({node: secrets}, on_use=lambda name: log.debug("mask %s", name))

    def _partners(self, n_nodes: int) -> tuple[tuple[NodeId, ...], ...]:
        """Return who shares masks with whom; of fewer nodes than all, more than asked.

        A regular graph of an odd number of nodes has an even degree.
        """
        degree = self.federation.n_partners
        if degree is not None and n_nodes < len(self.federation.nodes):
            degree = min(degree + n_nodes * degree % 2, n_nodes - 1)
        return mask_partners(n_nodes, degree)

    def _claim(self, name: str, epoch: int, public: bytes) -> bytes:
        """Return what a node signs: that a key is its own, for one attempt."""
        plan = hashlib.sha256(self.federation.agreed(self.command)).digest()
        attempt = epoch.to_bytes(8, "big")
        return b"dssfn mask key\n" + plan + attempt + public + name.encode()

    def _verified(
        self, name: str, epoch: int, record: bytes, identity: Identity
    ) -> bytes:
        """Return the public key of a node, which it must have signed itself."""
        try:
            said = msgspec.msgpack.decode(record, type=Announcement)
            if len(said.public) != PUBLIC_BYTES:
                raise IdentityError(f"it has {len(said.public)} bytes")
            chain = certificates_in(f"of {name}", said.certificate_pem)
            roots = certificates_in("authorities", identity.authorities_pem)
            check_name(chain[0], f"of {name}", name)
            check_uses(chain[0], f"of {name}")
            check_signers(chain, f"of {name}", roots, "authorities")
            claim = self._claim(name, epoch, said.public)
            if not is_signed_by(chain[0], said.signature, claim):
                raise IdentityError("its signature does not match its certificate")
            # Only now is it certain that it was this node who used it.
            _check_standing(chain, name, identity)
            check_dates(chain[0], f"of {name}")
        # The library of certificates raises what it likes at damaged ones.
        except (IdentityError, ValueError, TypeError, RecursionError) as exc:
            raise ProtocolError(
                f"the mask key that came in the name of {name} is not its own ({exc})"
            ) from exc
        return said.public


def _check_standing(
    chain: Sequence[x509.Certificate], name: str, identity: Identity
) -> None:
    """Refuse a certificate that has ended, or that was revoked, or one above it."""
    now, end = datetime.now(UTC), chain[0].not_valid_after_utc
    if now > end:
        fault = f"expired on {day(end)}; it is now {day(now)}"
    elif any(identity.is_revoked(one) for one in chain):
        fault = "was revoked"
    else:
        return
    raise ProtocolError(
        f"Node {name} signed its mask key with a certificate that {fault}. Its "
        "organisation must replace the certificate and restart that node. Then start "
        "this node again: all nodes resume from their checkpoints."
    )


def _without_text(pem: bytes) -> bytes:
    """Return the certificates of a file without what may stand between them."""
    chain = certificates_in("certificate", pem)
    return b"".join(one.public_bytes(Encoding.PEM) for one in chain)


def _digest_of(start: Progress | None) -> bytes:
    """Return a digest of what nodes go on from; nothing for the very start."""
    if start is None:
        return b""
    return hashlib.sha256(start.flat().astype("<f8").tobytes()).digest()


def mask_keys_of(
    federation: Federation, command: str, keyring: Keyring
) -> MaskKeys | None:
    """Return what agrees on masks, if the plan has messages masked."""
    if not federation.secure or len(federation.nodes) == 1:
        return None
    return MaskKeys(federation, command, keyring)


def flood_size(n_nodes: int) -> int:
    """Return how many numbers the keys of all nodes take."""
    return n_nodes * record_size(MOST_BYTES)


def _listed(names: list[str]) -> str:
    if len(names) > 8:
        return f"{len(names)} partners"
    return ", ".join(names)
