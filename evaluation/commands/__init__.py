"""Commands of `python -m evaluation` and the readers of their files."""
