"""scikit-learn estimators: rows are samples here, columns inside.

`SSFNClassifier` and `SSFNRegressor` train on one machine; `DSSFNClassifier` and
`DSSFNRegressor` divide the samples over the nodes of an in-process network and train by
messages between neighbours. All run the same program, the first two on a graph of one
node.
"""

from dssfn.estimators.classifier import DSSFNClassifier, SSFNClassifier
from dssfn.estimators.regressor import DSSFNRegressor, SSFNRegressor

__all__ = ["DSSFNClassifier", "DSSFNRegressor", "SSFNClassifier", "SSFNRegressor"]
