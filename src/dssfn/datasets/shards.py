"""One file per node: what they have in common, and their samples in chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dssfn._typing import Label
from dssfn.datasets.contents import Description, description_of
from dssfn.datasets.files import open_labelled
from dssfn.datasets.read_options import ALL, ReadOptions
from dssfn.datasets.samples import FileSamples, room_in
from dssfn.errors import DataError
from dssfn.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class ShardFiles:
    """The files of all nodes, and one to test on.

    Parameters
    ----------
    classes : tuple of labels
        All classes that occur in the nodes' files, sorted, or those of the schema.
    feature_names : tuple of str, optional
        Names of the features; None if a file has no names.
    n_features : int
        The number of features, P.
    shards : list of FileSamples
        The samples of each node.
    test : FileSamples, optional
        The samples to test on.
    schema : Schema, optional
        What the columns mean that the features are made of.
    targets : tuple of str
        The column of numbers to predict, instead of classes.
    """

    feature_names: tuple[str, ...] | None
    n_features: int
    shards: list[FileSamples]
    test: FileSamples | None
    classes: tuple[Label, ...] = ()
    schema: Schema | None = None
    targets: tuple[str, ...] = ()


def open_shards(
    paths: Sequence[str | Path],
    target: str | None = None,
    *,
    test: str | Path | None = None,
    memory: int | None = None,
    options: ReadOptions = ALL,
) -> ShardFiles:
    """Open one labelled file per node, to be read in chunks.

    Columns are taken by name, in the order of the first file that has names. A node may
    lack a class; the classes are those of all files together.

    Parameters
    ----------
    paths : sequence of paths
        One file per node, of any format, as in `read_table`.
    target : str, optional
        The column of labels, the same in all files; `y` for NPZ.
    test : str or Path, optional
        A file to test on; it may hold no other classes.
    memory : int, optional
        The budget in bytes of all nodes together, equal for each. What fits of it is
        read only once; see `FileSamples`.
    options : ReadOptions
        Which columns to take, and how the files are written, the same for all.
    """
    each = None if memory is None else memory // len(paths)
    room = room_in(each)
    files = [open_labelled(path, target, options=options, room=room) for path in paths]
    found = [description_of(file) for file in files]
    _check_labels(paths, found)
    labels = {label for one in found for label in one.classes}
    names = next((one.feature_names for one in found if one.feature_names), None)
    classes, n_features = tuple(sorted(labels)), found[0].n_features
    _check_columns(paths, found, names)
    if names is not None:
        files = [file.in_order(names) for file in files]
    return ShardFiles(
        classes=classes,
        feature_names=names,
        n_features=n_features,
        shards=[FileSamples.of_file(file, classes, memory=each) for file in files],
        test=None
        if test is None
        else FileSamples(
            test,
            target=target,
            classes=classes,
            features=names,
            n_features=n_features,
            memory=each,
            options=options,
        ),
    )


def open_tables(
    paths: Sequence[str | Path],
    schema: Schema,
    *,
    test: str | Path | None = None,
    memory: int | None = None,
    options: ReadOptions = ALL,
) -> ShardFiles:
    """Open one table per node, whose columns a schema explains.

    The other parameters are those of `open_shards`.
    """
    each = None if memory is None else memory // len(paths)

    def opened(path: str | Path) -> FileSamples:
        return FileSamples.of_schema(path, schema, memory=each, options=options)

    return ShardFiles(
        **schema.settings(),
        shards=[opened(path) for path in paths],
        test=None if test is None else opened(test),
    )


def _check_labels(paths: Sequence[str | Path], found: Sequence[Description]) -> None:
    """Check that labels are of one kind, or 1 in one file is not 1 in another."""
    first = found[0].classes[0]
    for path, one in zip(paths, found, strict=True):
        for label in one.classes:
            if type(label) is not type(first):
                raise DataError(
                    "Labels must have the same type in all files: "
                    f"`{Path(paths[0]).name}` has {first!r}, `{Path(path).name}` has "
                    f"{label!r}. Use the same type in both."
                )


def _check_columns(
    paths: Sequence[str | Path],
    found: Sequence[Description],
    names: tuple[str, ...] | None,
) -> None:
    first = found[0]
    for path, one in zip(paths, found, strict=True):
        if one.n_features != first.n_features:
            raise DataError(
                f"All files must have the same features: `{Path(path).name}` has "
                f"{one.n_features}, `{Path(paths[0]).name}` has {first.n_features}."
            )
        extra = set(one.feature_names or ()) - set(names or ())
        if extra:
            raise DataError(
                f"All files must have the same features: `{Path(path).name}` has "
                f"`{min(extra)}`, which another file lacks."
            )
