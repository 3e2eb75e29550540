"""A training as a page: reads what a command wrote, knows nothing of training."""
