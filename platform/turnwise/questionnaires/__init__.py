"""Questionnaires in which participants answer questions about themselves, before or after the work.

`services` registers a gate with `turnwise.crowd.entry.gates`. Answers are labels of the rater role
"themselves".
"""
