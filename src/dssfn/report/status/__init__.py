"""The page of a running node, and the same for a terminal."""
