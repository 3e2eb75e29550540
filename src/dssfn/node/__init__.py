"""A node of a real network: its file, its neighbours, its training."""
