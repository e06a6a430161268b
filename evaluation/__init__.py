"""Numbers about conversations: pure functions over NumPy arrays.

Knows no Django, no chatbots, no files (but for the command line, bundles and the benchmark), no clock and no
hidden random generator: whoever needs randomness passes a seeded `numpy.random.Generator`. What the data
cannot tell is `interval.Undefined` with its reason, never 0, 1 or NaN. `docs/statistics.md` states the
assumptions and the source of each statistic.
"""

import os

# Before anybody imports NumPy. Our matrices have some hundred rows: threads of OpenBLAS would wait for each
# other by turning, which takes hundreds of times as long as one thread alone where the machine is busy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
