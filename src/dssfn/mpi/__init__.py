"""Train over the ranks of an MPI job, each with some of the nodes."""
