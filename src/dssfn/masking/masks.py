"""The masks of the nodes of one host."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dssfn._typing import Integers, NodeId, Numbers
from dssfn.errors import NumericalError, ProtocolError
from dssfn.masking.ciphers import EphemeralKey, add_stream
from dssfn.programs import Message

_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")


@dataclass(slots=True)
class Masks:
    """What hides the messages of some nodes, for one attempt at a training.

    Parameters
    ----------
    secrets : mapping of mappings
        The secret of each of these nodes with each of its partners; no two are equal.
    on_use : callable, optional
        Called with the name of every key stream, which is used this once.

    Notes
    -----
    The key of a stream follows from the secret and from all totals so far. A node that
    was told another total than its partners has other streams from then on, so that
    what it sends, and they, stays noise: nobody can lie to one node to learn what
    another one has.
    """

    secrets: Mapping[NodeId, Mapping[NodeId, bytes]]
    on_use: Callable[[str], None] = lambda name: None
    _latest: dict[NodeId, int] = field(default_factory=dict)
    _heard: bytes = b""

    def __post_init__(self) -> None:
        for secrets in self.secrets.values():
            if len(set(secrets.values())) < len(secrets):
                raise ProtocolError("two mask partners of a node have the same secret")

    def hear(self, total: Numbers) -> None:
        """Take note of a total, which all nodes must have heard alike."""
        content = np.ascontiguousarray(total, dtype="<i8")
        heard = hashlib.sha256(self._heard + repr(content.shape).encode())
        heard.update(content.data)
        self._heard = heard.digest()

    def cover(self, node: NodeId, values: Integers, step: int) -> None:
        """Mask a node's message in an averaging, in place.

        A key stream that hides two messages would reveal their difference, so a step
        must come after all before it.
        """
        if step <= self._latest.get(node, -1):
            raise NumericalError(
                f"The masks of averaging {step} must be used only once, but have been "
                "used before."
            )
        self._latest[node] = step
        for partner, secret in self.secrets[node].items():
            key = hmac.digest(secret, self._heard, "sha256")
            self.on_use(stream_name(key, step))
            add_stream(values, key, step, is_added=node < partner)


def leaving(
    message: Message, node: NodeId, *, step: int, masks: Masks | None
) -> Numbers:
    """Return the numbers of a message as they leave a node: masked, if there are masks.

    Only integers can be masked; a plan whose messages are others is not secure.
    """
    values = message.make()
    if masks is None:
        return values
    if not message.exact:
        raise NumericalError("A message of real numbers cannot be masked.")
    masks.cover(node, values, step)
    return values


def stream_name(secret: bytes, step: int) -> str:
    """Return a name of a key stream that tells nothing of it, of letters a to p.

    >>> stream_name(bytes(32), 1)
    'oomjedcibmckfecj'
    """
    digest = hashlib.sha256(b"name" + secret + step.to_bytes(8, "big")).hexdigest()
    return digest[:16].translate(_LETTERS)


def masks_in_one_place(partners: Sequence[Sequence[NodeId]]) -> Masks:
    """Return the masks of nodes that are all in this process."""
    keys, about = [EphemeralKey(node) for node in range(len(partners))], b"in one place"
    return Masks(
        {
            node: {
                other: keys[node].secret_with(other, keys[other].public, about)
                for other in others
            }
            for node, others in enumerate(partners)
        }
    )
