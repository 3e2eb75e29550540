"""Every exception of this package.

::

    DssfnError
    ├── InputError (also a ValueError)   what was given cannot be used
    │   ├── PlanError                    a setting
    │   ├── DataError                    samples, labels, a data file
    │   ├── TopologyError                a graph or a mixing matrix
    │   ├── ModelFileError               a model file
    │   └── IdentityError                a certificate or its key
    ├── NumericalError                   a computation that cannot be carried out
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
    """The base class of all errors that this package raises on purpose.

    Examples
    --------
    >>> import dssfn
    >>> try:
    ...     dssfn.load_network("no-such-file.safetensors")
    ... except dssfn.DssfnError as exc:
    ...     print(type(exc).__name__)
    ModelFileError
    """


class InputError(DssfnError, ValueError):
    """An argument, a setting or a file cannot be used.

    Examples
    --------
    It is also a ValueError:

    >>> import dssfn
    >>> try:
    ...     dssfn.build_topology("ring", 4)
    ... except ValueError as exc:
    ...     isinstance(exc, dssfn.InputError)
    True
    """


class PlanError(InputError):
    """A setting is out of range, or two settings contradict each other.

    Examples
    --------
    >>> from dssfn import Plan, PlanError
    >>> try:
    ...     Plan(n_features=4, classes=("no", "yes"), seed=-1)
    ... except PlanError as exc:
    ...     print(exc)
    `seed` must be a whole number of at least 0, got -1.
    """


class DataError(InputError):
    """Samples, labels or a data file cannot be used.

    Examples
    --------
    >>> from dssfn import DataError, SSFNClassifier
    >>> try:
    ...     SSFNClassifier().fit([[1.0], [2.0]], ["yes", "yes"])
    ... except DataError as exc:
    ...     print("at least two classes" in str(exc))
    True
    """


class TopologyError(InputError):
    """A graph or a mixing matrix cannot be used for consensus.

    Examples
    --------
    >>> from dssfn import Topology, TopologyError
    >>> try:
    ...     Topology([[1.0, 0.0], [0.0, 1.0]], name="apart")
    ... except TopologyError as exc:
    ...     print("must be connected" in str(exc))
    True
    """


class ModelFileError(InputError):
    """A model file is missing, damaged, not a dssfn model, or too new to be read.

    Examples
    --------
    >>> from dssfn import ModelFileError, load_network
    >>> try:
    ...     load_network("no-such-file.safetensors")
    ... except ModelFileError as exc:
    ...     print("There is no model file" in str(exc))
    True
    """


class IdentityError(InputError):
    """A certificate, its key or its authorities cannot be used."""


class NumericalError(DssfnError):
    """A computation gave infinite numbers or NaN, or could not be carried out.

    Examples
    --------
    >>> from dssfn import DssfnError, InputError, NumericalError
    >>> issubclass(NumericalError, DssfnError), issubclass(NumericalError, InputError)
    (True, False)
    """


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
    """A fast scheme is not accurate enough, so a slower one is used instead."""


class OverfitWarning(UserWarning):
    """A network predicts its training samples perfectly, and others much worse.

    Examples
    --------
    To turn it off:

    >>> import warnings
    >>> from dssfn import OverfitWarning
    >>> warnings.simplefilter("ignore", OverfitWarning)
    """
