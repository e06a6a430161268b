"""A probabilistic grammar of the question whether one talks to a machine, and of what only looks like it."""
