"""Labels of people and of a machine judge about the items of a run, as columns for their comparison."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Count

from evaluation.machine_judges.judged import JudgedItems, PartyLabels
from evaluation.machine_judges.orders import in_order_of_names, settled
from evaluation.questions import QuestionSet, coded_answers
from evaluation.report.assisted import JudgeLabels
from evaluation.report.bundles.judging_rows import noun_of
from evaluation.report.figures import coded_questions
from turnwise.judges.models import JudgeRun, MachineLabel
from turnwise.judging.models import Item
from turnwise.judging.queries import counts_in_primary_analysis, items_of
from turnwise.labels.queries import coded_columns
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import About
from turnwise.studies.models import Ask

# Of a pair, the last column tells whether its first side is the system whose name comes second.
_ITEMS = f"""
SELECT i.id, i.system, i.cluster, coalesce(i.first_system > i.second_system, false)
  FROM ({items_of(ask="%s")}) AS i ORDER BY i.id
"""
# Only labels of people, from their own table; each rater's first label of an item.
_PEOPLE = f"""
SELECT s.item_id, crowd_pseudonym(l.rater_id, l.study_id), s.is_swapped{{answers}}
  FROM judging_slot AS s
  JOIN judging_item AS i ON i.id = s.item_id
  JOIN labels_label AS l ON l.id = s.label_id
 WHERE s.study_id = %s AND i.ask_id = %s AND NOT s.is_gold AND l.occasion = 1
   AND i.right_answers IS NULL AND {counts_in_primary_analysis("s.study_id")}
 ORDER BY l.id
"""
_Numbers = dict[int, int]
"""Number of each item among those compared, by key."""


def judged_items(run: JudgeRun) -> JudgedItems:
    """Items of a run with the labels of people, as far as they count, and those of the judge."""
    questions = question_set(run.judge.question_set)
    rows = _items(run)
    ids, systems, clusters, reverse = zip(*rows, strict=True) if rows else ((), (), (), ())
    number = {item: n for n, item in enumerate(ids)}
    is_reverse = np.array(reverse, dtype=np.bool_)
    people, judge = _labels_of_people(run.ask, questions, number), _labels_of_judge(run, questions, number)
    is_of_pairs = run.ask.about == About.PAIR
    if is_of_pairs:
        people, judge = (in_order_of_names(questions, given, is_reverse) for given in (people, judge))
    return JudgedItems(
        questions,
        np.array(systems, dtype=object),
        np.unique(np.array(clusters, dtype=np.int64), return_inverse=True)[1],
        people,
        settled(questions, judge) if is_of_pairs else judge,
        judge if is_of_pairs else None,
    )


def _items(run: JudgeRun) -> list[tuple[int, str, int, bool]]:
    """Key, system, cluster and order of the sides of each item of the run's ask."""
    with connection.cursor() as cursor:
        cursor.execute(_ITEMS, [run.study_id, run.ask_id])
        rows: list[tuple[int, str, int, bool]] = cursor.fetchall()
    return rows


def labels_for_report(run: JudgeRun) -> JudgeLabels:
    """Labels of a run and of people, for the report."""
    judged = judged_items(run)
    in_report = run.labels.filter(item__in=[key for key, *_ in _items(run)]).order_by().values_list("outcome")
    return JudgeLabels(
        run.ask.number,
        judged.questions.title,
        run.judge.bot.name,
        run.judge.fingerprint,
        judged,
        noun_of_ask(run.ask),
        dict(sorted(in_report.annotate(n=Count("pk")))),
        seen_items(run),
    )


def seen_items(run: JudgeRun) -> int:
    """Number of items about which the judge was shown people's answers."""
    return run.labels.filter(has_seen=True).order_by().values("item").distinct().count()


def _labels_of_people(ask: Ask, questions: QuestionSet, number: _Numbers) -> PartyLabels:
    columns, values = coded_columns(questions)
    with connection.cursor() as cursor:
        cursor.execute(_PEOPLE.format(answers=columns), [*values, ask.study_id, ask.pk])
        rows = [row for row in cursor.fetchall() if row[0] in number]
    answers = {
        question.key: np.array([row[n] for row in rows], dtype=np.float64)
        for n, question in enumerate(coded_questions(questions), 3)
    }
    # By pseudonym, so that a bundle, which has nothing else, sums in the same order.
    rater = np.unique(np.array([row[1] for row in rows], dtype=object), return_inverse=True)[1]
    return PartyLabels(
        _numbers(rows, number), answers, rater, np.array([row[2] for row in rows], dtype=np.bool_)
    )


def _labels_of_judge(run: JudgeRun, questions: QuestionSet, number: _Numbers) -> PartyLabels:
    answered = run.labels.filter(outcome=MachineLabel.Outcome.ANSWERED).order_by("item", "is_swapped", "draw")
    found = answered.filter(has_seen=False).values_list("item_id", "draw", "is_swapped", "answers")
    rows = [row for row in found if row[0] in number]
    answers = {
        question.key: coded_answers(question, [(row[3] or {}).get(question.key) for row in rows])
        for question in coded_questions(questions)
    }
    draws = np.array([row[1] for row in rows], dtype=np.int64)
    swapped = np.array([row[2] for row in rows], dtype=np.bool_)
    return PartyLabels(_numbers(rows, number), answers, draws, swapped)


def _numbers(rows: Sequence[Any], number: _Numbers) -> Any:
    return np.array([number[row[0]] for row in rows], dtype=np.int64)


def noun_of_ask(ask: Ask) -> str:
    """Noun for what items share: a context of responses, else the conversation of turns."""
    of_contexts = Item.objects.filter(ask=ask).exclude(response=None, context=None, pair__first_response=None)
    return noun_of(of_contexts.exists())
