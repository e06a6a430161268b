"""A study's finished conversations as files: training data, tables of turns, and logs with scores.

The importers read all of them again.
"""
