"""Plan: what every node must agree on before training.

Nothing in a plan is taken from one node's data. Class list and feature names are
agreed beforehand, because a shard may lack a class; means and sizes are found by
consensus during training.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from dssfn._typing import Array, Label
from dssfn.config.limits import (
    AUTO,
    FEWEST_FOLDS,
    MOST_EXACT_BIAS,
    MOST_EXACT_WIDTH,
    MOST_LAYERS,
    MOST_MEMBERS,
    MOST_WIDTH,
    PRIVATE_WIDTH,
)
from dssfn.config.single import check_each
from dssfn.config.together import check_together
from dssfn.schema.columns import Schema


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of one training, equal on every node.

    Settings that are left out have the same defaults here, in a plan file, in the
    estimators and on the command line.

    Parameters
    ----------
    n_features : int
        P, the number of input features.
    classes : tuple of labels
        The Q class labels in the order of the output rows.
    feature_names : tuple of str, optional
        Names of the P features, checked when data come with names.
    targets : tuple of str
        Names of the Q outputs of a regression, which has no classes.
    schema : Schema, optional
        What the columns of the tables mean and how they become features. If it is left
        out, every column is a number and no value may be missing.
    n_layers : int or "auto"
        L, the number of hidden layers; L + 1 layer problems are solved.
    width : int or "auto"
        Rows of the random matrix R of each layer. A layer has n = 2Q + width units.
    members : int or "auto"
        K, the number of networks whose scores are averaged. Each is validated on
        samples that it was not trained on; this decides every setting that is "auto".
        If `n_layers` and `width` are numbers, "auto" is one network of this size, as in
        the paper.
    ridge : float or "auto"
        Regularisation strength: the pull of each layer towards the previous one, in
        units of the mean eigenvalue of its Gram matrix; only with several members.
    scale : {"auto", "columns", "common"}
        Whether each input is divided by its own standard deviation ("columns"), or all
        by a common one ("common"), as suits pixels. "auto" chooses by validation; for
        one member, it is "columns".
    folds : {"rows", "nodes"}
        What each member leaves out for validation: samples, by a hash of their content,
        or whole nodes.
    size : {"auto", "ssfn"}
        How the size of the network is chosen: "auto" by validation; "ssfn" grows one
        network by its training error, as in the SSFN papers, up to `n_layers` and
        `width`, if they are given.
    class_weight : "balanced", tuple of float, optional
        Weight of the samples of each class; with "balanced", rare classes count as much
        as common ones.
    publish_scores : bool
        Whether all nodes see how well the model does on each node's samples.
    alpha : float
        Bound on the output matrices: ``||O||_F <= alpha * sqrt(2Q)``. At 1 the bound is
        exactly the norm of the lossless-flow solution [I, -I, 0], which reproduces the
        previous layer; below 1 nothing keeps the cost from rising with depth. 2 meets
        the paper's published errors.
    gain : float
        Norm of the random part of every sample's features, before the ReLU.
    standardize : bool
        Whether to shift and scale the inputs by their mean and standard deviation over
        all nodes.
    bias : float
        Value of a constant input that is added; 0 for none.
    units : {"auto", "integer", "dense"}
        Arithmetic of the hidden units. Sums of small integers are exact, so with
        "integer" the model does not depend, to the last bit, on who holds which sample;
        the units come from structured random matrices. With "dense" units are real
        numbers. "auto" takes integers, unless inputs are not standardised, or another
        solver than gram, another consensus than tree or another precision is asked for.
    image_shape : tuple of int, optional
        Height and width of the images, and the number of channels, if the features are
        pixels, row by row. The random units of layer 1 then see small rectangles of the
        image; this needs integer units.
    precision : {"float64", "float32"}
        Precision of dense units. In single precision they take half the memory and
        time; sums over chunks of samples, and everything that nodes agree on, stay in
        double precision.
    solver : {"auto", "gram", "krylov", "admm", "relaxed"}
        How a layer is solved over the network; "auto" takes the faster of the first
        two for the graph, the sizes, latency and bandwidth.
    accuracy : float
        krylov stops when a layer's output matrix is proven to be this close to the
        optimal one, relative to its norm.
    patience_input, patience_hidden : int, optional
        How many averagings krylov may use in layer 0 and in the other layers before
        nodes agree on the Gram matrix instead; 0 does so at once. Set by the solver
        "auto".
    n_iter : int
        K, the ADMM iterations per layer; with `residual_tol`, the largest number of
        them.
    mu_input, mu_hidden : float, optional
        The ADMM parameter of layer 0 and of the other layers. If left out, nodes agree
        on one for each layer that suits the scale of its features.
    warm_start : bool
        Start ADMM at the lossless-flow point [I, -I, 0], which reproduces the previous
        layer, instead of at zero.
    relaxation : float
        Over-relaxation of ADMM, between 0 and 2; 1 for none, 1.6 is usual.
    balance_mu : bool
        Let ADMM adapt mu so that the primal and the dual residual fall together.
    residual_tol : float, optional
        Stop ADMM when both residuals, relative to the size of their terms, are below
        this.
    consensus : {"auto", "gossip", "chebyshev", "exact", "tree"}
        How nodes compute averages over the graph; "auto" takes the fastest scheme.
    tol : float
        Accuracy of each average, relative to the nodes' initial disagreement.
    n_rounds : int, optional
        B, gossip rounds per average, instead of `tol`.
    latency, bandwidth : float
        Seconds per exchange and bits per second of a node's link; hints for "auto".
    seed : int
        Key of the random matrices: R of layer l depends on (seed, l) only.
    epsilon : float, optional
        The privacy budget of differential privacy. With it noise is added to the sums,
        and the network has one hidden layer, of 600 random units unless `width` is
        given.
    delta : float
        The probability that more than epsilon is revealed; it should be well below one
        over the number of samples.
    colluders : int
        How many nodes may collude while the guarantee still holds; at least one, as
        every node knows the noise that it added itself, and fewer than there are nodes.
    input_low, input_high : float or tuple of float, optional
        The range of the inputs, which `epsilon` needs: one number for all or one for
        each of the P inputs. It must be known beforehand and not be taken from the
        data; values outside are clipped where inputs are scaled. With a schema, the
        range is that of the columns.

    Examples
    --------
    >>> Plan(n_features=4, classes=("no", "yes"), width=10).n_units
    14
    """

    n_features: int
    classes: tuple[Label, ...] = ()
    targets: tuple[str, ...] = ()
    feature_names: tuple[str, ...] | None = None
    schema: Schema | None = None
    n_layers: int | str = AUTO
    width: int | str = AUTO
    members: int | str = AUTO
    ridge: float | str = AUTO
    scale: str = AUTO
    folds: str = "rows"
    size: str = AUTO
    class_weight: str | tuple[float, ...] | None = None
    publish_scores: bool = False
    alpha: float = 2.0
    gain: float = 3.0
    standardize: bool = True
    bias: float = 3.0
    units: str = AUTO
    image_shape: tuple[int, ...] | None = None
    precision: str = "float64"
    solver: str = "auto"
    accuracy: float = 1e-8
    patience_input: int | None = None
    patience_hidden: int | None = None
    n_iter: int = 100
    mu_input: float | None = None
    mu_hidden: float | None = None
    warm_start: bool = False
    relaxation: float = 1.0
    balance_mu: bool = False
    residual_tol: float | None = None
    consensus: str = "auto"
    tol: float = 1e-12
    n_rounds: int | None = None
    latency: float = 0.02
    bandwidth: float = 1e9
    seed: int = 0
    epsilon: float | None = None
    delta: float = 1e-5
    colluders: int = 1
    input_low: float | tuple[float, ...] | None = None
    input_high: float | tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.is_private:
            self._settle_private()
        check_each(self)
        check_together(self)

    def _settle_private(self) -> None:
        """Take the size that a private network has."""
        for name, usual in (("n_layers", 1), ("width", PRIVATE_WIDTH), ("members", 1)):
            if getattr(self, name) == AUTO:
                msgspec.structs.force_setattr(self, name, usual)

    @property
    def is_private(self) -> bool:
        """Whether the training has a budget of differential privacy."""
        return self.epsilon is not None

    @property
    def input_range(self) -> tuple[Array, Array]:
        """The lowest and the highest number of every input, (P,) each."""
        if self.schema is not None:
            low, high = np.array(self.schema.feature_ranges, dtype=float).T
            return low, high
        ends = (self.input_low, self.input_high)
        low, high = (
            np.broadcast_to(np.array(end, float), self.n_features) for end in ends
        )
        return low, high

    @property
    def has_gaps(self) -> bool:
        """Whether numbers may be missing."""
        return self.schema is not None and self.schema.has_gaps

    @property
    def n_outputs(self) -> int:
        """The number of rows of every output matrix, Q."""
        return len(self.classes) or len(self.targets)

    @property
    def data_names(self) -> tuple[str, ...] | None:
        """The names of features and then outputs; None if features have no names."""
        if self.feature_names is None:
            return None
        return (*self.feature_names, *(self.targets or map(str, self.classes)))

    @property
    def is_regression(self) -> bool:
        """Whether the targets are numbers instead of classes."""
        return bool(self.targets)

    @property
    def finds_size(self) -> bool:
        """Whether members are validated against each other, or one grows by a rule.

        Otherwise the network is of fixed size, as in the paper.
        """
        if self.is_private:
            return False
        if self.size != AUTO:
            return True
        if self.members == AUTO:
            return bool(self.open_sizes) or self.image_shape is not None
        return self.members != 1

    @property
    def is_exact(self) -> bool:
        """Whether features are integers, whose sums are exact."""
        return self.units == "integer" or (
            self.units == AUTO and not self.why_not_exact
        )

    @property
    def why_not_exact(self) -> str:
        """What keeps features from being integers; empty if nothing does."""
        rules = {
            f"inputs that are standardised, got `standardize` = {self.standardize}": (
                self.standardize
            ),
            f"a `width` of at most {MOST_EXACT_WIDTH}, up to which their sums are "
            f"exact, got {self.width}": self.most_width <= MOST_EXACT_WIDTH,
            f"a `bias` of at most {MOST_EXACT_BIAS}, got {self.bias:g}": (
                self.bias <= MOST_EXACT_BIAS
            ),
            f"the solver gram, whose sums are exact, got {self.solver}": (
                self.solver in (AUTO, "gram")
            ),
            f"the consensus tree, which adds integers, got {self.consensus}": (
                self.consensus in (AUTO, "tree")
            ),
            f"no `n_rounds`, which are for gossip, got {self.n_rounds}": (
                self.n_rounds is None
            ),
            f"no other `precision` than float64, got {self.precision}": (
                self.precision == "float64"
            ),
        }
        return next((rule for rule, is_kept in rules.items() if not is_kept), "")

    @property
    def open_sizes(self) -> list[str]:
        """The sizes that are not given; without hidden layers there is no width."""
        sizes = ["n_layers"] if self.n_layers == 0 else ["n_layers", "width"]
        return [name for name in sizes if getattr(self, name) == AUTO]

    @property
    def n_folds(self) -> int:
        """The number of folds, some of which no member leaves out."""
        assert isinstance(self.members, int)
        return max(self.members, FEWEST_FOLDS)

    @property
    def depth(self) -> int:
        """L as a number: of a network of fixed size, or one that was trained."""
        assert isinstance(self.n_layers, int)
        return self.n_layers

    @property
    def most_layers(self) -> int:
        """The largest number of hidden layers that a training may try."""
        return self.n_layers if isinstance(self.n_layers, int) else MOST_LAYERS

    @property
    def most_width(self) -> int:
        """The largest number of random units that a training may try."""
        return self.width if isinstance(self.width, int) else MOST_WIDTH

    @property
    def most_members(self) -> int:
        """The largest number of members that a training may have."""
        if self.size == "ssfn":
            return 1
        return self.members if isinstance(self.members, int) else MOST_MEMBERS

    @property
    def n_units(self) -> int:
        """The number of units of a hidden layer, n = 2Q + width, at the most."""
        return 2 * self.n_outputs + self.most_width

    @property
    def radius(self) -> float:
        """The largest Frobenius norm of an output matrix (a norm, not squared)."""
        return self.alpha * math.sqrt(2 * self.n_outputs)

    def inputs_of(self, layer: int) -> int:
        """Return the number of rows of Y at a layer: the inputs at layer 0, then n."""
        return self.n_features + (self.bias > 0) if layer == 0 else self.n_units

    def patience(self, layer: int) -> int | None:
        """Return how many averagings krylov may take in a layer; None sets no limit."""
        return self.patience_input if layer == 0 else self.patience_hidden

    def mu(self, layer: int) -> float | None:
        """Return the ADMM parameter of a layer; None lets the nodes agree on one."""
        return self.mu_input if layer == 0 else self.mu_hidden

    def replace(self, **changes: Any) -> Plan:
        """Return a plan with some settings changed, which is checked again."""
        return msgspec.structs.replace(self, **changes)
