"""Formats of dates in Hindi."""
