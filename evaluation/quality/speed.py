"""How fast somebody judges: against what reading takes, and against others on the same items."""

from collections.abc import Sequence

import numpy as np

from evaluation.labels import AnyArray, FloatArray, IntArray, coded

WORDS_A_MINUTE = 700.0
"""Adults read 238 words a minute (Brysbaert 2019); who takes a third of that time has skimmed at best."""


def unread(answer_ms: FloatArray, words: FloatArray, *, words_a_minute: float = WORDS_A_MINUTE) -> IntArray:
    """Which judgments came before what is judged can have been read.

    Args:
        answer_ms: (n,) from being shown to the answer; NaN where it was not measured.
        words: (n,) in what is judged.
        words_a_minute: faster than this nobody reads.

    Returns:
        Their rows.
    """
    with np.errstate(invalid="ignore"):
        return np.flatnonzero(answer_ms < words / words_a_minute * 60_000)


def paces(
    rater: Sequence[str] | AnyArray, item: AnyArray, answer_ms: FloatArray
) -> dict[str, tuple[float, int]]:
    """By rater, the median of their time over the median time of the others on the same item.

    So items that take everybody long make nobody slow. 0.5 is twice as fast as the others.

    Args:
        rater: (n,) who judged.
        item: (n,) what.
        answer_ms: (n,) how long it took; NaN where it was not measured.

    Returns:
        With the number of items that tell; who shares no timed item with another is left out.
    """
    known = ~np.isnan(answer_ms) & (answer_ms > 0)
    raters, who = coded(np.asarray(rater, dtype=object)[known])
    code, ms = coded(item[known])[1], answer_ms[known]
    ratios: dict[str, list[float]] = {}
    order = np.argsort(code, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
        for row in rows.tolist():
            others = ms[rows[who[rows] != who[row]]]
            if len(others):
                ratios.setdefault(str(raters[who[row]]), []).append(float(ms[row] / np.median(others)))
    return {name: (float(np.median(of)), len(of)) for name, of in ratios.items()}
