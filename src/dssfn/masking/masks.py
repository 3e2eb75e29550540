"""The masks of the nodes of one host."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dssfn._typing import Integers, NodeId, Numbers
from dssfn.errors import NumericalError
from dssfn.masking.ciphers import EphemeralKey, add_stream
from dssfn.programs import Message

_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")


@dataclass(slots=True)
class Masks:
    """What hides the messages of some nodes, for one attempt at a training.

    Parameters
    ----------
    secrets : mapping of mappings
        The secret of each of these nodes with each of its partners.
    on_use : callable, optional
        Called with the name of every key stream, which is used this once.
    """

    secrets: Mapping[NodeId, Mapping[NodeId, bytes]]
    on_use: Callable[[str], None] = lambda name: None
    _latest: dict[NodeId, int] = field(default_factory=dict)

    def cover(self, node: NodeId, values: Integers, step: int) -> None:
        """Mask a node's message in an averaging, in place.

        A key stream that hides two messages would reveal their difference, so a step
        must come after all before it.
        """
        if step <= self._latest.get(node, -1):
            raise NumericalError(
                f"The masks of averaging {step} must be used once; they have been used."
            )
        self._latest[node] = step
        for partner, secret in self.secrets[node].items():
            self.on_use(stream_name(secret, step))
            add_stream(values, secret, step, is_added=node < partner)


def leaving(
    message: Message, node: NodeId, *, step: int, masks: Masks | None
) -> Numbers:
    """Return the numbers of a message as they leave a node: masked, if there are masks.

    Only integers can be masked; a plan whose messages are others is not secure.
    """
    values = message.make()
    if masks is not None:
        assert message.exact
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
    keys = [EphemeralKey() for _ in partners]
    return Masks(
        {
            node: {
                other: keys[node].secret_with(keys[other].public, b"in one place")
                for other in others
            }
            for node, others in enumerate(partners)
        }
    )
