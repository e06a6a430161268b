"""The stopping rule's boundary against published values, and its error rate when looked at all the time."""

import math
from typing import Any

import numpy as np
import pytest

from evaluation.planning.stopping import (
    Outcome,
    critical_height,
    crossing_probability,
    decision,
    multiplier,
    repeated_interval,
    share_needed,
)
from evaluation.questions import SSA
from evaluation.report.label_columns import Judged
from evaluation.report.stopping import StoppingRule, stopping_figures
from evaluation.statistics.differences import difference
from evaluation.statistics.inference import Sample
from evaluation.statistics.interval import Undefined


def crossing_at_looks(height: float, looks: int) -> float:
    """Probability that a Brownian motion is beyond the height at one of some equal looks, by integration.

    Armitage, McPherson & Rowe 1969, Journal of the Royal Statistical Society A 132(2): the density of the
    paths that have not crossed yet, look by look, on a grid.
    """
    places, step = np.linspace(-height, height, 601, retstep=True)
    weight = np.full(601, step)
    weight[[0, -1]] /= 2
    kernel = np.exp(-((places[:, None] - places) ** 2) * looks / 2) * math.sqrt(looks / (2 * math.pi))
    density = np.exp(-(places**2) * looks / 2) * math.sqrt(looks / (2 * math.pi))
    for _ in range(looks - 1):
        density = kernel @ (weight * density)
    return 1 - float(weight @ density)


# Jennison & Turnbull 2000, table 2.3: O'Brien and Fleming's constants at 5 %, by the number of looks.
@pytest.mark.parametrize(("looks", "constant"), [(2, 1.977), (5, 2.040), (10, 2.087), (20, 2.126)])
def test_integration_gives_the_published_constants(looks: int, constant: float) -> None:
    assert crossing_at_looks(constant, looks) == pytest.approx(0.05, abs=2e-4)
    assert crossing_at_looks(critical_height(0.95), looks) < 0.05


def test_the_boundary_is_the_limit_of_the_published_ones() -> None:
    c = critical_height(0.95)

    # Lan & DeMets 1983, Biometrika 70(3): their spending function is 4 (1 - Phi(z / sqrt(t))).
    assert c == pytest.approx(2.241403, abs=1e-5)
    for t in (0.2, 0.5, 0.8):
        spent = 2 * math.erfc(c / math.sqrt(2 * t))
        assert crossing_probability(c / math.sqrt(t)) == pytest.approx(spent, rel=1e-3)
    # 300 looks miss crossings between them, as if the boundary lay 0.5826 / sqrt(300) higher (Siegmund 1985).
    assert crossing_at_looks(c - 0.5826 / math.sqrt(300), 300) == pytest.approx(0.05, abs=5e-4)


def test_the_interval_at_the_largest_number_is_little_wider_than_one_for_a_single_look() -> None:
    assert multiplier(1, 1e9, 0.95) / 1.959964 == pytest.approx(1.1436, abs=1e-4)
    # 1.5 times the planned number at most: within 1.6 of the usual width, also with few degrees of freedom.
    assert multiplier(1 / 1.5, 1e9, 0.95) / 1.959964 < 1.41
    assert multiplier(1 / 1.5, 10, 0.95) / 2.228139 < 1.6
    assert multiplier(1e-6, 5, 0.95) == math.inf
    assert multiplier(2, 20, 0.95) == multiplier(1, 20, 0.95)  # later conversations count as the last look


def two(n: int, gap: float, seed: int, *, each: int = 1) -> tuple[Sample, Sample]:
    draw = np.random.default_rng(seed)
    worker = np.arange(2 * n) // each
    system = np.arange(2 * n) % 2
    values = (
        0.5 + gap * (system == 0) + 0.1 * draw.normal(size=2 * n) + 0.05 * draw.normal(size=2 * n)[worker]
    )
    cluster, clipped = np.arange(2 * n), np.clip(values, 0, 1)
    one, other = (Sample(clipped[system == c], cluster[system == c], worker[system == c]) for c in (0, 1))
    return one, other


