"""Plan: what every node must agree on before training.

Nothing in a plan is taken from one node's data. Class list and feature names are
agreed beforehand, because a shard may lack a class; means and sizes are found by
consensus during training.
"""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec

from dssfn._typing import Label
from dssfn.errors import PlanError
from dssfn.hints import listing, unknown
from dssfn.registry import AVERAGING, SOLVERS
from dssfn.schema.columns import Schema

AUTO = "auto"
PRECISIONS = ("float64", "float32")
SCALES = ("columns", "common")
FOLDS = ("rows", "nodes")
SIZES = (AUTO, "ssfn")
UNITS = ("integer", "dense")
BALANCED = "balanced"
MOST_LAYERS, MOST_WIDTH, MOST_MEMBERS = 20, 1600, 20  # of what is found
MOST_EXACT_WIDTH, MOST_EXACT_BIAS = 8192, 7  # see `dssfn.exact.bounds`
SHORTEST_SIDE = 3  # of a picture
FEWEST_FOLDS = 5  # so that a member trains on four fifths of the samples or more


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of one training, equal on every node.

    What is left out has the same default here, in a plan file, in the estimators and on
    the command line.

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
        What the columns of tables mean, which become the features. Left out, every
        column is a number and none may be missing.
    n_layers : int or "auto"
        L, the number of hidden layers; L + 1 layer problems are solved.
    width : int or "auto"
        Rows of the random matrix R of each layer. A layer has n = 2Q + width units.
    members : int or "auto"
        K, the networks whose scores are averaged. Each is validated on samples that it
        was not trained on, by which all that is "auto" is found. If `n_layers` and
        `width` are numbers, "auto" is one network of this size, as in the paper.
    ridge : float or "auto"
        Pull of every layer towards the one before, in units of the mean eigenvalue of
        its Gram matrix; of several members only.
    scale : {"auto", "columns", "common"}
        Whether every input is divided by its own deviation, or all by a common one,
        as suits pixels. "auto" takes what validates better; for one member, columns.
    folds : {"rows", "nodes"}
        What a member leaves out: samples by a hash of their content, or whole nodes.
    size : {"auto", "ssfn"}
        "ssfn" grows one network by its training error, as SSFN does, up to `n_layers`
        and `width`, if they are given.
    class_weight : "balanced", tuple of float, optional
        Weight of the samples of each class; "balanced" makes all classes count alike.
    publish_scores : bool
        Whether all nodes learn how well the model does on each node's samples.
    alpha : float
        The output matrix keeps ``||O||_F <= alpha * sqrt(2Q)``. At 1 the radius is
        just the norm of the lossless-flow solution [I, -I, 0]; below it nothing keeps
        the cost from rising with depth. 2 meets the paper's published errors.
    gain : float
        Norm of the random part of every sample's features, before the ReLU.
    standardize : bool
        Shift and scale the inputs by the network's mean and standard deviation.
    bias : float
        Value of a constant feature beside the inputs; 0 for none.
    units : {"auto", "integer", "dense"}
        Arithmetic of the features. Sums of small integers are exact, so that the model
        does not depend, to the last bit, on who holds which sample; they come from
        structured random matrices. Dense ones are real numbers. "auto" takes integers,
        unless inputs are not standardised, or another solver than gram, another
        consensus than tree or another precision is asked for.
    image_shape : tuple of int, optional
        Height and width of pictures, and the number of their channels, if the features
        are pixels, row by row. The random units of layer 1 then see small rectangles;
        needs integer units.
    precision : {"float64", "float32"}
        Precision of dense features. In single precision they take half the memory and
        time; sums over chunks of samples, and all that is agreed on, stay in double
        precision.
    solver : {"auto", "gram", "krylov", "admm"}
        How a layer is solved over the network; "auto" takes the faster of the first
        two for the graph, the sizes, latency and bandwidth.
    accuracy : float
        krylov stops when a layer's output matrix is proved to be this near to the
        optimal one, relative to its norm.
    patience_input, patience_hidden : int, optional
        Averagings that krylov may take in layer 0 and in the others before it agrees
        on the Gram matrix instead, as "auto" sets them; 0 does so at once.
    n_iter : int
        K, the ADMM iterations of a layer; the most of them with `residual_tol`.
    mu_input, mu_hidden : float, optional
        The ADMM parameter of layer 0 and of the others. Left out, each layer agrees
        on one that suits the scale of its features.
    warm_start : bool
        Start ADMM at the lossless-flow point [I, -I, 0] instead of at zero.
    relaxation : float
        Over-relaxation of ADMM, between 0 and 2; 1 for none, 1.6 is usual.
    balance_mu : bool
        Let ADMM change mu so that primal and dual residual fall together.
    residual_tol : float, optional
        End ADMM when both residuals are below this, relative to what they are made of.
    consensus : {"auto", "gossip", "chebyshev", "exact", "tree"}
        How an average is found over the graph; "auto" takes the fastest.
    tol : float
        Wanted accuracy of every average, relative to the nodes' first disagreement.
    n_rounds : int, optional
        B, gossip rounds per average; when given it takes the place of `tol`.
    latency, bandwidth : float
        Seconds per exchange and bits per second of a node's link; hints for "auto".
    seed : int
        Key of the random matrices: R of layer l depends on (seed, l) only.

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

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if name not in _MAY_BE_AUTO or getattr(self, name) != AUTO:
                _check_whole(name, getattr(self, name), least)
        if self.ridge != AUTO:
            _check_positive("ridge", self.ridge)
        for name, least in _LEAST_IF_GIVEN.items():
            if getattr(self, name) is not None:
                _check_whole(name, getattr(self, name), least)
        for name in _POSITIVE:
            _check_positive(name, getattr(self, name))
        _check_number("bias", self.bias, least=0)
        if self.tol >= 1:
            raise PlanError(f"`tol` must be below 1, got {self.tol:g}.")
        if self.relaxation >= 2:
            raise PlanError(f"`relaxation` must be below 2, got {self.relaxation:g}.")
        _check_choice("precision", self.precision, PRECISIONS)
        _check_choice("solver", self.solver, ("auto", *SOLVERS))
        _check_choice("consensus", self.consensus, ("auto", *AVERAGING))
        _check_choice("scale", self.scale, (AUTO, *SCALES))
        _check_choice("folds", self.folds, FOLDS)
        _check_choice("size", self.size, SIZES)
        _check_choice("units", self.units, (AUTO, *UNITS))
        for name in ("standardize", "warm_start", "balance_mu", "publish_scores"):
            if not isinstance(getattr(self, name), bool):
                raise PlanError(
                    f"`{name}` must be true or false, got {getattr(self, name)!r}."
                )
        self._check_schema()
        self._check_names()
        self._check_class_weight()
        self._check_image()
        if self.finds_size:
            self._check_found_size()
        else:
            self._check_fixed_size()
        if self.units == "integer" and self._not_exact:
            raise PlanError(
                f"`units`: integers need {self._not_exact}. Change it, or leave "
                "`units` out."
            )

    def _check_found_size(self) -> None:
        """Refuse settings that mean something for a network of fixed size only."""
        way = "give `n_layers`, `width` and `members = 1`"
        if self.size == "ssfn" and self.members not in (AUTO, 1):
            raise PlanError(
                "`size`: ssfn grows one network, so `members` must be left out, got "
                f"{self.members}."
            )
        if self.size == "ssfn":
            self._check_validated("`size`: ssfn leaves no samples out to validate on")
        if self.scale != AUTO and not self.standardize:
            raise PlanError(
                f"`scale` = {self.scale!r} says how inputs are standardised; leave it "
                "out with `standardize` = false."
            )
        if self.solver not in (AUTO, "gram"):
            raise PlanError(
                f"`solver`: {self.solver} solves layers of a fixed size; a network "
                f"that finds its own takes gram. Leave `solver` out, or {way}."
            )
        if self.consensus not in (AUTO, "tree") or self.n_rounds is not None:
            came = "n_rounds" if self.n_rounds is not None else self.consensus
            raise PlanError(
                f"`consensus`: a network that finds its own size needs averages that "
                f"are equal to the last bit on all nodes, which tree gives, not "
                f"{came}. Leave it out, or {way}."
            )
        if self.precision != "float64":
            raise PlanError(
                f"`precision`: a network that finds its own size needs float64, got "
                f"{self.precision}. Leave it out, or {way}."
            )

    def _check_fixed_size(self) -> None:
        """Refuse settings that need validation samples, which one network has not."""
        if self._open_sizes:
            raise PlanError(
                f"`{self._open_sizes[0]}` must be a number with `members = 1`, which "
                'leaves no samples out to find it by, got "auto". Give more members, a '
                'number, or `size = "ssfn"`.'
            )
        if self.ridge != AUTO:
            raise PlanError(
                f"`ridge` = {self.ridge!r} needs `members` of at least 2: one network "
                "of fixed size has none."
            )
        if self.scale not in (AUTO, "columns"):
            raise PlanError(
                f"`scale` = {self.scale!r} needs `members` of at least 2: one network "
                "of fixed size divides every column by its own deviation."
            )
        self._check_validated("one network of fixed size leaves no samples out")

    def _check_validated(self, why: str) -> None:
        """Refuse settings about samples that members leave out."""
        for name, only in (("folds", "rows"), ("publish_scores", False)):
            if getattr(self, name) != only:
                raise PlanError(
                    f"`{name}` = {getattr(self, name)!r} needs `members` of at least "
                    f"2; {why}."
                )

    def _check_image(self) -> None:
        shape = self.image_shape
        if shape is None:
            return
        wanted = (
            "`image_shape` must be the height and the width of a picture, and the "
            "number of its channels if there are several"
        )
        if len(shape) not in (2, 3) or not all(
            isinstance(side, int) and not isinstance(side, bool) and side > 0
            for side in shape
        ):
            raise PlanError(f"{wanted}, got {list(shape)}.")
        if math.prod(shape) != self.n_features:
            raise PlanError(
                f"{wanted}: {math.prod(shape)} numbers, but there are "
                f"{self.n_features} features; got {list(shape)}."
            )
        if min(shape[:2]) < SHORTEST_SIDE:
            raise PlanError(
                f"`image_shape` must have sides of at least {SHORTEST_SIDE} pixels, "
                f"got {list(shape)}."
            )
        if not self.finds_size:
            raise PlanError(
                "`image_shape` needs `members` of at least 2: one network of fixed "
                "size is that of the paper."
            )
        if self.scale == "columns":
            raise PlanError(
                "`scale`: pixels share a scale, so with `image_shape` it must be "
                "common, or left out; got columns."
            )
        if not self.is_exact:
            raise PlanError(
                "`image_shape` needs integer units, which need "
                f"{self._not_exact or '`units` other than dense'}."
            )

    def _check_class_weight(self) -> None:
        given = self.class_weight
        if given is None or (given == BALANCED and self.classes):
            return
        if isinstance(given, str) or not self.classes:
            raise PlanError(
                f'`class_weight` must be "{BALANCED}" or one weight for each class, '
                f"got {given!r}{'' if self.classes else ' for a regression'}."
            )
        if len(given) != len(self.classes) or not all(
            _is_number(weight) and weight > 0 for weight in given
        ):
            raise PlanError(
                f"`class_weight` must be a positive number for each of the "
                f"{len(self.classes)} classes, got {list(given)}."
            )

    def _check_names(self) -> None:
        if self.targets and self.classes:
            raise PlanError("`targets` are for a regression, which has no `classes`.")
        if self.targets and len(set(self.targets)) == len(self.targets):
            return self._check_feature_names()
        if len(self.classes) < 2:
            raise PlanError(
                f"`classes` must name at least two classes, got {list(self.classes)}."
            )
        if len(self.classes) > MOST_CLASSES:
            raise PlanError(
                f"`classes` must be at most {MOST_CLASSES}, got {len(self.classes)}."
            )
        if len(set(self.classes)) < len(self.classes):
            raise PlanError(f"`classes` must all differ, got {list(self.classes)}.")
        self._check_feature_names()

    def _check_feature_names(self) -> None:
        names = self.feature_names
        for field, some in (("classes", self.classes), ("feature_names", names or ())):
            longest = max((len(one) for one in some if isinstance(one, str)), default=0)
            if longest > LONGEST_NAME:
                raise PlanError(
                    f"`{field}` must have at most {LONGEST_NAME} letters each, got one "
                    f"with {longest}."
                )
        if names is not None and len(names) != self.n_features:
            raise PlanError(
                f"`feature_names` must name all {self.n_features} features, "
                f"got {len(names)} names."
            )

    def _check_schema(self) -> None:
        if self.schema is None:
            return
        for name, wanted in self.schema.settings().items():
            if getattr(self, name) != wanted:
                raise PlanError(
                    f"`{name}` must be what the schema says, {_shown(wanted)}, got "
                    f"{_shown(getattr(self, name))}. Leave it out."
                )

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
        if self.size != AUTO:
            return True
        if self.members == AUTO:
            return bool(self._open_sizes) or self.image_shape is not None
        return self.members != 1

    @property
    def is_exact(self) -> bool:
        """Whether features are integers, whose sums are exact."""
        return self.units == "integer" or (self.units == AUTO and not self._not_exact)

    @property
    def _not_exact(self) -> str:
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
    def _open_sizes(self) -> list[str]:
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


