"""Batteries: the same composition of items for every reader of a study."""
