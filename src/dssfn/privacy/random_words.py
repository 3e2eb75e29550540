"""Random words from a key, by AES-256 in counter mode.

The same key gives the same words: noise that has to be made again after a restart is
the same noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dssfn.masking.ciphers import add_stream

Words = NDArray[np.uint64]


class RandomWords:
    """Words of 64 bits that nobody can guess who has not the key.

    Parameters
    ----------
    key : bytes
        32 bytes, for one use.

    Examples
    --------
    >>> words, same = RandomWords(bytes(32)), RandomWords(bytes(32))
    >>> bool((words.take(3) == same.take(3)).all())
    True
    """

    def __init__(self, key: bytes) -> None:
        self._key, self._n_taken = key, 0

    def take(self, n: int) -> Words:
        """Return the next n words."""
        words = np.zeros(n, dtype=np.int64)
        add_stream(words, self._key, self._n_taken, is_added=True)
        self._n_taken += 1
        return words.view(np.uint64)
