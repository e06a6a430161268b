"""Panels against calculation by hand, and their means against numpy."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.machine_judges.panels import PanelLabel, Rule, panel_labels
from evaluation.questions import LIKERT, SSA, Answer, QuestionSet

NAMES = ("a", "b", "c", "d")


def voted(questions: QuestionSet, *votes: Mapping[str, Answer] | None) -> PanelLabel:
    """The vote of members with one answer each, or none."""
    of_members = {name: [vote] for name, vote in zip(NAMES, votes, strict=False) if vote is not None}
    (label,) = panel_labels(questions, Rule.VOTE, NAMES[: len(votes)], of_members)
    return label


YES_YES: Mapping[str, Answer] = {"sensible": True, "specific": True}
YES_NO: Mapping[str, Answer] = {"sensible": True, "specific": False}
NO_NO: Mapping[str, Answer] = {"sensible": False, "specific": False}


@pytest.mark.parametrize(
    ("votes", "answers", "why"),
    [
        ((YES_YES, YES_YES, NO_NO), YES_YES, ""),
        ((YES_YES, YES_NO, NO_NO), YES_NO, ""),
        ((YES_YES, YES_NO), {"sensible": True}, "A tie about “Is it specific?”"),
        ((YES_YES, None, None), YES_YES, ""),
        ((YES_YES, NO_NO), {}, "A tie about “Does it make sense?”"),
        ((None, None), {}, "No member has an answer."),
    ],
)
def test_a_vote_is_that_of_most_members_and_a_tie_is_no_answer(
    votes: tuple[Mapping[str, Answer] | None, ...], answers: Mapping[str, Answer], why: str
) -> None:
    assert voted(SSA, *votes) == PanelLabel(1, dict(answers), why)


def test_a_member_with_several_draws_has_one_vote() -> None:
    of_members = {"a": [YES_YES] * 5, "b": [NO_NO], "c": [NO_NO]}

    (label,) = panel_labels(SSA, Rule.VOTE, "abc", of_members)

    assert label.answers == NO_NO


@given(st.lists(st.integers(1, 5), min_size=2, max_size=4))
def test_the_labels_of_a_mean_have_the_mean_of_the_members(numbers: list[int]) -> None:
    key = LIKERT.questions[0].key
    of_members = {name: [{key: number}] for name, number in zip(NAMES, numbers, strict=False)}

    labels = panel_labels(LIKERT, Rule.MEAN, NAMES[: len(numbers)], of_members)

    assert np.mean([label.answers[key] for label in labels]) == np.mean(numbers)
    assert [label.draw for label in labels] == [*range(1, len(numbers) + 1)]


def test_a_mean_needs_every_member() -> None:
    assert panel_labels(SSA, Rule.MEAN, "ab", {"a": [YES_NO]}) == [PanelLabel(1, {}, "Without an answer: b.")]
