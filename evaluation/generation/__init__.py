"""Automatic metrics of generated responses: perplexity, F1 and distinct n-grams, each with an interval.

Sources: Gopalakrishnan et al. 2019 (Topical-Chat, Interspeech), section 6; Li et al. 2016
(arXiv:1510.03055) of distinct n-grams; ParlAI (parlai/core/metrics.py) of F1.
"""