_POSITIVE = (
    "alpha",
    "gain",
    "tol",
    "mu_input",
    "mu_hidden",
    "latency",
    "bandwidth",
    "accuracy",
    "relaxation",
    "residual_tol",
)
_MAY_BE_NONE = ("mu_input", "mu_hidden", "residual_tol")
_LEAST = {
    "n_features": 1,
    "n_layers": 0,
    "width": 1,
    "members": 1,
    "n_iter": 1,
    "seed": 0,
}
_MAY_BE_AUTO = ("n_layers", "width", "members")
_LEAST_IF_GIVEN = {"n_rounds": 1, "patience_input": 0, "patience_hidden": 0}

# Far beyond any network that was ever trained, but near enough that a plan from a
# stranger takes neither all memory nor all time before it is found to be nonsense.
MOST_FEATURES, MOST_CLASSES, LONGEST_NAME = 10**6, 10**4, 1000
_MOST = {
    "n_features": MOST_FEATURES,
    "n_layers": 10**4,
    "width": 10**5,
    "members": 100,
    "n_iter": 10**7,
    "n_rounds": 10**7,
    "patience_input": 10**9,
    "patience_hidden": 10**9,
    "seed": 2**63 - 1,
}


def _check_whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise PlanError(
            f"`{name}` must be a whole number of at least {least}, got {value!r}."
        )
    if value > _MOST[name]:
        raise PlanError(f"`{name}` must be at most {_MOST[name]}, got {value}.")


