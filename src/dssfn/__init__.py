"""Train one neural network across nodes that cannot pool their data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dssfn._version import __version__

if TYPE_CHECKING:
    from dssfn import plot as plot
    from dssfn.config import Plan
    from dssfn.errors import (
        DataError,
        DssfnError,
        InputError,
        ModelFileError,
        NumericalError,
        OverfitWarning,
        PlanError,
        TopologyError,
    )
    from dssfn.estimators import (
        DSSFNClassifier,
        DSSFNRegressor,
        SSFNClassifier,
        SSFNRegressor,
    )
    from dssfn.export import to_onnx
    from dssfn.hosting import Simulation, Traffic
    from dssfn.modelfile import load_network, save_network
    from dssfn.network import Network
    from dssfn.records import LayerRecord
    from dssfn.shard import Shard
    from dssfn.simulator import simulate
    from dssfn.topology import Topology, build_topology
    from dssfn.training import train_node

__all__ = [
    "DSSFNClassifier",
    "DSSFNRegressor",
    "DataError",
    "DssfnError",
    "InputError",
    "LayerRecord",
    "ModelFileError",
    "Network",
    "NumericalError",
    "OverfitWarning",
    "Plan",
    "PlanError",
    "SSFNClassifier",
    "SSFNRegressor",
    "Shard",
    "Simulation",
    "Topology",
    "TopologyError",
    "Traffic",
    "__version__",
    "build_topology",
    "load_network",
    "plot",
    "save_network",
    "simulate",
    "to_onnx",
    "train_node",
]

# Each name is imported when it is first asked for: numpy, scikit-learn and the others
# take seconds together, and `dssfn --help` needs none of them.
_HOMES = {
    "config": "Plan",
    "errors": "DataError DssfnError InputError ModelFileError NumericalError "
    "OverfitWarning PlanError TopologyError",
    "estimators": "DSSFNClassifier DSSFNRegressor SSFNClassifier SSFNRegressor",
    "export": "to_onnx",
    "hosting": "Simulation Traffic",
    "modelfile": "load_network save_network",
    "network": "Network",
    "plot": "",
    "shard": "Shard",
    "simulator": "simulate",
    "topology": "Topology build_topology",
    "records": "LayerRecord",
    "training": "train_node",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _HOMES:  # a module, as in `dssfn.errors.DataError`
        return import_module(f"{__name__}.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
