"""A panel of machine judges: one label of each item from those of its members. Nothing is guessed.

Panels of several models agree with people better than most single ones (Verga et al. 2024, "Replacing judges
with juries", arXiv:2404.18796).
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from evaluation.machine_judges.template import judgeable_questions
from evaluation.questions import Answer, Question, QuestionSet

Answers: TypeAlias = Mapping[str, Answer]
"""Answers of one label by question key."""


class Rule(StrEnum):
    """How the members' labels become those of the panel."""

    VOTE = "vote"
    """The answer of most members; a tie is no answer."""
    MEAN = "mean"
    """Every member's answers, of which the mean counts."""


@dataclass(frozen=True, slots=True)
class PanelLabel:
    """One label of a panel.

    Attributes:
        draw: number of the label about the item, from 1; of a vote always 1.
        answers: those that are decided; empty if none is.
        why: why an answer is missing; empty if none is.
    """

    draw: int
    answers: dict[str, Answer]
    why: str = ""


def panel_labels(
    questions: QuestionSet, rule: Rule, members: Sequence[str], given: Mapping[str, Sequence[Answers]]
) -> list[PanelLabel]:
    """Labels of a panel about one item.

    Args:
        questions: the question set that all members answered.
        rule: by vote, each member has one vote on each question: the answer that it gives most often. By
            mean, each answer of each member becomes a label; without an answer of every member there is none,
            since the mean would be that of another panel.
        members: names of all members.
        given: by member, its answers about the item, one for each draw; members without an answer may be
            absent.

    Returns:
        One label by vote; by mean one for each answer, or one without answers.
    """
    silent = [name for name in members if not given.get(name)]
    if rule is Rule.VOTE:
        return [_vote(questions, [given[name] for name in members if given.get(name)])]
    if silent:
        return [PanelLabel(1, {}, f"Without an answer: {', '.join(silent)}.")]
    every = [answers for name in members for answers in given[name]]
    return [PanelLabel(number, dict(answers)) for number, answers in enumerate(every, 1)]


def _vote(questions: QuestionSet, voters: Sequence[Sequence[Answers]]) -> PanelLabel:
    decided: dict[str, Answer] = {}
    tied = []
    for question in judgeable_questions(questions):
        if question.asked_if is not None and not question.asked_if.holds(decided):
            if question.otherwise is not None and question.asked_if.question in decided:
                decided[question.key] = question.otherwise
            continue
        votes = [vote for voter in voters if (vote := _most_frequent(question, voter)) is not None]
        answer = _most_frequent(question, [{question.key: vote} for vote in votes])
        if answer is not None:
            decided[question.key] = answer
        elif votes:
            tied.append(f"“{question.wording}”")
    if not voters:
        return PanelLabel(1, {}, "No member has an answer.")
    return PanelLabel(1, decided, f"A tie about {', '.join(tied)}" if tied else "")


def _most_frequent(question: Question, given: Sequence[Answers]) -> Answer | None:
    """The most frequent answer to a question; None without any, and if several are most frequent."""
    found: dict[Hashable, Answer] = {}
    counts: Counter[Hashable] = Counter()
    for answers in given:
        answer = answers.get(question.key)
        if answer is not None:
            key = repr(answer)
            found[key] = answer
            counts[key] += 1
    ranked = counts.most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return found[ranked[0][0]]
