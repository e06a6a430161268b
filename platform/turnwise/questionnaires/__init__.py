"""Questionnaires in which participants answer questions about themselves, before or after the work.

`services` registers a gate with `turnwise.crowd.entry.gates`; answers are labels of the rater role "themselves".
"""
