"""A node of a real network: its files, its neighbours, its training."""
