"""Statistics about conversations: pure functions over NumPy arrays.

The package uses no Django, no chatbots, no clock, and no files except in the command line, bundles and the
benchmark. Random numbers come from a seeded `numpy.random.Generator` that the caller passes. A number that
the data do not define is `interval.Undefined` with its reason, never 0, 1 or NaN. `docs/statistics.md` states
the assumptions and the source of each statistic.

`questions` declares question sets, `statistics` and `rater_agreement` compute from labels, `conversation`,
`texts` and `quality` measure texts and work, `protocols` holds published methods, and `report` puts the
figures of a study together. Sentences that a report stores are part of published bundles: a bundle made
before must recompute equal, so do not reword them.
"""

import os

# Set before NumPy is imported. Our matrices have some hundred rows, for which the busy-waiting threads of
# OpenBLAS take hundreds of times as long as one thread if the machine is busy.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
