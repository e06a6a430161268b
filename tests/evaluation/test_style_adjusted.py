"""Strengths adjusted for style, against planted effects, other packages and a general optimiser."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from benchmarks.style_adjusted import BIAS, ELEMENTS, STRENGTHS, TYPICAL, biases, simulate
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.pairwise import Duels, bradley_terry
from evaluation.statistics.style_adjusted import StyleAdjusted, style_adjusted
from evaluation.texts.markdown_style import Style, style_of, texts_of_speaker


def adjusted(duels: Duels, first: Any, second: Any, elements: Sequence[str]) -> StyleAdjusted:
    found = style_adjusted(duels, first, second, elements)
    assert isinstance(found, StyleAdjusted), found
    return found


def without_ties(judgments: int = 3000) -> tuple[Duels, Any, Any]:
    duels, first, second = simulate(np.random.default_rng(5), judgments, 60)
    rows = duels.outcome < 2
    assert duels.rater is not None
    columns = (duels.first, duels.second, duels.outcome, duels.cluster, duels.rater)
    return Duels(duels.bots, *(each[rows] for each in columns)), first[rows], second[rows]


def design_of(duels: Duels, first: Any, second: Any) -> Any:
    """Columns as in the publication, with the spread taken around 0; the last system is the reference."""
    relative = (first - second) / (first + second + 1)
    z = relative / np.sqrt((relative**2).mean(axis=0))
    systems = np.eye(len(duels.bots))[duels.first] - np.eye(len(duels.bots))[duels.second]
    return np.hstack([systems[:, :-1], z])


def values_of(found: StyleAdjusted) -> list[float]:
    *strengths, last = found.strengths.strength.values()
    return [value - last for value in strengths] + [each.coefficient for each in found.effects]


def test_a_planted_length_bias_is_recovered_within_five_percent() -> None:
    duels, first, second = simulate(np.random.default_rng(1), 40_000, 2_000)
    found = adjusted(duels, first, second, ELEMENTS)

    assert biases(found)[0] == pytest.approx(BIAS[0], rel=0.05)
    assert list(found.strengths.strength.values()) == pytest.approx(STRENGTHS, abs=0.05)
    plain = bradley_terry(duels)
    assert not isinstance(plain, Undefined)
    assert plain.strength["system 0"] > STRENGTHS[0] + 0.2  # it is ahead for its length, too


def test_without_ties_it_is_the_logistic_regression_of_two_packages() -> None:
    duels, first, second = without_ties()
    design, won = design_of(duels, first, second), duels.outcome == 0
    found = values_of(adjusted(duels, first, second, ELEMENTS))

    theirs = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10, max_iter=1000).fit(design, won)
    assert found == pytest.approx(theirs.coef_[0], abs=1e-5)
    assert found == pytest.approx(sm.GLM(won, design, family=sm.families.Binomial()).fit().params, abs=1e-8)


def test_with_ties_it_maximises_davidsons_likelihood() -> None:
    duels, first, second = simulate(np.random.default_rng(2), 1500, 50)
    design = design_of(duels, first, second)

    def minus_log_likelihood(parameters: Any) -> float:
        lead = design @ parameters[:-1]
        logits = np.stack([lead / 2, -lead / 2, np.full(len(lead), parameters[-1])], axis=1)
        chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        return float(-np.log(chances[np.arange(len(duels)), duels.outcome]).sum())

    theirs = minimize(minus_log_likelihood, np.zeros(design.shape[1] + 1), tol=1e-10).x
    found = adjusted(duels, first, second, ELEMENTS)
    assert [*values_of(found), found.strengths.tie_tendency] == pytest.approx(theirs, abs=1e-4)


def test_the_interval_allows_for_raters_as_another_package_does() -> None:
    duels, first, second = without_ties()
    found = adjusted(duels, first, second, ELEMENTS)
    model = sm.GLM(duels.outcome == 0, design_of(duels, first, second), family=sm.families.Binomial())
    theirs = model.fit(cov_type="cluster", cov_kwds={"groups": duels.rater, "use_correction": False}).bse[-2:]

    for effect, error in zip(found.effects, theirs, strict=True):
        assert isinstance(effect.interval, Interval)
        # Student's t and the correction for few raters make it a little wider than theirs.
        ours = (effect.interval.high - effect.interval.low) / 2 / 2.0
        assert error < ours < 1.1 * error


def test_swapping_the_sides_changes_nothing() -> None:
    duels, first, second = simulate(np.random.default_rng(3), 800, 40)
    outcome = np.array([1, 0, 2])[duels.outcome]
    swapped = Duels(duels.bots, duels.second, duels.first, outcome, duels.cluster, duels.rater)

    one, other = adjusted(duels, first, second, ELEMENTS), adjusted(swapped, second, first, ELEMENTS)
    assert values_of(one) == pytest.approx(values_of(other), abs=1e-9)
    assert [each.typical for each in one.effects] == pytest.approx(TYPICAL, abs=0.1)


def test_an_element_that_never_differs_is_named_and_left_out() -> None:
    duels, first, second = simulate(np.random.default_rng(4), 400, 40)
    first[:, 1] = second[:, 1] = 3

    found = adjusted(duels, first, second, ELEMENTS)
    assert ([each.element for each in found.effects], found.equal) == (["length"], ["bold"])


@pytest.mark.parametrize(
    ("judgments", "change", "reason"),
    [
        (20, lambda first, second, duels: (first, second), "need 50 judgments that name a winner"),
        (300, lambda first, second, duels: (first, first), "both sides have the same style"),
        (
            300,
            lambda first, second, duels: (
                np.stack([duels.first, first[:, 1]], axis=1) * 0 + duels.first[:, None],
                np.stack([duels.first, first[:, 1]], axis=1) * 0 + duels.first[:, None] + 1,
            ),
            "cannot be told apart",
        ),
    ],
)
def test_it_says_why_it_cannot_adjust(judgments: int, change: Any, reason: str) -> None:
    duels, first, second = simulate(np.random.default_rng(6), judgments, 20)
    one, other = change(first, second, duels)
    found = style_adjusted(duels, one, other, ELEMENTS)

    assert isinstance(found, Undefined)
    assert reason in found.reason


def test_amounts_that_cannot_be_are_refused() -> None:
    duels, first, second = simulate(np.random.default_rng(6), 50, 20)

    with pytest.raises(ValueError, match="second has a negative amount"):
        style_adjusted(duels, first, -second, ELEMENTS)
    with pytest.raises(ValueError, match="first has the shape"):
        style_adjusted(duels, first[:, :1], second, ELEMENTS)


def test_style_is_counted_by_hand() -> None:
    text = "# Title\n\nSome **bold** and __more__.\n\n- one\n* two\n3. three\n\n```python\n# code\n- x\n```\n"
    text += "## End"

    assert style_of([text]) == Style(length=len(text), headers=2, lists=3, bold=2)
    assert style_of([text, "**a** b"]) == Style(len(text) + 7, 2, 3, 3)
    assert style_of([]) == Style(0, 0, 0, 0)
    assert style_of(["#no header\n-no item\n**not\nbold**"])[1:] == (0, 0, 0)
    assert style_of(["~~~\n# never closed"])[1:] == (0, 0, 0)


def test_a_speaker_has_every_other_turn() -> None:
    turns = ["hi", "hello", "how are you", "fine"]

    assert texts_of_speaker(turns, 1) == ["hello", "fine"]
    assert texts_of_speaker(turns, 0) == ["hi", "how are you"]
    assert texts_of_speaker(turns, None) == turns
