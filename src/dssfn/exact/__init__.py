"""Arithmetic in which sums over samples are exact, whoever holds the samples."""
