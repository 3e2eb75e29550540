"""What a node has released, and the noise that it adds.

The noise of a release follows from a secret key, from the sums themselves, and from the
agreed numbers that they were computed with. A node that has to send the same sums
again, after a restart or because others had to go back, adds the same noise, so that
nothing more is told. Other sums, as of other data, get other noise and count as another
release, for which there must be a budget left. Other agreed numbers do so always, also
where the sums happen to be the same: else a member could ask about rows, by a change of
the agreed numbers that only some rows feel.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from dssfn._typing import Array, Integers
from dssfn.errors import PlanError
from dssfn.privacy.budget import Budget
from dssfn.privacy.discrete_gaussian import discrete_gaussian
from dssfn.privacy.random_words import RandomWords

KEY_BYTES = 32


class Release(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sums that a node has sent, with noise.

    Parameters
    ----------
    name : str
        What they are; see `RELEASES`.
    digest : str
        Tells whether others are the same, to those who have the key.
    factor : float
        The noise, in units of what one row can change.
    """

    name: str
    digest: str
    factor: float


@dataclass(slots=True)
class NoiseSource:
    """The noise of one node in one training, and what it has been spent on.

    Parameters
    ----------
    budget : Budget
        What the training may spend.
    key : bytes
        The node's secret, which never leaves it.
    releases : list of Release
        What was sent so far.
    save : callable
        Called with this before anything new is sent.
    known : callable
        Returns what was released, by whoever else has the same key.
    """

    budget: Budget
    key: bytes = field(default_factory=lambda: secrets.token_bytes(KEY_BYTES))
    releases: list[Release] = field(default_factory=list)
    save: Callable[[NoiseSource], None] = lambda source: None
    known: Callable[[], Sequence[Release]] = tuple

    @property
    def spent(self) -> float:
        """The epsilon of all that was sent."""
        return self.budget.spent(release.factor for release in self.releases)

    def share(
        self, name: str, sums: Integers, variance: int, agreed: Sequence[Array] = ()
    ) -> Integers:
        """Return this node's share of the noise of a release, to be added to its sums.

        Parameters
        ----------
        name : str
            What is released.
        sums : int64 array
            The node's sums, without noise.
        variance : int
            The variance of the share.
        agreed : sequence of arrays
            The agreed numbers that the sums were computed with.
        """
        content = np.ascontiguousarray(sums, dtype="<i8")
        about = f"{name} {variance} {content.shape} {len(agreed)} ".encode()
        digest = hmac.new(self.key, b"sums " + about, "sha256")
        for numbers in agreed:
            digest.update(repr(numbers.shape).encode())
            digest.update(np.ascontiguousarray(numbers, dtype="<f8").data)
        digest.update(content.data)
        self._account(Release(name, digest.hexdigest(), self.budget.factor_of(name)))
        key = hmac.digest(self.key, b"noise " + digest.digest(), "sha256")
        noise = discrete_gaussian(variance, content.size, RandomWords(key))
        return noise.reshape(content.shape)

    def _account(self, release: Release) -> None:
        """Note a release, for which there must be a budget; the same one is free."""
        more = [one for one in self.known() if one not in self.releases]
        self.releases.extend(more)
        if release in self.releases:
            return
        factors = [one.factor for one in (*self.releases, release)]
        if not self.budget.allows(factors):
            raise PlanError(
                f"`epsilon`: the budget of {self.budget.epsilon:g} is spent. This "
                f"node has sent its sums ({release.name}) before, and now they "
                "differ, because some node's data have changed or a node started "
                "afresh without its ledger; both together would cost "
                f"{self.budget.spent(factors):.3g}. Restore what has changed, or "
                "agree on a new plan, knowing that both budgets add up."
            )
        self.releases.append(release)
        self.save(self)
