"""The page of the statistics of all nodes."""
