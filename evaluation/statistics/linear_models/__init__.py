"""Least squares: regression, analysis of variance, and errors that allow for clusters."""
