"""Coverage of the linking of two studies by anchors: `PYTHONPATH=. python benchmarks/linking.py`.

The old study's raters each judge half of its items, or all; the new study's raters judge as large a share of
the anchors and of the items of one system. Raters are lenient or strict (standard deviation .5), anchors
shift by amounts of their own (.3), and answers vary (.8). The new study is .4 stricter throughout. What is
covered is that shift, and the linked score of a system whose value on the old scale is known.
"""

import argparse
from typing import NamedTuple, TypeAlias

import numpy as np

from evaluation.statistics.inference import Sample
from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.statistics.linking import known_values, linked_together, shift

SHIFT, OF_RATERS, OF_ANCHORS, OF_ANSWERS = -0.4, 0.5, 0.3, 0.8
SYSTEM = 1.0
Answers: TypeAlias = tuple[FloatArray, IntArray, IntArray]


class Design(NamedTuple):
    """Sizes of both studies.

    Attributes:
        anchors: number of anchors.
        old_raters, new_raters: numbers of raters of both studies.
        of_anchors: standard deviation of the anchors' own shifts.
        share: share of the items that each rater judges.
        items: number of items of the system in the new study.
    """

    anchors: int
    old_raters: int
    new_raters: int
    of_anchors: float = OF_ANCHORS
    share: float = 0.5
    items: int = 40


def answers(random: np.random.Generator, level: FloatArray, raters: int, share: float) -> Answers:
    """Answers, items and raters of a study in which each rater judges this share of the items."""
    strict = random.normal(0, OF_RATERS, raters)
    item, rater = np.nonzero(random.random((len(level), raters)) < share)
    return level[item] + strict[rater] + random.normal(0, OF_ANSWERS, len(item)), item, rater


def one_study(random: np.random.Generator, design: Design) -> tuple[bool, bool]:
    """Coverage of the intervals of the shift and of the linked score."""
    level = random.normal(0, 1, design.anchors)
    known = known_values(*answers(random, level, design.old_raters, design.share))
    moved = level[known.items] + SHIFT + random.normal(0, design.of_anchors, len(known.items))
    system = SYSTEM + SHIFT + random.normal(0, 1, design.items)
    given, item, rater = answers(random, np.concatenate([moved, system]), design.new_raters, design.share)
    is_anchor = item < len(moved)
    # As in a report, which knows no more of the old raters.
    freedom = int(known.raters.max()) - 1
    drift, anchor = (given - known.values[np.minimum(item, len(moved) - 1)])[is_anchor], item[is_anchor]
    by = shift(
        drift, np.zeros(len(drift)), anchor, rater[is_anchor],
        common_variance=known.common_variance, common_freedom=freedom,
    )  # fmt: skip
    score = linked_together(
        Sample(given[~is_anchor], item[~is_anchor], rater[~is_anchor]),
        Sample(drift, anchor, rater[is_anchor], 1 / np.bincount(anchor)[anchor]),
        scale=(-100, 100), common_variance=known.common_variance, common_freedom=freedom,
    )  # fmt: skip
    assert score
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
    Design(20, 3, 3, share=1.0),
    Design(20, 5, 5, share=1.0),
    Design(20, 10, 10, share=1.0),
    Design(20, 3, 30, share=1.0),
    Design(20, 5, 30, share=1.0),
    Design(20, 30, 3, share=1.0),
    Design(20, 3, 30, share=1.0, items=400),
)


def main() -> None:
    """Print coverage for every design."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    studies = parser.parse_args().studies
    print(
        "| anchors | old raters | new raters | anchors' own shifts | share | items | shift | linked score |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for number, design in enumerate(DESIGNS):
        of_shift, of_score = coverage(design, studies, seed=number)
        print("|", " | ".join(map(str, design)), f"| {100 * of_shift:.1f} % | {100 * of_score:.1f} % |")


if __name__ == "__main__":
    main()
