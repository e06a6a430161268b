"""Numbers about conversations: pure functions over NumPy arrays.

Knows no Django, no chatbots, no files (but for the command line, bundles and the benchmark), no clock and no
hidden random generator: whoever needs randomness passes a seeded `numpy.random.Generator`. What the data
cannot tell is `interval.Undefined` with its reason, never 0, 1 or NaN. `docs/statistics.md` states the
assumptions and the source of each statistic.
"""
