"""Plots of a fitted model, in two lines.

Each function draws on the axes it is given, or on a new figure, and returns the axes,
so that titles, limits and sizes remain yours:

>>> import dssfn
>>> from sklearn.datasets import load_iris
>>> model = dssfn.DSSFNClassifier(n_nodes=5, random_state=0)
>>> model = model.fit(*load_iris(return_X_y=True))
>>> axes = dssfn.plot.history(model)
>>> axes.get_xlabel(), axes.get_ylabel()
('layer', 'error in decibels')

Nothing is shown or saved, and no setting of matplotlib is changed. Colours follow the
background of the axes, light or dark. Matplotlib, of the extra `report`, is imported
when something is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from dssfn.errors import InputError
from dssfn.hints import unknown
from dssfn.plot.reading import graph_of, layers_of, traffic_of

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.axes import Axes

    from dssfn.estimators.base import Estimator
    from dssfn.hosting import Simulation
    from dssfn.topology import Topology

__all__ = ["history", "topology", "traffic"]


def history(
    model: Estimator | Simulation,
    *,
    metric: Literal["error", "accuracy"] = "error",
    ax: Axes | None = None,
) -> Axes:
    """Draw how good the network was after each of its layers.

    A network that finds its own size has a curve for training samples and one for
    samples that were left out; a vertical line marks the last layer that was kept. A
    network of fixed size has the training samples alone.

    Parameters
    ----------
    model : estimator or Simulation
        A fitted estimator of this package, or what `dssfn.simulate` returns.
    metric : {"error", "accuracy"}, default="error"
        The error is that of the layer's least-squares problem, in decibels below
        predicting zeros. The accuracy, of classifiers only, is the percentage of
        samples that were classified correctly.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import dssfn
    >>> from sklearn.datasets import load_wine
    >>> model = dssfn.SSFNClassifier(random_state=0).fit(*load_wine(return_X_y=True))
    >>> axes = dssfn.plot.history(model, metric="accuracy")
    >>> [line.get_label() for line in axes.get_lines()][:2]
    ['training samples', 'validation samples']
    """
    if metric not in ("error", "accuracy"):
        raise InputError(unknown("metric", metric, ("error", "accuracy")))
    layers = layers_of(model)
    from dssfn.plot.curves import draw_history

    return draw_history(layers, metric, ax)


def topology(
    graph: Topology | nx.Graph | Estimator,
    *,
    held: Literal["samples", "classes"] | None = None,
    labels: Sequence[object] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw who talks to whom and, of a fitted model, what each node held.

    Parameters
    ----------
    graph : Topology, networkx.Graph or estimator
        A graph, or a fitted `DSSFNClassifier` or `DSSFNRegressor`.
    held : {"samples", "classes"}, optional
        What to show of the training samples of each node, if `graph` is a fitted
        model: their number, or how many belong to each class. Default: nothing.
    labels : sequence, optional
        The names of the nodes. Default: those of a networkx graph, else their numbers.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import dssfn
    >>> axes = dssfn.plot.topology(dssfn.build_topology("circular", 8))
    >>> [text.get_text() for text in axes.texts]
    ['0', '1', '2', '3', '4', '5', '6', '7']
    """
    if held not in (None, "samples", "classes"):
        raise InputError(unknown("held", held, ("samples", "classes")))
    drawn = graph_of(graph, held, labels)
    from dssfn.plot.graphs import draw_topology

    return draw_topology(drawn, ax)


def traffic(
    model: Estimator | Simulation,
    *,
    unit: Literal["bytes", "numbers", "rounds"] = "bytes",
    ax: Axes | None = None,
) -> Axes:
    """Draw what the nodes exchanged, layer by layer.

    What they agree on before the first layer and after the last has bars of its own.

    Parameters
    ----------
    model : estimator or Simulation
        A fitted `DSSFNClassifier` or `DSSFNRegressor`, or what `dssfn.simulate`
        returns.
    unit : {"bytes", "numbers", "rounds"}, default="bytes"
        Bytes over all links; the numbers in a node's messages, summed over the rounds;
        or the rounds of exchange with neighbours.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import dssfn
    >>> from sklearn.datasets import load_iris
    >>> model = dssfn.DSSFNClassifier(n_nodes=3, n_layers=2, width=20, random_state=0)
    >>> axes = dssfn.plot.traffic(model.fit(*load_iris(return_X_y=True)))
    >>> [tick.get_text() for tick in axes.get_xticklabels()]
    ['before', '0', '1', '2']
    """
    if unit not in ("bytes", "numbers", "rounds"):
        raise InputError(unknown("unit", unit, ("bytes", "numbers", "rounds")))
    sent = traffic_of(model, unit)
    from dssfn.plot.bars import draw_traffic

    return draw_traffic(sent, unit, ax)
