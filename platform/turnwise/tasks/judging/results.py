"""Reads of judging studies for their reports."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from django.db import connection

from evaluation.report.bundles.anchor_rows import AnchorRows
from evaluation.report.bundles.judging_rows import counted, noun_of, side_styles, side_word_counts
from evaluation.report.figures import coded_questions
from evaluation.report.label_columns import Judged
from evaluation.report.studies.contexts import ContextFacts
from evaluation.report.studies.judging import AskOfItems, JudgedItems
from evaluation.report.studies.pairs import JudgedPairs, name_of
from evaluation.report.studies.replies import ReplyColumns
from evaluation.statistics.labels import AnyArray, FloatArray
from evaluation.texts.personal_data import Redactor
from evaluation.texts.uninformative_contexts import Contexts
from turnwise.experts.disputes import decisions_about
from turnwise.judging.asks import asks_of_readers
from turnwise.judging.batteries.battery_rules import battery_of, report_battery
from turnwise.judging.items.item_draws import drawn_for_people
from turnwise.judging.judged_replies import REPLY_COUNT, judged_prices, judged_replies
from turnwise.judging.models import JudgingPlan
from turnwise.judging.queries import items_of
from turnwise.labels.queries import DAY, coded_columns, text_columns
from turnwise.privacy.personal_data import redactor_for
from turnwise.questions.question_sets import question_set
from turnwise.reports.conduct import reply_columns, reply_facts_columns
from turnwise.reports.queries import design_of
from turnwise.studies.models import Ask, Study

# Items of one context are numbered within the context.
_JUDGMENTS = f"""
SELECT i.system, i.cluster, i.number, crowd_pseudonym(l.rater_id, l.study_id), i.latency_ms, l.answer_ms,
       i.repetition, l.occasion, l.id, {DAY}, i.id{{answers}}
  FROM (SELECT found.*, dense_rank() OVER (PARTITION BY found.cluster ORDER BY found.id) AS number
          FROM ({items_of(ask="%s")}) AS found) AS i
  JOIN judging_slot AS s ON s.item_id = i.id
  JOIN labels_label AS l ON l.id = s.label_id
 ORDER BY l.id
"""
_REPLIES = f"""
SELECT i.system, b.name, {reply_facts_columns("i.given_at", "i.generation", "i.latency_ms")}
  FROM ({items_of(ask="%s")}) AS i
  JOIN bots_botversion AS v ON v.id = i.bot_version_id
  JOIN bots_bot AS b ON b.id = v.bot_id
 WHERE EXISTS (SELECT FROM judging_slot AS s WHERE s.item_id = i.id AND s.label_id IS NOT NULL)
"""
# A response may be in several pairs.
_REPLIES_IN_PAIRS = f"""
SELECT DISTINCT ON (r.id) side.system, b.name,
       {reply_facts_columns("r.created_at", "r.generation", "r.latency_ms")}
  FROM ({items_of(ask="%s")}) AS i
  JOIN judging_item AS item ON item.id = i.id
  JOIN labels_pair AS pair ON pair.id = item.pair_id
 CROSS JOIN LATERAL (VALUES (i.first_system, pair.first_response_id),
                            (i.second_system, pair.second_response_id)) AS side(system, response_id)
  JOIN responses_response AS r ON r.id = side.response_id
  JOIN bots_botversion AS v ON v.id = r.bot_version_id
  JOIN bots_bot AS b ON b.id = v.bot_id
 WHERE EXISTS (SELECT FROM judging_slot AS s WHERE s.item_id = i.id AND s.label_id IS NOT NULL)
"""
_REPLIES_IN_CONVERSATIONS = judged_replies(
    f"b.name, {reply_facts_columns('t.created_at', 't.generation', 't.latency_ms', versions=REPLY_COUNT)}",
    ask="%s",
)

_CONTEXTS = f"""
SELECT DISTINCT ON (i.cluster) i.cluster, c.key, c.category, cardinality(c.turns), c.consistency,
       c.turns[cardinality(c.turns)]
  FROM ({items_of(ask="%s")}) AS i
  JOIN judging_item AS item ON item.id = i.id
  LEFT JOIN responses_response AS r ON r.id = item.response_id
  JOIN contexts_context AS c ON c.id = coalesce(r.context_id, item.context_id)
