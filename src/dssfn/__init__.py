"""Train one neural network across nodes that cannot pool their data."""

from typing import TYPE_CHECKING, Any

from dssfn._version import __version__
from dssfn.config import Plan
from dssfn.errors import (
    DataError,
    DssfnError,
    InputError,
    ModelFileError,
    NumericalError,
    PlanError,
    TopologyError,
)
from dssfn.modelfile import load_network, save_network
from dssfn.network import Network
from dssfn.shard import Shard
from dssfn.simulator import Simulation, Traffic, simulate
from dssfn.topology import Topology, build_topology
from dssfn.training import LayerRecord, train_node

if TYPE_CHECKING:
    from dssfn.estimators import DSSFNClassifier, SSFNClassifier

__all__ = [
    "DSSFNClassifier",
    "DataError",
    "DssfnError",
    "InputError",
    "LayerRecord",
    "ModelFileError",
    "Network",
    "NumericalError",
    "Plan",
    "PlanError",
    "SSFNClassifier",
    "Shard",
    "Simulation",
    "Topology",
    "TopologyError",
    "Traffic",
    "__version__",
    "build_topology",
    "load_network",
    "save_network",
    "simulate",
    "train_node",
]


def __getattr__(name: str) -> Any:
    # scikit-learn takes a second to import, and only the estimators need it.
    if name in ("DSSFNClassifier", "SSFNClassifier"):
        from dssfn import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
