"""The ciphers behind masks: secrets of two nodes, and key streams made of them.

Every node makes a key for one attempt at a training and forgets it with that. Of its
own key and the public half of another node's it makes a secret that only the two have
(X25519, HKDF with SHA-256). A key stream is the output of AES-256 in counter mode; the
number of the averaging is the upper half of the counter, so that two averagings never
share a block.
"""

from __future__ import annotations

import numpy as np

from dssfn._typing import Integers
from dssfn.errors import InputError, ProtocolError

try:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.x25519 import (
        X25519PrivateKey,
        X25519PublicKey,
    )
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
except ImportError as exc:  # pragma: no cover
    raise InputError(
        "Masks need the package cryptography. Install it with: pip install "
        "'dssfn[grpc]'; or write `secure = false` in the plan, for all nodes."
    ) from exc

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
    >>> mine, yours = EphemeralKey(), EphemeralKey()
    >>> secret = mine.secret_with(yours.public, b"a training")
    >>> secret == yours.secret_with(mine.public, b"a training")
    True
    """

    def __init__(self) -> None:
        self._private = X25519PrivateKey.generate()
        self.public = self._private.public_key().public_bytes_raw()

    def secret_with(self, public: bytes, about: bytes) -> bytes:
        """Return the secret of this node and another one.

        Parameters
        ----------
        public : bytes
            The public half of the other node's key.
        about : bytes
            What the secret is for: another training has another one.
        """
        try:
            other = X25519PublicKey.from_public_bytes(public)
            shared = self._private.exchange(other)
        except ValueError as exc:  # a point of low order
            raise ProtocolError(
                "a mask key that nobody can share a secret with"
            ) from exc
        both = b"".join(sorted((self.public, public)))
        hkdf = HKDF(hashes.SHA256(), _KEY_BYTES, salt=both, info=_PURPOSE + about)
        return hkdf.derive(shared)


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
