"""How several raters answered the same question."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evaluation.questions import Question
from turnwise.questions.resolving import question_set


class Vote(NamedTuple):
    """One answer to a question and how many raters gave it."""

    answer: str
    raters: int


def votes_on(question: Question, answers: Sequence[Mapping[str, Any]]) -> list[Vote]:
    """How many of these raters gave which answer, the most frequent first; who was not asked is left out.

    Of several choices, each counts by itself.
    """
    there = [each[question.key] for each in answers if question.key in each]
    chosen = [value for each in there for value in (each if isinstance(each, list) else [each])]
    given = Counter(question.caption_of(value) for value in chosen)
    return sorted(
        (Vote(answer, raters) for answer, raters in given.items()), key=lambda v: (-v.raters, v.answer)
    )


def tally(questions: str, answers: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Vote]]]:
    """For each question of a set, how many readers gave which answer."""
    return [(each.wording, votes_on(each, answers)) for each in question_set(questions).questions]
