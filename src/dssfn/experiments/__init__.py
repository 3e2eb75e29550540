"""The paper's experiments and ours: each a module, or a package, of its own.

An experiment makes rows and shows them as a table, words and figures: an `Experiment`,
which `registry.py` knows by name. What trains is imported when a row is made, and
matplotlib when a figure is drawn.
"""
