"""Every exception of this package.

::

    DssfnError
    ├── InputError (also a ValueError)   what was given cannot be used
    │   ├── PlanError                    a setting
    │   ├── DataError                    samples, labels, a data file
    │   ├── TopologyError                a graph or a mixing matrix
    │   ├── ModelFileError               a model file
    │   └── IdentityError                a certificate or its key
    ├── NumericalError                   the arithmetic left the finite numbers
    └── TransportError                   trouble on the wire
        ├── PeerTimeout                  a neighbour was silent for too long
        ├── ProtocolError                a neighbour sent what it must not
        ├── AgreementError               a neighbour follows another plan
        └── Regroup                      a neighbour was restarted: go back together

A message names the argument in backticks, the rule, what came, and the way out.
The command line ends with exit code 2 on an `InputError` and 1 on the others.
"""

from __future__ import annotations


class DssfnError(Exception):
    """The base class of everything that this package raises on purpose."""


class InputError(DssfnError, ValueError):
    """An argument, a setting or a file cannot be used."""


class PlanError(InputError):
    """A setting is out of its range, or two settings contradict each other."""


class DataError(InputError):
    """Samples, labels or a data file cannot be used."""


class TopologyError(InputError):
    """A graph or a mixing matrix breaks one of the rules of consensus."""


class ModelFileError(InputError):
    """A model file is damaged, foreign, or newer than this version reads."""


class IdentityError(InputError):
    """A certificate, its key or its authorities cannot be used."""


class NumericalError(DssfnError):
    """The arithmetic left the finite numbers."""


class TransportError(DssfnError):
    """The exchange with a neighbour failed."""


class PeerTimeout(TransportError):
    """A neighbour was silent for too long; `peer` is its name, where it is known."""

    def __init__(self, text: str = "", *, peer: str | None = None) -> None:
        super().__init__(text)
        self.peer = peer


class ProtocolError(TransportError):
    """A neighbour sent something that the protocol forbids."""


class AgreementError(TransportError, InputError):
    """A neighbour follows another plan."""


class Regroup(TransportError):
    """A neighbour was restarted, and all nodes go back to the last layer they share."""


class AccuracyWarning(UserWarning):
    """A fast way was less accurate than asked for, and a slower one was used."""


class OverfitWarning(UserWarning):
    """A network knows its training samples by heart, and others much less well."""
