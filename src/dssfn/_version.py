"""The version of the package, which is written nowhere else."""

__version__ = "0.1.0"
