"""Coverage of the linking of two studies by anchors: `PYTHONPATH=. python benchmarks/linking.py`.

The old study's raters each judge half of its items; the new study's raters judge the anchors and items of one
system. Raters are lenient or strict (standard deviation .5), anchors shift by amounts of their own (.3), and
answers vary (.8). The new study is .4 stricter throughout. What is covered is that shift, and the linked
score of a system whose value on the old scale is known.
"""

import argparse
from typing import NamedTuple, TypeAlias

import numpy as np

from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.inference import Estimate, mean, samples
from evaluation.statistics.interval import Interval
from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.statistics.linking import known_values, linked, shift

SHIFT, OF_RATERS, OF_ANCHORS, OF_ANSWERS = -0.4, 0.5, 0.3, 0.8
SYSTEM = 1.0
Answers: TypeAlias = tuple[FloatArray, IntArray, IntArray]


class Design(NamedTuple):
    """Sizes of both studies, and the standard deviation of the anchors' own shifts."""

    anchors: int
    old_raters: int
    new_raters: int
    of_anchors: float = OF_ANCHORS


def answers(random: np.random.Generator, level: FloatArray, raters: int, share: float) -> Answers:
    """Answers, items and raters of a study in which each rater judges this share of the items."""
    strict = random.normal(0, OF_RATERS, raters)
    item, rater = np.nonzero(random.random((len(level), raters)) < share)
    return level[item] + strict[rater] + random.normal(0, OF_ANSWERS, len(item)), item, rater


def one_study(random: np.random.Generator, design: Design) -> tuple[bool, bool]:
    """Coverage of the intervals of the shift and of the linked score."""
    level = random.normal(0, 1, design.anchors)
    known = known_values(*answers(random, level, design.old_raters, 0.5))
    moved = level[known.items] + SHIFT + random.normal(0, design.of_anchors, len(known.items))
    system = SYSTEM + SHIFT + random.normal(0, 1, 40)
    given, item, rater = answers(random, np.concatenate([moved, system]), design.new_raters, 0.5)
    is_anchor = item < len(moved)
    by = shift(
        given[is_anchor],
        known.values[item[is_anchor]],
        item[is_anchor],
        rater[is_anchor],
        common_variance=known.common_variance,
    )
    own = ~is_anchor
    sample = samples(np.zeros(own.sum(), dtype=int), given[own], item[own], rater[own])[0]
    estimate = mean(sample, low=-100, high=100, level=LEVEL)
    assert isinstance(estimate, Estimate)
    assert isinstance(estimate.interval, Interval)
    error = (estimate.interval.high - estimate.interval.low) / 2 / 1.96
    score = linked(estimate.value, error, by)
    return by.low <= SHIFT <= by.high, score.low <= SYSTEM <= score.high


def coverage(design: Design, studies: int, seed: int) -> tuple[float, float]:
    """Shares of studies whose intervals have the true shift, and the true linked score."""
    random = np.random.default_rng(seed)
    found = np.array([one_study(random, design) for _ in range(studies)])
    return float(found[:, 0].mean()), float(found[:, 1].mean())


DESIGNS = (
    Design(5, 10, 10),
    Design(10, 10, 10),
    Design(10, 30, 10),
    Design(20, 10, 20),
    Design(20, 30, 30),
    Design(40, 30, 60),
    Design(20, 30, 30, of_anchors=0.0),
    Design(10, 10, 5),
)


def main() -> None:
    """Print coverage for every design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    studies = parser.parse_args().studies
    print("| anchors | old raters | new raters | anchors' own shifts | shift | linked score |")
    print("|---|---|---|---|---|---|")
    for number, design in enumerate(DESIGNS):
        of_shift, of_score = coverage(design, studies, seed=number)
        print("|", " | ".join(map(str, design)), f"| {100 * of_shift:.1f} % | {100 * of_score:.1f} % |")


if __name__ == "__main__":
    main()
