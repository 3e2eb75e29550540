"""Experiments on a page: tables, figures and words, from rows."""
