"""Train one neural network across nodes that cannot pool their data."""

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
from dssfn.estimators import DSSFNClassifier, SSFNClassifier
from dssfn.modelfile import load_network, save_network
from dssfn.network import Network
from dssfn.shard import Shard
from dssfn.simulator import Simulation, Traffic, simulate
from dssfn.topology import Topology, build_topology
from dssfn.training import LayerRecord, train_node

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
