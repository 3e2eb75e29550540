"""What nodes have sent over bad links, and what became of it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from dssfn.parties import Post


@dataclass(slots=True)
class Posts:
    """What was sent over all arcs.

    Parameters
    ----------
    letters : int
        Letters, those that were sent again included.
    resent : int
        How many of them were sent again.
    lost : int
        How many were lost: by a link, or because the receiver was away.
    duplicated : int
        How many of them came twice.
    acknowledgements : int
        What was sent beside letters.
    bytes_total : int
        Bytes of both.
    """

    letters: int = 0
    resent: int = 0
    lost: int = 0
    duplicated: int = 0
    acknowledgements: int = 0
    bytes_total: int = 0


@dataclass(slots=True)
class Account:
    """What was sent, in all and by layer.

    Parameters
    ----------
    total : Posts
        All together.
    by_layer : dict
        By the layer that it was about; -1 is what was agreed on before layer 0.
    """

    total: Posts = field(default_factory=Posts)
    by_layer: defaultdict[int, Posts] = field(
        default_factory=lambda: defaultdict(Posts)
    )

    def send(self, layer: int, post: Post, n_copies: int) -> None:
        """Note that something about a layer was sent, of which so many copies come."""
        for posts in (self.total, self.by_layer[layer]):
            posts.bytes_total += post.n_bytes
            posts.letters += post.is_letter
            posts.resent += post.is_resent
            posts.acknowledgements += not post.is_letter
            posts.duplicated += post.is_letter and n_copies > 1

    def lose(self, layer: int, post: Post) -> None:
        """Note that something about a layer was lost."""
        for posts in (self.total, self.by_layer[layer]):
            posts.lost += post.is_letter
