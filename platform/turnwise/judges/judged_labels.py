"""Labels of people and of a machine judge about the items of a run, as columns for their comparison."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Count

from evaluation.machine_judges.judged import JudgedItems, PartyLabels
from evaluation.machine_judges.model_answers import chances_of
from evaluation.machine_judges.orders import in_order_of_names, settled
from evaluation.questions import QuestionSet, coded_answers
from evaluation.report.assisted import JudgeLabels
from evaluation.report.bundles.judging_rows import noun_of
from evaluation.report.figures import coded_questions
from evaluation.report.item_draws import DrawnItems
from turnwise.judges.models import JudgeRun, MachineLabel
from turnwise.judges.queries import seen_items
from turnwise.judging.items.item_draws import drawn_for_people
from turnwise.judging.models import Item
from turnwise.judging.queries import counts_in_primary_analysis, items_of
from turnwise.labels.queries import coded_columns
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import About
from turnwise.studies.models import Ask

_ITEMS = f"""
SELECT i.id, i.system, i.cluster, i.first_system, i.second_system
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
    return _judged_items(run, drawn_for_people(run.ask))


def _judged_items(run: JudgeRun, drawn: DrawnItems | None) -> JudgedItems:
    questions = question_set(run.judge.question_set)
    rows = item_rows(run)
    ids, systems, clusters, *sides = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    number = {item: n for n, item in enumerate(ids)}
    people, judge = _labels_of_people(run.ask, questions, number), _labels_of_judge(run, questions, number)
    is_of_pairs = run.ask.about == About.PAIR
    if is_of_pairs:
        one, other = (np.array(names, dtype=object) for names in sides)
        is_reverse = np.array([a > b for a, b in zip(*sides, strict=True)], dtype=np.bool_)
        people, judge = (in_order_of_names(questions, given, is_reverse) for given in (people, judge))
    return JudgedItems(
        questions,
        np.array(systems, dtype=object),
        np.unique(np.array(clusters, dtype=np.int64), return_inverse=True)[1],
        people,
        settled(questions, judge) if is_of_pairs else judge,
        judge if is_of_pairs else None,
        drawn.of(ids) if drawn else None,
        (np.where(is_reverse, other, one), np.where(is_reverse, one, other)) if is_of_pairs else None,
    )


def item_rows(run: JudgeRun) -> list[tuple[int, str, int, str | None, str | None]]:
    """Key, system, cluster and, of pairs, the systems of both sides of each item of the run's ask."""
    with connection.cursor() as cursor:
        cursor.execute(_ITEMS, [run.study_id, run.ask_id])
        rows: list[tuple[int, str, int, str | None, str | None]] = cursor.fetchall()
    return rows


def labels_for_report(run: JudgeRun) -> JudgeLabels:
    """Labels of a run and of people, for the report."""
    drawn = drawn_for_people(run.ask)
    judged = _judged_items(run, drawn)
    in_report = (
        run.labels.filter(item__in=[key for key, *_ in item_rows(run)]).order_by().values_list("outcome")
    )
    return JudgeLabels(
        run.ask.number,
        judged.questions.title,
        run.judge.exported_name,
        run.judge.fingerprint,
        judged,
        noun_of_ask(run.ask),
        dict(sorted(in_report.annotate(n=Count("pk")))),
        seen_items(run),
        drawn.facts if drawn else None,
    )


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
    columns = ("item_id", "draw", "is_swapped", "answers", "probabilities")
    found = answered.filter(has_seen=False).values_list(*columns)
    rows = [row for row in found if row[0] in number]
    answers = {
        question.key: coded_answers(question, [(row[3] or {}).get(question.key) for row in rows])
        for question in coded_questions(questions)
    }
    draws = np.array([row[1] for row in rows], dtype=np.int64)
    swapped = np.array([row[2] for row in rows], dtype=np.bool_)
    chances = chances_of(questions, [row[4] for row in rows])
    return PartyLabels(_numbers(rows, number), answers, draws, swapped, chances)


def _numbers(rows: Sequence[Any], number: _Numbers) -> Any:
    return np.array([number[row[0]] for row in rows], dtype=np.int64)


def noun_of_ask(ask: Ask) -> str:
    """Noun for what items share: a context of responses, else the conversation of turns."""
    of_contexts = Item.objects.filter(ask=ask).exclude(response=None, context=None, pair__first_response=None)
    return noun_of(of_contexts.exists())
