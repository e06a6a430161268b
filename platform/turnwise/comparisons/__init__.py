"""Comparisons of several studies: side by side, one bot over time, scores against perplexity, sweeps.

`side_by_side` shows stored results of reports. `scores` computes scores over several studies from their
labels; `history` shows them by version of a bot, `measures` and `pairs` against perplexity or human-likeness.
`sweeps` has the scores of a sweep of N and T. `chart_sheets` says which charts a page has; `chart_data` gives
them to the page's script, `drawing` and `plots` draw them in a subprocess. Nothing is stored: results are
cached.
"""
