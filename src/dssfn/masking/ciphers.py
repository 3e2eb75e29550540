"""The ciphers behind masks: secrets of two nodes, and key streams made of them.

Every node makes a key for one attempt at a training and forgets it with that. Of its
own key and the public half of another node's it makes a secret that only the two have
(X25519, HKDF with SHA-256); the numbers of both nodes go into it, so that nobody gains
by announcing somebody else's key. A key stream is the output of AES-256 in counter
mode; the number of the averaging is the upper half of the counter, so that two
averagings never share a block.

The package cryptography is imported when it is used: plans without masks do without.
"""

from __future__ import annotations

import numpy as np

from dssfn._typing import Integers, NodeId
from dssfn.errors import InputError, NumericalError, ProtocolError

PUBLIC_BYTES = 32
AT_ONCE = 2**15  # numbers of a key stream: they stay in the processor's cache
_KEY_BYTES = 32
_ROOM = 2  # numbers that the cipher wants behind its output
_HALF = 8  # bytes of a counter
_PURPOSE = b"dssfn masks 1"


class EphemeralKey:
    """A key that a node makes for one attempt, and never stores.

    Examples
    --------
    >>> mine, yours = EphemeralKey(0), EphemeralKey(1)
    >>> secret = mine.secret_with(1, yours.public, b"a training")
    >>> secret == yours.secret_with(0, mine.public, b"a training")
    True
    """

    def __init__(self, node: NodeId) -> None:
        try:
            from cryptography.hazmat.primitives.asymmetric.x25519 import (
                X25519PrivateKey,
            )
        except ImportError as exc:  # pragma: no cover
            raise InputError(
                "Masks need the package cryptography. Install it with: pip install "
                "'dssfn[grpc]'; or write `secure = false` in the plan of all nodes."
            ) from exc
        self._node, self._private = node, X25519PrivateKey.generate()
        self.public = self._private.public_key().public_bytes_raw()

    def secret_with(self, other: NodeId, public: bytes, about: bytes) -> bytes:
        """Return the secret of this node and another one.

        Parameters
        ----------
        other : int
            The other node.
        public : bytes
            The public half of its key.
        about : bytes
            What the secret is for: another training has another one.
        """
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        try:
            theirs = X25519PublicKey.from_public_bytes(public)
            shared = self._private.exchange(theirs)
        except ValueError as exc:  # a point of low order
            raise ProtocolError(
                "a mask key from which no shared secret can be derived"
            ) from exc
        both = b"".join(sorted((self.public, public)))
        pair = b"".join(
            node.to_bytes(_HALF, "big") for node in sorted((self._node, other))
        )
        info = _PURPOSE + pair + about
        return HKDF(hashes.SHA256(), _KEY_BYTES, salt=both, info=info).derive(shared)


def add_stream(values: Integers, key: bytes, step: int, *, is_added: bool) -> None:
    """Add the key stream of an averaging to values, modulo 2^64, or subtract it.

    Parameters
    ----------
    values : contiguous array of int64
        What is changed.
    key : bytes
        A secret of two nodes.
    step : int
        The number of the averaging; with one key, each is for one message only.
    is_added : bool
        Whether the stream is added; otherwise it is subtracted.

    Examples
    --------
    >>> values = np.array([1, 2, 3])
    >>> add_stream(values, bytes(32), 5, is_added=True)
    >>> add_stream(values, bytes(32), 5, is_added=False)
    >>> values.tolist()
    [1, 2, 3]
    """
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    if values.dtype != np.int64 or not values.flags.c_contiguous:
        raise NumericalError(
            "A masked message must be a one-dimensional array of integers."
        )
    counter = step.to_bytes(_HALF, "big") + bytes(_HALF)
    encryptor = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
    zeros = memoryview(bytes(8 * min(AT_ONCE, values.size)))
    buffer = bytearray(len(zeros) + 8 * _ROOM)
    stream = np.frombuffer(buffer, dtype="<u8")
    flat = values.reshape(-1).view(np.uint64)
    combine = np.add if is_added else np.subtract
    for start in range(0, flat.size, AT_ONCE):
        part = flat[start : start + AT_ONCE]
        encryptor.update_into(zeros[: 8 * part.size], buffer)
        combine(part, stream[: part.size], out=part)
