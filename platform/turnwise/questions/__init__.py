"""Question sets that researchers declare, with their editor and their lookup by key.

`question_sets.question_set` finds any set, shipped or declared. A saved version never changes. The editor
works on a `Draft` (drafts.py), which `declaring` converts to the JSON that `evaluation.questions` validates.
"""
