"""Model files: a network with all that prediction needs, as safetensors.

The file holds the learned matrices O_0 .. O_L, the scaling of the inputs, and in its
metadata the plan (classes, feature names, sizes, seed) as JSON. The random matrices
follow from the seed; a digest of them shows that the reader builds the same ones.
Loading runs no code.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as encode_tensors

from dssfn._atomic import write_atomically
from dssfn._typing import Array
from dssfn.config import Plan
from dssfn.errors import ModelFileError, PlanError
from dssfn.network import Network, random_digest

FORMAT = "dssfn"
VERSION = 1


def save_network(network: Network, path: str | Path) -> None:
    """Write a network to a file, whole or not at all."""
    tensors = {f"O.{layer}": O for layer, O in enumerate(network.outputs)}
    tensors |= {"shift": network.shift, "scale": network.scale}
    metadata = {
        "format": FORMAT,
        "version": str(VERSION),
        "plan": msgspec.json.encode(network.plan).decode(),
        "random": random_digest(network.plan),
    }
    contiguous = {name: np.ascontiguousarray(A) for name, A in tensors.items()}
    write_atomically(Path(path), encode_tensors(contiguous, metadata))


def load_network(path: str | Path) -> Network:
    """Read a network from a file written by `save_network`.

    Raises
    ------
    ModelFileError
        If the file is missing, damaged, not a dssfn model, or of a newer version.
    """
    path = Path(path)
    if not path.is_file():
        raise ModelFileError(f"There is no model file `{path}`.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors: dict[str, Array] = {
                name: file.get_tensor(name)
                for name in file.keys()  # noqa: SIM118 - a file, not a dict
            }
    except (SafetensorError, OSError, ValueError) as exc:
        raise ModelFileError(
            f"`{path}` is damaged or not a safetensors file ({exc}). "
            "Copy it again from where it was written."
        ) from exc
    plan = _read_plan(path, metadata)
    network = _assemble(path, plan, tensors)
    if metadata.get("random") != random_digest(plan):
        raise ModelFileError(
            f"`{path}` was trained with other random matrices than this installation "
            "builds from its seed. Use the version of dssfn that wrote it."
        )
    return network


def _read_plan(path: Path, metadata: dict[str, str]) -> Plan:
    if metadata.get("format") != FORMAT:
        raise ModelFileError(f"`{path}` is a safetensors file but not a dssfn model.")
    version = metadata.get("version", "")
    if not version.isdecimal() or not 1 <= int(version) <= VERSION:
        raise ModelFileError(
            f"`{path}` has format version {version or 'none'}; this dssfn reads up to "
            f"version {VERSION}. Update dssfn to read it."
        )
    try:
        return msgspec.json.decode(metadata.get("plan", ""), type=Plan)
    except (msgspec.DecodeError, PlanError) as exc:
        raise ModelFileError(f"`{path}` holds unusable settings: {exc}") from exc


def _assemble(path: Path, plan: Plan, tensors: dict[str, Array]) -> Network:
    P, Q = plan.n_features, plan.n_outputs
    shapes = {
        f"O.{layer}": (Q, plan.inputs_of(layer)) for layer in range(plan.n_layers + 1)
    } | {"shift": (P,), "scale": (P,)}
    for name, shape in shapes.items():
        found = tensors.get(name)
        if found is None or found.shape != shape or found.dtype != np.float64:
            came = "none" if found is None else f"{found.dtype} of shape {found.shape}"
            raise ModelFileError(
                f"`{path}` must hold `{name}` as float64 of shape {shape}, got {came}."
            )
        if not np.isfinite(found).all():
            raise ModelFileError(
                f"`{path}` holds values in `{name}` that are not finite."
            )
    outputs = tuple(tensors[f"O.{layer}"] for layer in range(plan.n_layers + 1))
    return Network(plan, outputs, tensors["shift"], tensors["scale"])