"""

# The cluster of a context is negative, that of a conversation positive.
_SYSTEMS = f"""
SELECT i.system, count(*), count(DISTINCT i.cluster) FILTER (WHERE i.cluster < 0),
       count(DISTINCT i.cluster) FILTER (WHERE i.cluster > 0)
  FROM ({items_of(ask="%s")}) AS i
 GROUP BY i.system
"""

# The systems of a pair come in the order in which the rater saw them.
_PAIRS = f"""
SELECT CASE WHEN s.is_swapped THEN i.second_system ELSE i.first_system END,
       CASE WHEN s.is_swapped THEN i.first_system ELSE i.second_system END,
       i.cluster, i.number, crowd_pseudonym(l.rater_id, l.study_id), l.answer_ms,
       l.id, {DAY}, i.id, s.is_swapped{{answers}}
  FROM (SELECT found.*, dense_rank() OVER (PARTITION BY found.cluster ORDER BY found.id) AS number
          FROM ({items_of(ask="%s")}) AS found) AS i
  JOIN judging_slot AS s ON s.item_id = i.id
  JOIN labels_label AS l ON l.id = s.label_id
 ORDER BY l.id
"""
_MEETINGS = f"""
SELECT i.first_system, i.second_system, i.cluster, coalesce(to_json(c.turns), '[]'), i.id,
       CASE WHEN r.id IS NULL THEN judging_said_in(pair.first_dialogue_id, pair.turns)
            ELSE jsonb_build_array(i.first_text) END::json,
       CASE WHEN r.id IS NULL THEN judging_said_in(pair.second_dialogue_id, pair.turns)
            ELSE jsonb_build_array(i.second_text) END::json,
       judging_speaker(pair.first_dialogue_id), judging_speaker(pair.second_dialogue_id)
  FROM ({items_of(ask="%s")}) AS i
  JOIN judging_item AS item ON item.id = i.id
  JOIN labels_pair AS pair ON pair.id = item.pair_id
  LEFT JOIN responses_response AS r ON r.id = pair.first_response_id
  LEFT JOIN contexts_context AS c ON c.id = r.context_id
