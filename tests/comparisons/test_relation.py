"""Points, line and correlations of a relation, checked by hand."""

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest

from evaluation.questions import question_set
from turnwise.comparisons.measures import PUBLISHED, Measured, Point, relation_figures

MEASURED = Measured(question_set(PUBLISHED))


def figures_of(title: str, points: Sequence[Point]) -> dict[str, Any]:
    return relation_figures(title, points, MEASURED)


def point(x: float, ssa: float, *, sensible: float = 50.0) -> Point:
    scores = {"ssa": {"value": ssa}, "sensible": {"value": sensible}, "specific": {"value": ssa}}
    return Point(f"at {x}", "bot", {"value": x}, scores, 10, 70)


def relation(figures: dict[str, Any], key: str) -> dict[str, Any]:
    return next(each for each in figures["relations"] if each["key"] == key)


def test_line_and_correlations_of_four_points() -> None:
    # x 10 20 30 40, mean 25; y 72 60 62 46, mean 60.
    # Sxx = 225+25+25+225 = 500; Sxy = -15*12 + -5*0 + 5*2 + 15*-14 = -380; Syy = 144+0+4+196 = 344.
    # slope = -0.76; intercept = 60 + 0.76*25 = 79; R² = 380² / (500*344) = 0.83953…; r = -0.91626…
    # Ranks of y: 4 2 3 1; d against x's 1 2 3 4: 3 0 0 -3; rho = 1 - 6*18/(4*15) = -0.8.
    # Pairs: 5 discordant, 1 concordant of 6; tau = -4/6.
    figures = figures_of("perplexity", [point(10, 72), point(20, 60), point(30, 62), point(40, 46)])

    found = relation(figures, "ssa")
    assert found["line"]["slope"]["value"] == pytest.approx(-0.76)
    assert found["line"]["intercept"]["value"] == pytest.approx(79)
    assert found["line"]["r_squared"]["value"] == pytest.approx(380**2 / (500 * 344))
    values = {each["name"]: each["value"] for each in found["correlations"]}
    assert values["Pearson"] == pytest.approx(-380 / math.sqrt(500 * 344))
    assert values["Spearman"] == pytest.approx(-0.8)
    assert values["Kendall (tau-b)"] == pytest.approx(-2 / 3)
    # Kendall's interval needs five points.
    assert (
        "at least 5"
        in {each["name"]: each.get("undefined") for each in found["correlations"]}["Kendall (tau-b)"]
    )
    # Slope ± t(0.975, 2) * s/√Sxx; residual sum = Syy - Sxy²/Sxx = 55.2, s² = 27.6, t = 4.302653.
    half = 4.302653 * math.sqrt(27.6 / 500)
    assert found["line"]["slope"]["low"] == pytest.approx(-0.76 - half, rel=1e-5)
    # The band is narrowest at the mean of x: s/√4 around the line.
    middle = found["line"]["at"].index(25)
    assert found["line"]["high"][middle] == pytest.approx(60 + 4.302653 * math.sqrt(27.6 / 4), rel=1e-5)


@pytest.mark.parametrize(("number", "reason"), [(0, "0 points"), (1, "1 point"), (2, "2 points")])
def test_too_few_points_have_no_line_but_a_reason(number: int, reason: str) -> None:
    figures = figures_of("perplexity", [point(10, 72), point(20, 60)][:number])

    assert reason in relation(figures, "ssa")["line"]["undefined"]
    assert all(each["value"] is None for each in relation(figures, "ssa")["correlations"])


def test_a_score_that_does_not_vary_has_no_line_but_the_others_have() -> None:
    figures = figures_of("perplexity", [point(10, 72), point(20, 60), point(30, 62)])

    assert "is 50 at all 3 points" in relation(figures, "sensible")["line"]["undefined"]
    assert "slope" in relation(figures, "ssa")["line"]


def test_points_on_a_line_are_no_proof_of_their_spread() -> None:
    figures = figures_of("perplexity", [point(x, 100 - x) for x in (10, 20, 30, 40, 50)])

    found = relation(figures, "ssa")
    assert found["line"]["r_squared"]["value"] == pytest.approx(1)
    assert "agree perfectly" in found["line"]["r_squared"]["undefined"]
    assert json.loads(json.dumps(figures, allow_nan=False)) == figures