def _check_number(name: str, value: Any, *, least: float) -> None:
    if not _is_number(value) or value < least:
        raise PlanError(
            f"`{name}` must be a number of at least {least:g}, got {value!r}."
        )


def _check_positive(name: str, value: Any) -> None:
    if value is None and name in _MAY_BE_NONE:
        return
    if not _is_number(value) or value <= 0:
        raise PlanError(f"`{name}` must be a positive number, got {value!r}.")


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _shown(value: Any) -> str:
    """Return a setting for a message, shortened."""
    return listing(list(map(str, value))) if isinstance(value, tuple) else repr(value)


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise PlanError(unknown(name, value, choices))


def bytes_of(size: float | str) -> int:
    """Return the number of bytes that a size such as 500MB or 2GB means.

    A number is returned as it is.

    >>> bytes_of("2GB"), bytes_of(4096)
    (2000000000, 4096)
    """
    n_bytes = _bytes_of_text(size) if isinstance(size, str) else size
    if not _is_number(n_bytes) or n_bytes < 1:
        raise PlanError(
            "`memory` must be a number of bytes, or a size such as 500MB or 2GB, "
            f"got {size!r}."
        )
    return int(n_bytes)


def _bytes_of_text(text: str) -> float:
    """Return the bytes of a size with or without a unit; zero for anything else."""
    units = {"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower())
    if found is None or found[2] not in units:
        return 0.0
    return float(found[1]) * units[found[2]]
