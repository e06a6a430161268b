"""Coverage of the hybrid metric's intervals, in simulated studies of several sizes.

    PYTHONPATH=. python benchmarks/hybrid.py [--studies 2000]      # prints JSON

Ratings are 4 + metrics · LAMBDAS with noise: equal for all conversations; or larger the further the first
metric is from 0 ("uneven"); or with an effect of each bot beside ("bots differ"). In the last case only
`over_bots` is meant to hold the coefficients: other talks with the same bots would have the same effects.
"""

import argparse
import json
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.random import default_rng

from evaluation.conversation.hybrid import Talks, hybrid
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray

LAMBDAS = np.array([0.8, -0.5, 0.3])
SIZES = ((12, 40, 30), (12, 8, 10), (6, 15, 10), (4, 40, 30), (3, 20, 10))
"""Bots, and of each bot conversations with people and with itself."""
NOISE = ("even", "uneven", "bots differ")


def simulated_data(
    seed: int, bots: int = 12, each: int = 40, played: int = 30, *, noise: float = 0.7, kind: str = "even"
) -> tuple[Talks, FloatArray, Talks, FloatArray]:
    """Simulate talks with people, their ratings, self-play, and the score that self-play should predict."""
    rng = default_rng((seed, bots, each))
    centres = rng.normal(size=(bots, 3))
    people, machines = np.repeat(np.arange(bots), each), np.repeat(np.arange(bots), played)
    mixed = np.array([[1, 0.5, 0], [0, 1, 0], [0, 0, 1]])
    values = centres[people] + rng.normal(size=(len(people), 3)) @ mixed
    errors = rng.normal(scale=noise, size=len(people))
    if kind == "uneven":
        errors *= 0.4 + abs(values[:, 0])
    if kind == "bots differ":
        errors += rng.normal(scale=noise, size=bots)[people]
    play = centres[machines] + rng.normal(size=(len(machines), 3))
    rating = 4 + values @ LAMBDAS + errors
    return Talks(people, values), rating, Talks(machines, play), 4 + centres @ LAMBDAS


def held(
    size: tuple[int, int, int], studies: int, kind: str = "even", level: float = 0.95
) -> dict[str, list[float]]:
    """The share of studies whose interval holds each coefficient, and the share of bots foretold."""
    inside: dict[str, list[FloatArray]] = {"over_conversations": [], "over_bots": [], "foretold": []}
    for seed in range(studies):
        rated, rating, self_play, foretold = simulated_data(seed, *size, kind=kind)
        found = hybrid(rated, rating, self_play, default_rng(0), level=level, permutations=1)
        # One standard deviation of this study's metric is so many units.
        truth = LAMBDAS * rated.values.std(axis=0, ddof=1)
        known = list(zip(found.coefficients, truth, strict=True))
        inside["over_conversations"].append(
            np.array([not isinstance(c.interval, Undefined) and t in c.interval for c, t in known])
        )
        inside["over_bots"].append(
            np.array([not isinstance(c.over_bots, Undefined) and t in c.over_bots for c, t in known])
        )
        bots = zip(found.bots, foretold, strict=True)
        each = [not isinstance(b.interval, Undefined) and t in b.interval for b, t in bots]
        inside["foretold"].append(np.array([np.mean(each)]))
    return {name: np.mean(rows, axis=0).tolist() for name, rows in inside.items()}


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=2_000, help="of each size and kind of noise")
    options = parser.parse_args()
    rows = [
        {"noise": kind, "bots": size[0], "conversations": size[1], "self_play": size[2]}
        | held(size, options.studies, kind)
        for kind in NOISE
        for size in SIZES
    ]
    print(json.dumps({"studies": options.studies, "level": 0.95, "holds_the_truth": rows}, indent=1))


if __name__ == "__main__":
    main()
