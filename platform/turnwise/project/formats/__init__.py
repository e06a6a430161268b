"""Formats of dates in languages for which Django has none."""
