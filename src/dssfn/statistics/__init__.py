"""What all nodes hold together: counts, means and deviations, and never a row."""
