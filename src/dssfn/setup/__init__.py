"""What is prepared before a node runs: the plan, the folders, the certificates."""
