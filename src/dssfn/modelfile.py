"""Model files: a network with all that prediction needs, as safetensors.

The file holds the learned matrices O_0 .. O_L, the scaling of the inputs, that of the
targets of a regression, for a network that found its own size the moments between its
layers as well, and in its metadata, under the one key "dssfn", a JSON object: the
format version, the plan (classes, feature names, sizes, seed), a digest of the content
and one of the random matrices. These follow from the seed; the digest shows that the
reader builds the same ones. If some nodes did not take part in all layers, it also says
who did. One key, because safetensors writes several in any order,
and equal models should be equal files. Loading runs no code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import msgspec
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as encode_tensors

from dssfn._atomic import check_place, write_atomically
from dssfn._typing import Array
from dssfn.config import AUTO, Plan
from dssfn.ensemble import Ensemble
from dssfn.errors import InputError, ModelFileError
from dssfn.hints import no_file, reason
from dssfn.network import Network, random_digest
from dssfn.results import MODEL_FILE
from dssfn.training import Model

KEY = "dssfn"
SUFFIX = ".safetensors"
VERSION = 4
# Settings that a version of this format brought, and what they were before: networks
# of version 1 are of fixed size, features of version 2 are real numbers, and those of
# version 3 are columns as they are.
ADDED: dict[int, dict[str, Any]] = {
    2: {
        "targets": (),
        "members": 1,
        "ridge": "auto",
        "scale": "columns",
        "folds": "rows",
        "size": "auto",
        "class_weight": None,
        "publish_scores": False,
    },
    3: {"units": "dense", "image_shape": None},
    4: {
        "schema": None,
        "epsilon": None,
        "delta": 1e-5,
        "colluders": 1,
        "input_low": None,
        "input_high": None,
    },
}
SCALING = ("shift", "scale", "target_shift", "target_scale")

Shape: TypeAlias = tuple[int | None, ...]  # None: whatever was found


class _Version(msgspec.Struct):
    version: int


class _Header(_Version, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    plan: Plan
    random: str  # digest of the random matrices
    content: str  # digest of the plan and the tensors
    took_part: tuple[tuple[str, ...], ...] = ()  # names of nodes, by layer


class Trained(Protocol):
    """An estimator that has been fitted and has a network."""

    network_: Model


def save_network(
    network: Model | Trained,
    path: str | Path,
    *,
    private: bool = False,
    took_part: Sequence[Sequence[str]] = (),
) -> None:
    """Write a trained network, or that of a fitted estimator, to a file.

    The file is written whole or not at all.

    Parameters
    ----------
    network : Network, Ensemble or fitted estimator
        The model to write.
    path : str or Path
        The file; an existing one is replaced.
    private : bool
        Whether only the owner of the file can read it.
    took_part : sequence of sequences of str
        For each layer, the names of the nodes that took part in it; left out if all
        nodes took part in all layers.

    Raises
    ------
    InputError
        If `network` is neither a network nor a fitted estimator, or the folder of
        `path` does not exist.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from dssfn import SSFNClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SSFNClassifier(n_layers=2, width=20, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_network(model, Path(folder) / "iris.safetensors")
    ...     again = load_network(Path(folder) / "iris.safetensors")
    >>> bool((SSFNClassifier.from_network(again).predict(X) == model.predict(X)).all())
    True
    """
    check_place(Path(path), "path")
    network = network_of(network)
    tensors = _tensors(network)
    contiguous = {name: np.ascontiguousarray(A) for name, A in tensors.items()}
    header = _Header(
        version=VERSION,
        plan=network.plan,
        random=random_digest(network.plan),
        content=content_digest(network),
        took_part=tuple(map(tuple, took_part[: network.plan.depth + 1])),
    )
    metadata = {KEY: msgspec.json.encode(header).decode()}
    content = encode_tensors(contiguous, metadata)
    write_atomically(Path(path), content, private=private)


def content_digest(network: Model) -> str:
    """Return the digest of plan and learned numbers that a model file holds."""
    return _digest(VERSION, network.plan, _tensors(network))


def _tensors(network: Model) -> dict[str, Array]:
    tensors = {f"O.{layer}": O for layer, O in enumerate(network.outputs)}
    tensors |= {"shift": network.shift, "scale": network.scale}
    if isinstance(network, Ensemble):
        moments = zip(network.means, network.deviations, strict=True)
        for layer, (means, deviations) in enumerate(moments, start=2):
            tensors[f"mean.{layer}"] = means
            tensors[f"deviation.{layer}"] = deviations
        tensors |= {
            "centres": network.centres,
            "factors": network.factors,
            "slope": np.array([network.slope]),
        }
    if isinstance(network, Ensemble) or network.plan.is_regression:
        tensors["target_shift"] = network.target_shift
        tensors["target_scale"] = network.target_scale
    return tensors


def network_of(given: object) -> Model:
    """Return a network, or that of a fitted estimator."""
    found = getattr(given, "network_", given)
    if isinstance(found, Network | Ensemble):
        return found
    way_out = ""
    if hasattr(given, "fit"):
        way_out = " Call its `fit` first, or pass the estimator inside it."
    elif isinstance(given, str | Path):
        way_out = " `dssfn.load_network` reads one from a file."
    raise InputError(
        "`network` must be a Network or a fitted estimator, which has one as "
        f"`network_`, got {type(given).__name__}.{way_out}"
    )


def _digest(version: int, plan: Plan, tensors: dict[str, Array]) -> str:
    settings = msgspec.to_builtins(plan)
    added = _added_since(version)
    settings = {key: value for key, value in settings.items() if key not in added}
    digest = hashlib.sha256(msgspec.json.encode(settings))
    for name in sorted(tensors):
        digest.update(name.encode() + tensors[name].astype("<f8").tobytes())
    return digest.hexdigest()


def _added_since(version: int) -> dict[str, Any]:
    """Return the settings that later versions brought, as they were before."""
    later = (ADDED[number] for number in range(version + 1, VERSION + 1))
    return {name: value for added in later for name, value in added.items()}


def load_network(path: str | Path) -> Model:
    """Read a network from a file written by `save_network`.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Network or Ensemble
        The model. `SSFNClassifier.from_network`, or `SSFNRegressor.from_network`, makes
        an estimator of it.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, not a dssfn model, or written by a newer
        version.

    Examples
    --------
    See `save_network`. A file that is not there is an error:

    >>> load_network("no-such-file.safetensors")
    Traceback (most recent call last):
        ...
    dssfn.errors.ModelFileError: There is no model file: `no-such-file.safetensors` \
does not exist. Check the path.
    """
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"There is no model file: {_not_there(path)}")
    try:
        with safe_open(path, framework="numpy") as file:
            # What the file says of itself is compared first, and only then read.
            header = _read_header(path, file.metadata() or {})
            shapes = tensor_shapes(header.plan, header.version)
            _check_tensors(path, file, shapes)
            tensors: dict[str, Array] = {name: file.get_tensor(name) for name in shapes}
    except ModelFileError:
        raise
    except OSError as exc:
        raise ModelFileError(f"`{path}` cannot be read: {reason(exc)}.") from exc
    except (SafetensorError, ValueError) as exc:
        raise ModelFileError(_unreadable(path, exc)) from exc
    network = _assemble(path, header.plan, tensors)
    if header.content != _digest(header.version, header.plan, tensors):
        raise ModelFileError(
            f"`{path}` is damaged: its checksum is wrong. Copy it again from where it "
            "was written."
        )
    if header.random != random_digest(header.plan):
        raise ModelFileError(
            f"`{path}` was trained with other random matrices than this installation "
            "builds from its seed. Use the version of dssfn that wrote it."
        )
    return network


def _not_there(path: Path) -> str:
    """Return the message about a path that is not that of a file."""
    inside = path / MODEL_FILE
    if inside.is_file():
        return f"`{path}` is a folder; give `{inside}`."
    return no_file(path, [SUFFIX])


def _unreadable(path: Path, exc: Exception) -> str:
    """Return the message about a file that is damaged, or was never a model."""
    if path.suffix.lower() != SUFFIX:
        return (
            f"`{path}` is not a model file. Give the {MODEL_FILE} that a training "
            "wrote."
        )
    return (
        f"`{path}` is damaged or not a safetensors file ({exc}). Copy it again from "
        "where it was written."
    )


def who_took_part(path: str | Path) -> tuple[tuple[str, ...], ...]:
    """Return the nodes that each layer of a model file was learned from, by name.

    Nothing is returned of a model that all nodes took part in from its first layer to
    its last. The file must be one that `load_network` reads.
    """
    with safe_open(Path(path), framework="numpy") as file:
        return _read_header(Path(path), file.metadata() or {}).took_part


def _read_header(path: Path, metadata: dict[str, str]) -> _Header:
    if KEY not in metadata:
        raise ModelFileError(f"`{path}` is a safetensors file but not a dssfn model.")
    text = metadata[KEY]
    try:
        version = msgspec.json.decode(text, type=_Version).version
        if not 1 <= version <= VERSION:
            raise ModelFileError(
                f"`{path}` has format version {version}; this dssfn reads up to "
                f"version {VERSION}. Update dssfn to read it."
            )
        content = msgspec.json.decode(text)
        if isinstance(content.get("plan"), dict):
            content["plan"] = {**_added_since(version), **content["plan"]}
        header = msgspec.convert(content, type=_Header)
        _check_complete(path, content["plan"])
        _check_found(path, header.plan)
        return header
    # msgspec lets the last one through, for lists in lists in lists.
    except (msgspec.DecodeError, RecursionError) as exc:
        raise ModelFileError(f"`{path}` holds unusable settings: {exc}") from exc


def _check_complete(path: Path, plan: dict[str, Any]) -> None:
    """Refuse a plan with gaps: a default of today is not what the model was made by."""
    for name in Plan.__struct_fields__:
        if name not in plan:
            raise ModelFileError(
                f"`{path}` lacks the setting `{name}`, so another version of dssfn "
                "wrote it. Read it with that version, or train again."
            )


def _check_found(path: Path, plan: Plan) -> None:
    """Refuse a plan whose sizes are still to be found."""
    for name in ("n_layers", "width", "members"):
        if plan.finds_size and getattr(plan, name) == AUTO:
            raise ModelFileError(
                f"`{path}` does not fix `{name}`, so it is not the file of a trained "
                "model. Copy it again from where it was written."
            )


def tensor_shapes(plan: Plan, version: int = VERSION) -> dict[str, Shape]:
    """Return names and shapes of all learned numbers, None for what was found.

    >>> tensor_shapes(Plan(n_features=3, classes=(0, 1), n_layers=0, bias=0.0))
    {'O.0': (2, 3), 'shift': (3,), 'scale': (3,)}
    """
    P, Q = plan.n_features, plan.n_outputs
    layers = range(plan.depth + 1)
    shapes: dict[str, Shape] = {f"O.{k}": (Q, plan.inputs_of(k)) for k in layers}
    shapes |= {"shift": (P,), "scale": (P,)}
    if plan.finds_size or plan.is_regression:
        shapes |= {"target_shift": (Q,), "target_scale": (Q,)}
    if not plan.finds_size:
        return shapes
    K = plan.most_members
    for layer in layers:
        shapes[f"O.{layer}"] = (K, Q, None if layer else 1 + P)
        if layer > 1:
            shapes |= dict.fromkeys((f"mean.{layer}", f"deviation.{layer}"), (K, None))
    if version > 2:
        shapes["factors"] = (P,)
    return shapes | {"centres": (K, Q), "slope": (1,)}


def _check_tensors(path: Path, file: Any, shapes: dict[str, Shape]) -> None:
    """Refuse what the plan does not ask for, as the file's table of contents has it."""
    names = set(file.keys())
    for name, shape in shapes.items():
        came = "none"
        if name in names:
            entry = file.get_slice(name)
            found, dtype = tuple(entry.get_shape()), entry.get_dtype()
            if _fits(found, shape) and dtype == "F64":
                continue
            came = f"{dtype} of shape {found}"
        raise ModelFileError(
            f"`{path}` must hold `{name}` as float64 of shape {shape}, got {came}."
        )
    if len(names) > len(shapes):
        raise ModelFileError(
            f"`{path}` must hold {len(shapes)} tensors, got {len(names)}."
        )


def _fits(found: tuple[int, ...], wanted: Shape) -> bool:
    return len(found) == len(wanted) and all(
        want is None or have == want for have, want in zip(found, wanted, strict=True)
    )


def _assemble(path: Path, plan: Plan, tensors: dict[str, Array]) -> Model:
    for name, found in tensors.items():
        if not np.isfinite(found).all():
            raise ModelFileError(
                f"`{path}` holds values in `{name}` that are not finite."
            )
    for name in ("scale", "target_scale"):
        if (tensors.get(name, np.ones(1)) <= 0).any():
            raise ModelFileError(f"`{path}` must hold positive values in `{name}`.")
    outputs = tuple(tensors[f"O.{layer}"] for layer in range(plan.depth + 1))
    scaling = {name: tensors[name] for name in SCALING if name in tensors}
    if not plan.finds_size:
        return Network(plan, outputs, **scaling)
    network = Ensemble(
        plan=plan,
        outputs=outputs,
        centres=tensors["centres"],
        means=tuple(tensors[f"mean.{k}"] for k in range(2, plan.depth + 1)),
        deviations=tuple(tensors[f"deviation.{k}"] for k in range(2, plan.depth + 1)),
        **scaling,
        factors=tensors.get("factors", np.ones(plan.n_features)),
        slope=float(tensors["slope"][0]),
    )
    _check_sizes(path, network)
    return network


def _check_sizes(path: Path, network: Ensemble) -> None:
    """Refuse layers that do not fit each other, and what cannot be divided by."""
    Q, most = network.plan.n_outputs, network.plan.most_width
    widths = [O.shape[2] - 1 - 2 * Q for O in network.outputs[1:]]
    fit = all(1 <= width <= most for width in widths)
    for moments in (network.means, network.deviations):
        fit = fit and [one.shape[1] - Q for one in moments] == widths[:-1]
    if not fit:
        raise ModelFileError(f"`{path}` holds layers that do not fit each other.")
    for positive in network.deviations:
        if (positive <= 0).any():
            raise ModelFileError(f"`{path}` must hold positive deviations.")
    if network.slope <= 0:
        raise ModelFileError(f"`{path}` must hold a positive `slope`.")
