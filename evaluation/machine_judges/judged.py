"""Labels of people and of a machine judge about the same items, as columns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from evaluation.machine_judges.template import judgeable_questions
from evaluation.questions import Kind, Level, Question, QuestionSet, Score, coded_answer, score_values
from evaluation.statistics.labels import AnyArray, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class PartyLabels:
    """Labels of one party, one row each.

    Attributes:
        item: (n,) number of the labelled item.
        answers: by question key, (n,) answers as `coded_answers` gives them; NaN for no answer.
        rater: (n,) code from 0 up of the rater, or number of the draw.
        swapped: (n,) of pairs, true where the system whose name comes first was shown second; answers about
            sides are in the order of the names all the same. None for other items.
        chances: by question key, (n, choices) probability of each choice; NaN where it is unknown. Questions
            without probabilities are absent.
    """

    item: IntArray
    answers: Mapping[str, FloatArray]
    rater: IntArray
    swapped: BoolArray | None = None
    chances: Mapping[str, FloatArray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class JudgedItems:
    """Items with the labels of people and of a judge.

    Attributes:
        questions: what both answered.
        system: (N,) name of each item's system.
        cluster: (N,) code from 0 up of its conversation or context.
        people: labels of people.
        judge: labels of the judge, one row per draw; of pairs, what it said in both orders
            (`orders.settled`).
        in_orders: of pairs, its labels in each order, one row per draw and order; None for other items.
        probability: (N,) probability that the item was drawn for people and judged by them; None: equal.
        sides: of pairs, (N,) names of the first and of the second system, in their order; None for other
            items.
    """

    questions: QuestionSet
    system: AnyArray
    cluster: IntArray
    people: PartyLabels
    judge: PartyLabels
    in_orders: PartyLabels | None = None
    probability: FloatArray | None = None
    sides: tuple[AnyArray, AnyArray] | None = None

    def __len__(self) -> int:
        return len(self.system)

    @cached_property
    def systems(self) -> list[str]:
        """Names of all systems, in order."""
        return sorted({str(name) for name in self.system})

    def scores_of(self, score: Score, given: PartyLabels) -> FloatArray:
        """(n,) score of each label, in [0, 1] for shares; NaN where an answer is missing.

        The only question of a set may have probabilities: then it is the expected score.
        """
        found = score_values(self.questions, score, given.answers)
        asked = judgeable_questions(self.questions)
        if len(asked) != 1 or asked[0].key not in given.chances:
            return found
        return _expected(self.questions, score, asked[0], given, found)


def _expected(
    questions: QuestionSet, score: Score, question: Question, given: PartyLabels, scores: FloatArray
) -> FloatArray:
    """(n,) expected score of labels whose probabilities are complete, and the score of the others."""
    chances = given.chances[question.key]
    of_choices = [
        score_values(questions, score, {question.key: np.array([coded_answer(question, choice.value)])})[0]
        for choice in question.choices
    ]
    is_complete = ~np.isnan(chances).any(axis=1) & ~np.isnan(scores)
    return np.where(is_complete, np.nan_to_num(chances) @ np.array(of_choices), scores)


def means(values: FloatArray, item: IntArray, items: int) -> FloatArray:
    """(items,) mean of the labels of each item; NaN for items without labels."""
    is_defined = ~np.isnan(values)
    counts = np.bincount(item[is_defined], minlength=items)
    sums = np.bincount(item[is_defined], values[is_defined], items)
    found: FloatArray = np.divide(sums, counts, out=np.full(items, np.nan), where=counts > 0)
    return found


def answer_of_items(question: Question, given: PartyLabels, items: int) -> FloatArray:
    """One answer for each item: the mean of numbers, else the answer of more than half of the labels.

    Returns:
        (items,) answers as codes; NaN for items without labels, and without a majority.
    """
    values = given.answers[question.key]
    if is_number(question):
        return means(values, given.item, items)
    answers = np.full(items, np.nan)
    counts = np.bincount(given.item[~np.isnan(values)], minlength=items)
    for code in np.unique(values[~np.isnan(values)]):
        votes = np.bincount(given.item[values == code], minlength=items)
        answers[2 * votes > counts] = code
    return answers


def is_number(question: Question) -> bool:
    """True if the mean of answers is meaningful."""
    return question.kind is not Kind.SEVERAL and question.level in (Level.ORDINAL, Level.INTERVAL)
