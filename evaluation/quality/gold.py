"""Items with a known answer: whether one is judged rightly, and a share of right ones with its interval."""

import math
from collections.abc import Mapping, Sequence

from evaluation.interval import Undefined
from evaluation.questions import is_same

_Z = 1.959963984540054  # of the normal distribution, 97.5 %


def is_right(right: Mapping[str, Sequence[object]], answers: Mapping[str, object]) -> bool:
    """Whether every question with a known answer is answered with a right one.

    Args:
        right: by question, the right answers. One of them is enough; where several may be chosen, these and
            no others are.
        answers: by question, what was answered; absent: it was not asked, or left out.
    """
    return all(_fits(wanted, answers.get(question)) for question, wanted in right.items() if wanted)


def _fits(wanted: Sequence[object], given: object) -> bool:
    if isinstance(given, list):
        return len(given) == len(wanted) and all(any(is_same(a, b) for b in given) for a in wanted)
    return any(is_same(each, given) for each in wanted)


def share(right: int, of: int) -> tuple[float, float, float] | Undefined:
    """The share of right ones with its 95 % interval, by Wilson's score, which holds for few and at the ends.

    Args:
        right: how many were right, 0 to `of`.
        of: how many there were.

    Returns:
        Share, lower and upper end, in [0, 1].

    Source: Wilson 1927, JASA 22(158); Newcombe 1998, Statistics in Medicine 17(8), method 3.
    """
    if not of:
        return Undefined("Nothing with a known answer was judged.")
    p, z2 = right / of, _Z * _Z
    middle = (p + z2 / (2 * of)) / (1 + z2 / of)
    half = _Z * math.sqrt(p * (1 - p) / of + z2 / (4 * of * of)) / (1 + z2 / of)
    return p, max(0.0, middle - half), min(1.0, middle + half)
