"""Data files, named data sets, and how to divide samples among nodes.

Rows are samples here, as in scikit-learn.
"""

from dssfn.datasets.contents import Columns, describe, read_labelled, read_table
from dssfn.datasets.dataset import Dataset, split
from dssfn.datasets.files import SUFFIXES
from dssfn.datasets.named import BUILTIN_NAMES, KNOWN_NAMES, load, load_dataset
from dssfn.datasets.number_samples import NumberSamples
from dssfn.datasets.openml import fetch_openml_dataset
from dssfn.datasets.partition import PARTITIONS, partition
from dssfn.datasets.read_options import ReadOptions
from dssfn.datasets.samples import FileSamples
from dssfn.datasets.shards import ShardFiles, open_shards, open_tables

__all__ = [
    "BUILTIN_NAMES",
    "KNOWN_NAMES",
    "PARTITIONS",
    "SUFFIXES",
    "Columns",
    "Dataset",
    "FileSamples",
    "NumberSamples",
    "ReadOptions",
    "ShardFiles",
    "describe",
    "fetch_openml_dataset",
    "load",
    "load_dataset",
    "open_shards",
    "open_tables",
    "partition",
    "read_labelled",
    "read_table",
    "split",
]
