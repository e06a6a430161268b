"""Probabilities from tokens against calculation by hand, and calibration against scikit-learn."""

import math
from collections.abc import Mapping

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

from evaluation.machine_judges.calibration import BINS, calibration, calibrations
from evaluation.machine_judges.judged import JudgedItems, PartyLabels
from evaluation.machine_judges.model_answers import chances_of, token_probabilities
from evaluation.machine_judges.template import judgeable_questions
from evaluation.questions import QUESTION_SETS, SSA, Kind, QuestionSet, coded_answers


def token(text: str, **others: float) -> tuple[str, Mapping[str, float]]:
    """A token whose alternatives have these probabilities, "_" for a blank; the rest is its own."""
    named = {name.replace("_", " "): p for name, p in others.items()}
    own = {text: 1 - sum(named.values())} if text not in named else {}
    return text, {name: math.log(p) for name, p in {**own, **named}.items()}


def of(text: str, values: Mapping[str, float]) -> tuple[str, Mapping[str, float]]:
    return text, {name: math.log(p) for name, p in values.items()}


def rounded(found: Mapping[str, list[float | None]]) -> dict[str, list[float]]:
    return {key: [round(p or 0, 6) for p in known] for key, known in found.items()}


def test_values_in_an_object_are_found_with_their_blanks_and_brackets() -> None:
    tokens = [
        of('{"sens', {'{"sens': 1.0}),
        of('ible":', {'ible":': 1.0}),
        of(" true", {" true": 0.7, " false": 0.1, "false": 0.1, " maybe": 0.1}),
        of(', "specific"', {', "specific"': 1.0}),
        of(": fal", {": fal": 0.6, ": true": 0.2, " }": 0.2}),
        of("se}", {"se}": 1.0}),
    ]

    found = token_probabilities(SSA, '{"sensible": true, "specific": false}', tokens)

    order = [choice.value for choice in SSA.questions[0].choices]
    yes, no = order.index(True), order.index(False)
    assert found["sensible"][yes] == pytest.approx(0.7 / 0.9)
    assert found["specific"][no] == pytest.approx(0.6 / 0.8)


def single(values: tuple[int, ...]) -> QuestionSet:
    """A set with one question, answered with one of these numbers."""
    choices = [{"value": value, "label": str(value)} for value in values]
    declared = {
        "format": 1, "key": "grade", "title": "Grade", "subjects": ["response"], "source": "our own",
        "questions": [{"key": "grade", "wording": "Which grade?", "choices": choices}],
    }  # fmt: skip
    return QuestionSet.from_json(declared)


def test_choices_that_begin_alike_are_told_apart_by_later_tokens() -> None:
    ends = [of("1", {"1": 0.8, "2": 0.2}), of("0", {"0": 0.75, "\n": 0.25})]

    found = token_probabilities(single((1, 2, 10)), "10", ends)

    # By hand: 2 has 0.2, 10 has 0.8 · 0.75, and 1 has 0.8 · 0.25.
    assert rounded(found) == {"grade": [0.2, 0.2, 0.6]}


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("10", [of("1", {"1": 0.8})]),
        ("2", [of("2", {"2": 0.3, "x": 0.7})]),
        ("2", []),
    ],
)
def test_without_enough_mass_on_the_choices_nothing_is_said(
    text: str, tokens: list[tuple[str, Mapping[str, float]]]
) -> None:
    assert token_probabilities(single((1, 2, 10)), text, tokens) == {}


def test_tokens_of_reasoning_before_the_answer_are_passed_over() -> None:
    tokens = [of("1", {"1": 1.0}), of("…", {"…": 1.0}), of("2", {"2": 0.9, "1": 0.1})]

    # Whether 1 would have become 10 cannot be known.
    assert token_probabilities(single((1, 2, 10)), "2", tokens) == {"grade": [None, pytest.approx(0.9), None]}


def test_brier_score_and_bins_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(7)
    probability = rng.uniform(0, 1, 400)
    agreed = (rng.uniform(0, 1, 400) < probability**1.5).astype(np.float64)

    found = calibration("q", probability, agreed, np.arange(400) // 4)

    shares, mean_p = calibration_curve(agreed, probability, n_bins=BINS, strategy="uniform")
    assert [each.agreed for each in found.bins] == pytest.approx(shares)
    assert [each.probability for each in found.bins] == pytest.approx(mean_p)
    assert found.brier == pytest.approx(brier_score_loss(agreed, probability))
    sizes = np.array([each.items for each in found.bins])
    assert found.error == pytest.approx(float((sizes * np.abs(shares - mean_p)).sum() / 400))
    assert found.error_interval.low < found.error < found.error_interval.high


def test_shares_of_draws_and_expected_scores_count_as_by_hand() -> None:
    """Judge: two of three draws yes on every item; people: yes on 15 of 20."""
    item = np.repeat(np.arange(20), 3)
    yes = np.tile([1.0, 1.0, 0.0], 20)
    people = PartyLabels(
        np.arange(20),
        {"sensible": np.array([1.0] * 15 + [0.0] * 5), "specific": np.zeros(20)},
        np.zeros(20, dtype=np.int64),
    )
    judge = PartyLabels(item, {"sensible": yes, "specific": np.zeros(60)}, np.tile([1, 2, 3], 20))
    judged = JudgedItems(SSA, np.array(["A"] * 20, dtype=object), np.arange(20), people, judge)

    (sensible, specific) = calibrations(judged)

    assert (sensible.from_draws, sensible.items, len(sensible.bins)) == (True, 20, 1)
    assert sensible.error == pytest.approx(15 / 20 - 2 / 3)
    assert sensible.brier == pytest.approx((15 * (1 / 3) ** 2 + 5 * (2 / 3) ** 2) / 20)
    assert specific.error == 0


def test_the_score_of_a_label_with_probabilities_is_the_expected_one() -> None:
    questions = next(
        each
        for each in QUESTION_SETS.values()
        if len(judgeable_questions(each)) == 1 and each.scores and each.questions[0].kind is not Kind.SEVERAL
    )
    (question,) = judgeable_questions(questions)
    values = [choice.value for choice in question.choices]
    even = [1 / len(values)] * len(values)
    given = PartyLabels(
        np.arange(2),
        {question.key: coded_answers(question, [values[0], values[-1]])},
        np.ones(2, dtype=np.int64),
        chances=chances_of(questions, [{question.key: [*even]}, None]),
    )
    judged = JudgedItems(questions, np.array(["A", "A"], dtype=object), np.arange(2), given, given)
    score = questions.scores[0]

    plain = judged.scores_of(score, PartyLabels(given.item, given.answers, given.rater))
    every = PartyLabels(
        np.arange(len(values)),
        {question.key: coded_answers(question, values)},
        np.ones(len(values), dtype=np.int64),
    )
    expected = judged.scores_of(score, given)

    assert expected[0] == pytest.approx(float(np.mean(judged.scores_of(score, every))))
    assert expected[1] == plain[1]
