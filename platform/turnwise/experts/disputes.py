"""Items on which the raters of a judging study differ, and the decisions about them."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.models import QuerySet

from evaluation.questions import Answer, QuestionSet, coded_answers
from evaluation.report.adjudication import Decisions, disputed, open_questions
from evaluation.report.figures import coded_questions
from turnwise.accounts.models import User
from turnwise.experts.models import Adjudication
from turnwise.judging.asks import asks_of_readers
from turnwise.judging.models import Item, JudgingPlan, Slot
from turnwise.judging.queries import abandoned_slots, counts_in_primary_analysis
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Ask, Study
from turnwise.studies.queries import real_studies_of

MOST_LABELS = 100_000
Answers = Mapping[str, Answer]

# Judgments of the primary analysis, each rater's first about an item.
_LABELS = f"""
SELECT i.id, i.key, i.ask_id, l.id, l.answers
  FROM judging_slot AS s
  JOIN judging_item AS i ON i.id = s.item_id
  JOIN labels_label AS l ON l.id = s.label_id
 WHERE s.study_id = %(study)s AND NOT s.is_gold AND i.right_answers IS NULL AND s.occasion = 1
   AND i.anchor_id IS NULL
   AND (%(item)s::bigint IS NULL OR i.id = %(item)s)
   AND {counts_in_primary_analysis("l.study_id")}
 ORDER BY i.key, l.id
 LIMIT {MOST_LABELS}
"""


def items_of_raters(study: Study) -> QuerySet[Item]:
    """Items about which an adjudicator may decide: all but gold items and anchors."""
    return study.items.filter(right_answers__isnull=True, anchor=None).select_related("ask", "study")


def drafts_for_gold(user: User, study: Study) -> QuerySet[Study]:
    """Drafts of a person in which the decided items of a study can become gold items."""
    sets = {ask.question_set for ask in study.work_asks}
    drafts = real_studies_of(user).filter(
        state=Study.State.DRAFT, task=study.task, asks__question_set__in=sets
    )
    return drafts.exclude(pk=study.pk).distinct()


@dataclass(frozen=True, slots=True)
class Judged:
    """An item with its judgments and the decision about it.

    Attributes:
        item_id: id of the item.
        key: key of the item.
        ask: the ask.
        answers: answers of each rater, in an order that reveals neither raters nor time.
        differ: keys of the questions about which the raters differ.
        open: keys of the questions that an adjudicator decides.
        is_complete: True if no further judgment is wanted.
        decision: the newest entry about the item, which may undo one; None without.
    """

    item_id: int
    key: UUID
    ask: Ask
    answers: Sequence[Answers]
    differ: Sequence[str]
    open: Sequence[str]
    is_complete: bool
    decision: Adjudication | None

    @property
    def is_decided(self) -> bool:
        """True if a decision in force covers every open question."""
        given = self.decision.answers if self.decision else None
        return bool(self.open) and given is not None and set(self.open) <= set(given)


def adjudication_steps(study: Study) -> int | None:
    """Steps of a scale by which raters of a study must differ; None if it has no adjudication."""
    steps: int | None = (
        JudgingPlan.objects.filter(study=study).values_list("adjudication_steps", flat=True).first()
    )
    return steps


def judged_items(study: Study, steps: int, item: Item | None = None) -> list[Judged]:
    """Items of a study with two judgments or more, in the order of their keys; or this one alone."""
    asks = {ask.pk: ask for ask in asks_of_readers(study)}
    with connection.cursor() as cursor:
        cursor.execute(_LABELS, {"study": study.pk, "item": item.pk if item else None})
        rows = cursor.fetchall()
    open_slots = Slot.objects.filter(study=study, label=None, is_gold=False).exclude(pk__in=abandoned_slots())
    entries = Adjudication.objects.filter(item__study=study)
    if item:
        open_slots, entries = open_slots.filter(item=item), entries.filter(item=item)
    incomplete = set(open_slots.values_list("item", flat=True))
    newest = {each.item_id: each for each in entries.select_related("by", "invitation").order_by("number")}
    by_ask: dict[int, dict[int, list[tuple[UUID, int, Answers]]]] = defaultdict(lambda: defaultdict(list))
    for item_id, key, ask_id, label_id, answers in rows:
        by_ask[ask_id][item_id].append((key, label_id, json.loads(answers)))
    found = []
    for ask_id, items in by_ask.items():
        several = {key: given for key, given in items.items() if len(given) > 1}
        differ = _differences(question_set(asks[ask_id].question_set), several, steps)
        for item_id, given in several.items():
            keys = differ[item_id]
            found.append(
                Judged(
                    item_id,
                    given[0][0],
                    asks[ask_id],
                    [answers for _key, _label, answers in sorted(given, key=_blind_order)],
                    keys,
                    open_questions(question_set(asks[ask_id].question_set), keys),
                    item_id not in incomplete,
                    newest.get(item_id),
                )
            )
    return sorted(found, key=lambda each: each.key)


def _blind_order(given: tuple[UUID, int, Answers]) -> str:
    """Order of the judgments of an item, another one for each item."""
    key, label, _answers = given
    return hashlib.sha256(f"{key} {label}".encode()).hexdigest()


def _differences(
    questions: QuestionSet, items: Mapping[int, Sequence[tuple[UUID, int, Answers]]], steps: int
) -> dict[int, list[str]]:
    """Keys of the questions about which raters differ, by item."""
    numbers = np.repeat(np.arange(len(items)), [len(given) for given in items.values()]).astype(np.int64)
    every = [answers for given in items.values() for _key, _label, answers in given]
    differ: dict[int, list[str]] = {item: [] for item in items}
    for question in coded_questions(questions):
        codes = coded_answers(question, [answers.get(question.key) for answers in every])
        of_items = disputed(question, codes, numbers, len(items), steps)
        for item, is_disputed in zip(items, of_items.tolist(), strict=True):
            if is_disputed:
                differ[item].append(question.key)
    return differ


_IN_FORCE = """
SELECT s.label_id, d.answers
  FROM judging_slot AS s
  JOIN judging_item AS i ON i.id = s.item_id
  JOIN LATERAL (SELECT answers FROM experts_adjudication WHERE item_id = i.id
                 ORDER BY number DESC LIMIT 1) AS d ON true
 WHERE i.study_id = %s AND i.ask_id = %s AND s.label_id IS NOT NULL
"""


def decisions_about(ask: Ask, labels: Sequence[int]) -> Decisions | None:
    """Decisions in force about the items of these labels of an ask; None if its study has no adjudication."""
    steps = adjudication_steps(ask.study)
    if steps is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(_IN_FORCE, [ask.study_id, ask.pk])
        given: dict[int, Any] = {label: json.loads(answers or "null") for label, answers in cursor.fetchall()}
    return Decisions.of(question_set(ask.question_set), steps, [given.get(label) for label in labels])
