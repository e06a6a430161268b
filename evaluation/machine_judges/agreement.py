"""Agreement of a machine judge with people, question by question, over all items and for each system."""

from dataclasses import dataclass

import numpy as np

from evaluation.machine_judges.judged import JudgedItems, answer_of_items, is_number
from evaluation.machine_judges.template import judgeable_questions
from evaluation.rater_agreement.ratings import Metric, Ratings
from evaluation.rater_agreement.reliability import Alpha, alpha
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray

EVERY_SYSTEM = ""
"""Name of all systems together."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement about one question.

    Attributes:
        question: key of the question.
        system: name of the system, or `EVERY_SYSTEM`.
        items: number of items on which both have an answer.
        percent: percentage of these items with the same answer; of numbers, with the same mean once it is
            rounded to a whole number, half up.
        alpha: Krippendorff's alpha of the two answers of each item, with its interval over conversations or
            contexts: nominal, and of numbers with the interval distance.
    """

    question: str
    system: str
    items: int
    percent: float | Undefined
    alpha: Alpha | Undefined


def agreements(judged: JudgedItems) -> list[Agreement]:
    """Compare the judge's answer of each item with that of people.

    An item's answer is the mean of numbers, else the answer of more than half of the draws or raters; items
    without such a majority are left out.

    Returns:
        For each question with choices the agreement over all systems, then, if there are several, of each.
    """
    found = []
    for question in judgeable_questions(judged.questions):
        answers = [answer_of_items(question, given, len(judged)) for given in (judged.people, judged.judge)]
        both: BoolArray = ~np.isnan(answers[0]) & ~np.isnan(answers[1])
        names = [EVERY_SYSTEM, *(judged.systems if len(judged.systems) > 1 else [])]
        for name in names:
            rows = both if name == EVERY_SYSTEM else both & (judged.system == name)
            pair = answers[0][rows], answers[1][rows]
            metric = Metric.INTERVAL if is_number(question) else Metric.NOMINAL
            found.append(_agreement(question.key, name, pair, judged.cluster[rows], metric))
    return found


def _agreement(
    question: str, system: str, answers: tuple[FloatArray, FloatArray], cluster: IntArray, metric: Metric
) -> Agreement:
    people, judge = answers
    items = len(people)
    if not items:
        none = Undefined("No item has an answer of both.")
        return Agreement(question, system, 0, none, none)
    ratings = Ratings.from_columns(
        np.tile(np.arange(items), 2), np.repeat([0, 1], items), np.concatenate([people, judge])
    )
    same = np.floor(people + 0.5) == np.floor(judge + 0.5)
    return Agreement(
        question, system, items, 100 * float(same.mean()), alpha(ratings, metric, clusters=cluster)
    )