def test_a_decision_follows_from_the_interval() -> None:
    clear = repeated_interval(difference(*two(60, 0.15, 1)), 0.75, 0.95)
    close = repeated_interval(difference(*two(400, 0.0, 2)), 1.0, 0.95)
    few = repeated_interval(difference(*two(30, 0.15, 3, each=10)), 0.5, 0.95)

    assert decision(clear, 0.05, equivalence=True) is Outcome.DIFFERENT
    assert decision(close, 0.05, equivalence=True) is Outcome.EQUIVALENT
    assert decision(close, 0.05, equivalence=False) is Outcome.UNDECIDED
    assert isinstance(few, Undefined)  # six workers
    assert "6 workers" in few.reason
    assert decision(few, 0.05, equivalence=True) is Outcome.UNDECIDED


def test_studies_of_equal_bots_are_rarely_called_different_under_continuous_looks() -> None:
    alarms = 0
    for seed in range(60):
        one, other = two(40, 0.0, 1000 + seed, each=2)
        for n in range(12, 41, 4):
            first, second = (
                Sample(each.values[:n], each.cluster[:n], each.rater[:n])  # type: ignore[index]
                for each in (one, other)
            )
            interval = repeated_interval(difference(first, second), n / 40, 0.95)
            if decision(interval, 0.01, equivalence=False) is Outcome.DIFFERENT:
                alarms += 1
                break
    # 5 % of 60 are 3. The seeds are fixed, so this never fails by chance. A full run: benchmarks/stopping.py.
    assert alarms <= 6


def test_the_number_that_is_needed_is_where_the_interval_becomes_short_enough() -> None:
    share = share_needed(0.1, 0.05, 0.5, 0.95)
    later_error = 0.05 * math.sqrt(0.5 / share)
    assert multiplier(share, 1e9, 0.95) * later_error == pytest.approx(0.1)
    assert share_needed(0.0, 0.05, 0.5, 0.95) == math.inf


@pytest.mark.parametrize("level", [0, 1, 1.5])
def test_impossible_values_are_refused(level: float) -> None:
    with pytest.raises(ValueError, match="is not a coverage between 0 and 1"):
        critical_height(level)
    with pytest.raises(ValueError, match="share=0 must be above 0"):
        multiplier(0, 10, 0.95)


def figures_of(conversations: int, gap: float, **values: Any) -> dict[str, Any]:
    """Figures of a rule about SSA after so many conversations with each of two bots, a worker each."""
    n = 2 * conversations
    row, draw = np.arange(n), np.random.default_rng(7)
    answers = {
        "sensible": np.ones(n),
        "specific": (draw.random(n) < np.where(row % 2 == 0, 0.5 + gap, 0.5 - gap)).astype(float),
    }
    judged = Judged(
        bot=np.where(row % 2 == 0, "a", "b").astype(object),
        dialogue=row, reply=np.ones(n, np.int64), rater=np.array([f"w{each}" for each in row], dtype=object),
        latency_ms=np.full(n, np.nan), answer_ms=np.full(n, np.nan), answers=answers,
    )  # fmt: skip
    usual = {"systems": ["a", "b"], "score": "ssa", "margin": 10.0, "equivalence": True, "first_look": 20}
    rule = StoppingRule(**{**usual, **values}, planned=80, largest=100)
    return stopping_figures(rule, SSA, judged, 0.95)


def test_figures_decide_once_the_first_look_is_reached_or_end_at_the_largest_number() -> None:
    early, decided, undecided = figures_of(40, 0.4, first_look=50), figures_of(40, 0.4), figures_of(60, 0.05)
    at_the_end, equal = figures_of(100, 0.05, margin=1.0), figures_of(100, 0.0, margin=15.0)

    assert early["pairs"][0]["outcome"] == "different"
    assert not early["decided"]  # 40 of 50
    assert decided["decided"]
    assert decided["pairs"][0]["low"] > 0
    assert not undecided["decided"]
    assert not undecided["exhausted"]
    assert at_the_end["exhausted"]
    assert not at_the_end["decided"]
    assert equal["pairs"][0]["outcome"] == "equivalent"
    assert figures_of(9, 0.4)["pairs"][0]["undefined"].endswith("the interval begins with 10.")
    three = figures_of(40, 0.4, systems=["a", "b", "c"])
    assert [row["outcome"] for row in three["pairs"]] == ["different", "undecided", "undecided"]
    assert three["conversations"] == 0
    assert three["level_of_pair"] == pytest.approx(1 - 0.05 / 3)
    with pytest.raises(ValueError, match="about the score “charm”; there are: "):
        figures_of(20, 0.1, score="charm")
