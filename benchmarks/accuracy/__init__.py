"""The estimators with their defaults beside the usual models, on real data."""