"""


def redact_texts(texts: Iterable[str], redactor: Redactor) -> list[str]:
    """Replace personal data in texts by marks, as in the bundle."""
    return [redactor(text) for text in texts]


def judged_pairs(study: Study, ask: Ask) -> JudgedPairs:
    """All judgments of pairs by an ask, with the facts about the pairs that the report needs."""
    columns, answers, texts = _read(_PAIRS, ask, leading=10)
    plan = JudgingPlan.objects.filter(study=study).first() or JudgingPlan()
    with connection.cursor() as cursor:
        cursor.execute(_MEETINGS, [study.pk, ask.pk])
        meetings = cursor.fetchall()
    redactor = redactor_for(study)
    sides = {
        item: [redact_texts(side, redactor) for side in (first, second)]
        for _, _, _, _, item, first, second, *_ in meetings
    }
    speakers = {item: of_pair[-2:] for _, _, _, _, item, *of_pair in meetings}
    judged = Judged(
        bot=np.array(columns[0], dtype=object),
        dialogue=np.array(columns[2], dtype=np.int64),
        reply=np.array(columns[3], dtype=np.int64),
        rater=np.array(columns[4], dtype=object),
        latency_ms=np.full(len(columns[0]), np.nan),
        answer_ms=np.array(columns[5], dtype=np.float64),
        answers=answers,
        texts=texts,
        day=np.array(columns[7], dtype=np.float64),
    )
    return JudgedPairs(
        judged=judged,
        other=np.array(columns[1], dtype=object),
        given=np.array(columns[6], dtype=np.int64),
        raters_wanted=plan.raters_per_item,
        items_per_worker=plan.batch_size,
        training_tries=plan.training_tries,
        items_of_pairs=counted(name_of(one, other) for one, other, *_ in meetings),
        clusters_of_pairs=counted(
            name for name, _ in {(name_of(one, other), cluster) for one, other, cluster, *_ in meetings}
        ),
        contexts=Contexts.of([redact_texts(turns, redactor) for _, _, _, turns, *_ in meetings]),
        words=side_word_counts(sides, columns[8], columns[9]),
        style=side_styles(sides, speakers, columns[8], columns[9]),
        languages=study.languages,
        noun=noun_of(any(cluster < 0 for _, _, cluster, *_ in meetings)),
        design=design_of(study),
        replies=_replies(_REPLIES_IN_PAIRS, ask),
        prices=judged_prices(study),
    )


def _replies(statement: str, ask: Ask) -> dict[str, ReplyColumns]:
    """Facts about each judged reply of a bot, by system; of whole conversations, about all their replies."""
    rows: dict[str, list[Any]] = {}
    with connection.cursor() as cursor:
        for each in (statement, _REPLIES_IN_CONVERSATIONS):
            cursor.execute(each, [ask.study_id, ask.pk])
            for system, *facts in cursor.fetchall():
                rows.setdefault(system, []).append(facts)
    replies = {}
    for system, of_system in rows.items():
        bots, *numbers = zip(*of_system, strict=True)
        replies[system] = reply_columns(np.array(numbers, np.float64), np.array(bots, object))
    return replies


def asks_with_judgments(study: Study, anchors: AnchorRows | None = None) -> list[AskOfItems]:
    """The asks of readers, in order, with all their judgments, and the numbers of those of anchors."""
    anchors = anchors or AnchorRows()
    return [
        AskOfItems(
            ask.about,
            ask.required,
            question_set(ask.question_set),
            replace(
                judged_items(study, ask),
                anchors=anchors.number_of(ask.number),
                anchors_judged=anchors.judged_by(ask.number),
            ),
        )
        for ask in asks_of_readers(study)
    ]


def judged_items(study: Study, ask: Ask) -> JudgedItems:
    """All judgments of the study by this ask, with the facts about the items that the report needs."""
    columns, answers, texts = _read(_JUDGMENTS, ask, leading=11)
    plan = JudgingPlan.objects.filter(study=study).first() or JudgingPlan()
    with connection.cursor() as cursor:
        cursor.execute(_CONTEXTS, [study.pk, ask.pk])
        redactor = redactor_for(study)
        contexts = {
            number: ContextFacts(name, category, turns, consistency, redactor(last))
            for number, name, category, turns, consistency, last in cursor.fetchall()
        }
        cursor.execute(_SYSTEMS, [study.pk, ask.pk])
        systems = cursor.fetchall()
    battery, drawn = battery_of(study), drawn_for_people(ask)
    judged = Judged(
        bot=np.array(columns[0], dtype=object),
        dialogue=np.array(columns[1], dtype=np.int64),
        reply=np.array(columns[2], dtype=np.int64),
        rater=np.array(columns[3], dtype=object),
        latency_ms=np.array(columns[4], dtype=np.float64),
        answer_ms=np.array(columns[5], dtype=np.float64),
        answers=answers,
        texts=texts,
        day=np.array(columns[9], dtype=np.float64),
        weight=1.0 / drawn.of(columns[10]) if drawn else None,
    )
    return JudgedItems(
        judged=judged,
        repetition=np.array(columns[6], dtype=np.int64),
        occasion=np.array(columns[7], dtype=np.int64),
        given=np.array(columns[8], dtype=np.int64),
        battery=report_battery(battery) if battery else None,
        raters_wanted=plan.raters_per_item,
        items=sum(items for _, items, *_ in systems),
        languages=study.languages,
        replies=_replies(_REPLIES, ask),
        prices=judged_prices(study),
        contexts=contexts,
        contexts_of={system: of_contexts for system, _, of_contexts, _ in systems},
        conversations_of={system: of_talks for system, *_, of_talks in systems},
        design=design_of(study),
        items_per_worker=plan.batch_size,
        third_rater=plan.third_rater,
        decisions=decisions_about(ask, columns[8]),
        drawn=drawn.facts if drawn else None,
    )


def _read(
    statement: str, ask: Ask, *, leading: int
) -> tuple[list[Sequence[Any]], dict[str, FloatArray], dict[str, AnyArray]]:
    """Run a statement: leading columns, then by question key the answers as numbers, and as texts."""
    questions = question_set(ask.question_set)
    (numbers, coded), (texts, keys) = coded_columns(questions), text_columns(questions)
    coded_keys = [question.key for question in coded_questions(questions)]
    with connection.cursor() as cursor:
        cursor.execute(statement.format(answers=numbers + texts), [*coded, *keys, ask.study_id, ask.pk])
        rows = cursor.fetchall()
    columns: list[Any] = list(zip(*rows, strict=True)) or [()] * (leading + len(coded_keys) + len(keys))
    answers = {key: np.array(columns[leading + n], dtype=np.float64) for n, key in enumerate(coded_keys)}
    redactor = redactor_for(ask.study)
    free_texts = {
        key: np.array([text and redactor(text) for text in columns[n - len(keys)]], dtype=object)
        for n, key in enumerate(keys)
    }
    return columns[:leading], answers, free_texts
