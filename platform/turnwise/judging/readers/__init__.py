"""Comparison of readers: with the people who chatted, and with a second group of readers."""
