"""The version of the package; CITATION.cff repeats it, and a test compares them."""

__version__ = "0.1.0"
