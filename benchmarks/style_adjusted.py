"""Style-adjusted strengths on studies with a planted length bias: what is recovered, and coverage.

Run: PYTHONPATH=. python benchmarks/style_adjusted.py [--studies 400] [--judgments 300] [--seed 1]

Prints JSON. Four systems of known strength meet in random pairs; the two strongest write longest, and raters
lean to the longer side and to bold passages. `large` is one study of 40,000 judgments, with raters who lean
alike and with raters who lean by different amounts: the planted and recovered biases, the strengths, and
those without adjustment. `small` are many studies with raters who differ: the share of 95 % intervals that
hold the truth, and the mean of the estimates.
"""

import argparse
import json
import sys
from typing import Any

import numpy as np
from numpy.random import Generator

from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.statistics.pairwise import OUTCOMES, Duels, bradley_terry
from evaluation.statistics.style_adjusted import StyleAdjusted, style_adjusted

STRENGTHS = np.array([0.6, 0.2, -0.2, -0.6])
USUAL_LENGTH = np.array([900.0, 900.0, 400.0, 400.0])
"""Characters; the strong systems write more, so that part of their lead is length."""
TIE = -1.0
ELEMENTS = ("length", "bold")
BIAS = np.array([0.8, 0.3])
"""Log-odds for a usual difference in length and in bold passages, in units of `TYPICAL`."""
TYPICAL = np.array([0.45, 0.5])
RATER_SD = 0.3


def simulate(
    rng: Generator, judgments: int, raters: int, rater_sd: float = RATER_SD
) -> tuple[Duels, IntArray, IntArray]:
    """A study with raters who lean by amounts of this spread: duels, and style of both sides."""
    pairs = np.array([rng.choice(len(STRENGTHS), 2, replace=False) for _ in range(judgments)])
    length = np.rint(USUAL_LENGTH[pairs] * rng.lognormal(0, 0.6, (judgments, 2)))
    bold = rng.poisson(2, (judgments, 2))
    style = np.stack([length, bold], axis=2).astype(np.int64)  # (n, side, element)
    first, second = style[:, 0], style[:, 1]
    rater = rng.integers(raters, size=judgments)
    relative = (first - second) / (first + second + 1) / TYPICAL
    bias = BIAS + rng.normal(0, rater_sd, raters)[rater][:, None]
    lead = STRENGTHS[pairs[:, 0]] - STRENGTHS[pairs[:, 1]] + (relative * bias).sum(axis=1)
    odds = np.exp(np.stack([lead / 2, -lead / 2, np.full(judgments, TIE)], axis=1))
    chances = (odds / odds.sum(axis=1, keepdims=True)).cumsum(axis=1)
    outcome = np.minimum((rng.random(judgments)[:, None] > chances).sum(axis=1), len(OUTCOMES) - 1)
    names = np.array([f"system {number}" for number in range(len(STRENGTHS))], dtype=object)
    duels = Duels(names, pairs[:, 0], pairs[:, 1], outcome, np.arange(judgments), rater)
    return duels, first, second


def biases(found: StyleAdjusted) -> FloatArray:
    """Estimated effects in the units of `BIAS`."""
    found_biases: FloatArray = np.array([each.coefficient / each.typical for each in found.effects]) * TYPICAL
    return found_biases


def large(rng: Generator, rater_sd: float) -> dict[str, Any]:
    """One study of 40,000 judgments."""
    duels, first, second = simulate(rng, 40_000, 2_000, rater_sd)
    found, plain = style_adjusted(duels, first, second, ELEMENTS), bradley_terry(duels)
    if isinstance(found, Undefined) or isinstance(plain, Undefined):
        return {"undefined": str(found)}
    recovered = biases(found)
    return {
        "bias": dict(zip(ELEMENTS, BIAS.tolist(), strict=True)),
        "recovered": dict(zip(ELEMENTS, recovered.round(4).tolist(), strict=True)),
        "error_of_length_percent": round(100 * abs(float(recovered[0] / BIAS[0]) - 1), 2),
        "strengths": STRENGTHS.tolist(),
        "adjusted": [round(value, 3) for value in found.strengths.strength.values()],
        "unadjusted": [round(value, 3) for value in plain.strength.values()],
    }


def small(rng: Generator, studies: int, judgments: int) -> dict[str, Any]:
    """Many studies with 30 raters each."""
    held, means, undefined = [], [], 0
    for _ in range(studies):
        found = style_adjusted(*simulate(rng, judgments, 30), ELEMENTS)
        if isinstance(found, Undefined):
            undefined += 1
            continue
        scale = np.array([each.typical for each in found.effects]) / TYPICAL
        truth = [*STRENGTHS, *(BIAS * scale)]
        intervals = [*found.strengths.intervals.values(), *(each.interval for each in found.effects)]
        held.append([isinstance(i, Interval) and t in i for t, i in zip(truth, intervals, strict=True)])
        means.append([*found.strengths.strength.values(), *biases(found)])
    names = [*(f"strength {number}" for number in range(len(STRENGTHS))), *ELEMENTS]
    coverage, mean = np.mean(held, axis=0), np.mean(means, axis=0)
    return {
        "studies": studies,
        "judgments": judgments,
        "undefined": undefined,
        "coverage_percent": dict(zip(names, (100 * coverage).round(1).tolist(), strict=True)),
        "mean_estimate": dict(zip(names, mean.round(3).tolist(), strict=True)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--judgments", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    alike, different = large(rng, 0), large(rng, RATER_SD)
    result = {
        "large": {"raters_alike": alike, "raters_differ": different},
        "small": small(rng, options.studies, options.judgments),
    }
    json.dump(result, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
