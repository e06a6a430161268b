"""Reads of judging studies for their reports."""

from typing import Any

import numpy as np
from django.db import connection

from evaluation.questions import QuestionSet
from evaluation.report.judged import Judged
from evaluation.report.judging import JudgedItems
from labels.item_queries import items_of
from labels.models import JudgingPlan
from studies.models import Study

# Items of one context are told apart by their place among them.
_JUDGMENTS = f"""
SELECT i.system, i.cluster, i.place, w.pseudonym, i.latency_ms, i.repetition{{answers}}
  FROM (SELECT found.*, dense_rank() OVER (PARTITION BY found.cluster ORDER BY found.id) AS place
          FROM ({items_of()}) AS found) AS i
  JOIN labels_slot AS s ON s.item_id = i.id
  JOIN labels_label AS l ON l.id = s.label_id
  JOIN crowd_worker AS w ON w.id = l.rater_id
 ORDER BY l.id
"""
_REMARKED = f"""
SELECT i.system, count(*), count(*) FILTER (WHERE (i.remarks->'fallback')::boolean)
  FROM ({items_of()}) AS i
 WHERE i.remarks IS NOT NULL
   AND EXISTS (SELECT FROM labels_slot AS s WHERE s.item_id = i.id AND s.label_id IS NOT NULL)
 GROUP BY i.system
"""
# Booleans have no cast to numbers in one step; jsonb has.
_ANSWER = ", CASE l.answers->>%s WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE (l.answers->>%s)::float8 END"


def judged_items(study: Study, questions: QuestionSet, keys: list[str]) -> JudgedItems:
    """Every judgment of the study, with what the report needs to know about its item."""
    plan = JudgingPlan.objects.filter(study=study).first() or JudgingPlan()
    with connection.cursor() as cursor:
        cursor.execute(_JUDGMENTS.format(answers=_ANSWER * len(keys)), [*_twice(keys), study.pk])
        rows = cursor.fetchall()
        cursor.execute(_REMARKED, [study.pk])
        counted = cursor.fetchall()
    columns: list[Any] = list(zip(*rows, strict=True)) or [()] * (6 + len(keys))
    judged = Judged(
        bot=np.array(columns[0], dtype=object),
        dialogue=np.array(columns[1], dtype=np.int64),
        reply=np.array(columns[2], dtype=np.int64),
        rater=np.array(columns[3], dtype=object),
        latency_ms=np.array(columns[4], dtype=np.float64),
        answers={key: np.array(columns[6 + n], dtype=np.float64) for n, key in enumerate(keys)},
    )
    return JudgedItems(
        judged=judged,
        repetition=np.array(columns[5], dtype=np.int64),
        raters_wanted=plan.raters_per_item,
        items=study.items.count(),
        languages=study.languages,
        remarked={system: remarked for system, remarked, _ in counted},
        fallbacks={system: fallbacks for system, _, fallbacks in counted},
    )


def _twice(keys: list[str]) -> list[str]:
    return [key for key in keys for _ in range(2)]
