"""The items of a judging study: selecting, sampling, adding and removing them.

`pair_sampling` has the rules by which pairs are drawn.
"""
