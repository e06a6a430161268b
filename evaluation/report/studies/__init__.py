"""Figures of the report, one module per kind of study or part of it."""
