"""Rows of a bundle's tables, read in batches through server-side cursors to keep memory flat."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from django.db import connection, transaction

from evaluation.questions import Answer, Question, QuestionSet
from evaluation.report.bundles.columns import Table, answered_in
from evaluation.report.bundles.self_descriptions import UNDECIDED
from evaluation.report.bundles.tables import (
    AUDITS,
    CONVERSATION_REPLIES,
    CONVERSATIONS,
    FAULTS,
    ITEM_MATERIALS,
    ITEM_PICTURES,
    ITEMS,
    MATERIALS,
    PAIRS,
    REPLY_VERSIONS,
    TURNS,
    WORKERS,
    adjudications_table,
    machine_labels_table,
    questionnaires_table,
)
from evaluation.texts.personal_data import Redactor
from turnwise.audits import verdicts
from turnwise.audits.queries import answers_of, audits_of_bots
from turnwise.bots.generation import columns_of
from turnwise.experts.disputes import adjudication_steps
from turnwise.exports.picture_columns import ITEM_PICTURE_ROWS, picture_description, picture_file
from turnwise.exports.version_columns import EVERY_VERSION, VERSIONS, versions_join
from turnwise.judges.queries import REPORTED_RUNS, reported_runs
from turnwise.judging.conversation_replies import CONVERSATION_REPLY_ROWS
from turnwise.judging.queries import items_of
from turnwise.judging.queue.rater_session import READING
from turnwise.privacy.personal_data import answered, redactor_for
from turnwise.questions.question_sets import question_set
from turnwise.reports import descriptions
from turnwise.reports.report_kinds import ReportedTask, task_with_report
from turnwise.studies.models import Study

Value: TypeAlias = str | int | bool | datetime | None
Batch: TypeAlias = list[Sequence[Value]]
BatchWriter: TypeAlias = Callable[[Batch], object]
"""Function that writes a batch of rows."""
BATCH = 20_000
# The last value of their rows is the answers, which get a column each.
_TABLES_WITH_ANSWERS = (
    "labels",
    "judgments",
    "pair_judgments",
    "questionnaires",
    "machine_labels",
    "adjudications",
)

_STATEMENTS: dict[str, str] = {
    CONVERSATIONS.name: """
SELECT row_number() OVER (ORDER BY d.id), d.public_id::text,
       (SELECT string_agg(DISTINCT b.name, ' ') FROM dialogues_seat AS seat
          JOIN bots_bot AS b ON b.id = seat.bot_id WHERE seat.dialogue_id = d.id),
       (SELECT string_agg(crowd_pseudonym(seat.worker_id, d.study_id), ' ' ORDER BY seat.number)
          FROM dialogues_seat AS seat
         WHERE seat.dialogue_id = d.id AND seat.worker_id IS NOT NULL),
       d.started_at, d.ended_at, nullif(d.ending, ''), d.opening_turns, d.min_turns, d.max_turns,
       d.turns, d.scenario->>'name'
  FROM dialogues_dialogue AS d
 WHERE d.study_id = %s
 ORDER BY d.id
""",
    TURNS.name: f"""
SELECT d.public_id::text, t.position, CASE WHEN seat.bot_id IS NULL THEN 'worker' ELSE 'bot' END,
       t.text, t.created_at, b.name, v.fingerprint, t.latency_ms, t.seed, t.candidates::text,
       {columns_of("t.generation", "t.bot_version_id IS NOT NULL")},
       crowd_pseudonym(seat.worker_id, d.study_id), typing.pasted, typing.typing_ms,
       {VERSIONS}, {picture_file("t.id")}, {picture_description("t.id")}
  FROM dialogues_dialogue AS d
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
  LEFT JOIN dialogues_typing AS typing ON typing.turn_id = t.id
  LEFT JOIN dialogues_seat AS seat ON seat.dialogue_id = d.id AND seat.number = t.position %% 2
  LEFT JOIN bots_botversion AS v ON v.id = t.bot_version_id
  LEFT JOIN bots_bot AS b ON b.id = v.bot_id
  {versions_join("t.id")}
 WHERE d.study_id = %s
 ORDER BY d.id, t.position
""",
    REPLY_VERSIONS.name: EVERY_VERSION,
    # A union, because one condition on turns and conversations would read the labels of every study.
    "labels": """
WITH held AS (SELECT id, public_id FROM dialogues_dialogue WHERE study_id = %s)
SELECT l.public_id::text, l.position, crowd_pseudonym(l.rater_id, l.study_id),
       CASE WHEN l.party <> 'reader' THEN ask.number END, l.question_set,
       l.changed_at, l.changes, l.shown_ms, l.answer_ms,
       CASE l.party WHEN 'reader' THEN given.code END, l.answers::text
  FROM (SELECT held.public_id, held.id AS conversation, t.position, own.*
          FROM held
          JOIN dialogues_turn AS t ON t.dialogue_id = held.id
          JOIN labels_label AS own ON own.turn_id = t.id
         UNION ALL
        SELECT held.public_id, held.id, NULL, whole.*
          FROM held JOIN labels_label AS whole ON whole.dialogue_id = held.id) AS l
  JOIN studies_study AS given ON given.id = l.study_id
  LEFT JOIN studies_ask AS ask ON ask.id = l.ask_id
  LEFT JOIN judging_slot AS slot ON slot.label_id = l.id
 WHERE (l.party <> 'reader' OR given.rehearsal_of_id IS NULL) AND slot.is_gold IS NOT TRUE
 ORDER BY l.conversation, l.position, l.id
""",
    # Contexts are numbered in the order of the report's resampling.
    ITEMS.name: f"""
SELECT i.key::text, ask.number, i.system, dense_rank() OVER (ORDER BY i.cluster),
       coalesce(c.key, d.public_id::text), i.position, i.repetition, item.language, nullif(c.category, ''),
       cardinality(c.turns), c.consistency,
       coalesce(to_json(c.turns),
                (SELECT json_agg(b.text ORDER BY b.position) FROM dialogues_turn AS b
                  WHERE b.dialogue_id = d.id AND (t.id IS NULL OR b.position < t.position)), '[]')::text,
       i.text, v.fingerprint, i.latency_ms, coalesce(r.seed, t.seed), b.name, i.given_at,
       {columns_of("i.generation", "i.bot_version_id IS NOT NULL")}
  FROM ({items_of()}) AS i
  JOIN judging_item AS item ON item.id = i.id
  JOIN studies_ask AS ask ON ask.id = i.ask_id
  LEFT JOIN responses_response AS r ON r.id = item.response_id
  LEFT JOIN contexts_context AS c ON c.id = coalesce(r.context_id, item.context_id)
  LEFT JOIN dialogues_turn AS t ON t.id = item.turn_id
  LEFT JOIN dialogues_dialogue AS d ON d.id = coalesce(t.dialogue_id, item.dialogue_id)
  LEFT JOIN bots_botversion AS v ON v.id = i.bot_version_id
  LEFT JOIN bots_bot AS b ON b.id = v.bot_id
 ORDER BY i.id
""",
    "judgments": """
SELECT i.key::text, s.position, l.occasion, s.asks_reason, crowd_pseudonym(l.rater_id, l.study_id),
       ask.number, l.question_set, l.changed_at, l.changes, l.shown_ms, l.answer_ms, l.answers::text
  FROM judging_slot AS s
  JOIN judging_item AS i ON i.id = s.item_id
  JOIN labels_label AS l ON l.id = s.label_id
  JOIN studies_ask AS ask ON ask.id = l.ask_id
 WHERE s.study_id = %s AND NOT s.is_gold
 ORDER BY l.id
""",
    PAIRS.name: f"""
SELECT i.key::text, ask.number, i.first_system, i.second_system, dense_rank() OVER (ORDER BY i.cluster),
       coalesce(c.key, d.public_id::text), item.language, coalesce(to_json(c.turns), '[]')::text,
       CASE WHEN r.id IS NULL THEN judging_said_in(pair.first_dialogue_id)
            ELSE jsonb_build_array(r.text) END::text,
       CASE WHEN s.id IS NULL THEN judging_said_in(pair.second_dialogue_id)
            ELSE jsonb_build_array(s.text) END::text,
       v.fingerprint, w.fingerprint,
       r.id, b.name, r.created_at, r.latency_ms, {columns_of("r.generation", "r.bot_version_id IS NOT NULL")},
       s.id, o.name, s.created_at, s.latency_ms, {columns_of("s.generation", "s.bot_version_id IS NOT NULL")},
       d.public_id::text, e.public_id::text,
       judging_speaker(pair.first_dialogue_id), judging_speaker(pair.second_dialogue_id)
  FROM ({items_of()}) AS i
  JOIN judging_item AS item ON item.id = i.id
  JOIN studies_ask AS ask ON ask.id = i.ask_id
  JOIN labels_pair AS pair ON pair.id = item.pair_id
  LEFT JOIN responses_response AS r ON r.id = pair.first_response_id
  LEFT JOIN responses_response AS s ON s.id = pair.second_response_id
  LEFT JOIN contexts_context AS c ON c.id = r.context_id
  LEFT JOIN dialogues_dialogue AS d ON d.id = pair.first_dialogue_id
  LEFT JOIN dialogues_dialogue AS e ON e.id = pair.second_dialogue_id
  LEFT JOIN bots_botversion AS v ON v.id = r.bot_version_id
  LEFT JOIN bots_botversion AS w ON w.id = s.bot_version_id
  LEFT JOIN bots_bot AS b ON b.id = v.bot_id
  LEFT JOIN bots_bot AS o ON o.id = w.bot_id
 ORDER BY i.id
""",
    "pair_judgments": """
SELECT s.key::text, s.is_swapped, crowd_pseudonym(l.rater_id, l.study_id), ask.number, l.question_set,
       l.changed_at, l.changes, l.shown_ms, l.answer_ms, l.answers::text
  FROM judging_slot AS s
  JOIN labels_label AS l ON l.id = s.label_id
  JOIN studies_ask AS ask ON ask.id = l.ask_id
 WHERE s.study_id = %s AND NOT s.is_gold
 ORDER BY l.id
""",
    CONVERSATION_REPLIES.name: CONVERSATION_REPLY_ROWS,
    ITEM_PICTURES.name: ITEM_PICTURE_ROWS,
    "questionnaires": descriptions.STATEMENT,
    "machine_labels": f"""
WITH given AS (SELECT %s::bigint AS study)
SELECT dense_rank() OVER (ORDER BY r.id), b.name, j.fingerprint, v.fingerprint, i.key::text,
       l.is_swapped, l.draw, l.outcome, l.at, ask.number, j.question_set, l.has_seen,
       coalesce(l.answers, '{{}}')::text
  FROM judges_machinelabel AS l
  JOIN judges_judgerun AS r ON r.id = l.run_id
  JOIN judges_judge AS j ON j.id = r.judge_id
  JOIN bots_bot AS b ON b.id = j.bot_id
  JOIN studies_ask AS ask ON ask.id = r.ask_id
  JOIN ({items_of("(SELECT study FROM given)")}) AS i ON i.id = l.item_id
  LEFT JOIN bots_botversion AS v ON v.id = r.bot_version_id
 WHERE r.id IN ({REPORTED_RUNS.format(study="(SELECT study FROM given)")})
 ORDER BY r.id, l.item_id, l.is_swapped, l.draw
""",
    "adjudications": """
SELECT i.key::text, d.number,
       d.answers IS NOT NULL AND d.number = max(d.number) OVER (PARTITION BY i.id),
       CASE WHEN d.answers IS NOT NULL
            THEN (SELECT coalesce(json_agg(asked.key ORDER BY asked.key), '[]')
                    FROM jsonb_object_keys(d.answers) AS asked (key))::text END,
       CASE WHEN d.invitation_id IS NULL THEN 'researcher'
            ELSE 'adjudicator ' || (SELECT count(*) FROM crowd_invitation AS n
                                     WHERE n.study_id = i.study_id AND n.is_adjudicator
                                       AND n.id <= d.invitation_id) END,
       d.at, nullif(d.reason, ''), ask.number, ask.question_set, coalesce(d.answers, '{}')::text
  FROM experts_adjudication AS d
  JOIN judging_item AS i ON i.id = d.item_id
  JOIN studies_ask AS ask ON ask.id = i.ask_id
 WHERE i.study_id = %s
 ORDER BY i.id, d.number
""",
    MATERIALS.name: """
SELECT d.public_id::text, s.number, m.number, m.key, m.title, nullif(m.heading, ''), nullif(m.text, ''),
       to_json(m.points)::text, nullif(m.variant, '')
  FROM dialogues_dialogue AS d
  JOIN dialogues_seat AS s ON s.dialogue_id = d.id
  JOIN dialogues_material AS m ON m.seat_id = s.id
 WHERE d.study_id = %s
 ORDER BY d.id, s.number, m.number
""",
    ITEM_MATERIALS.name: f"""
SELECT read.key, read.dialogue, read.seat, read.number, read.name, read.title, read.heading, read.text,
       to_json(read.points)::text, read.variant
  FROM ({READING}) AS read
  JOIN judging_judgingplan AS plan ON plan.study_id = read.study_id AND plan.shows_reading
 WHERE read.study_id = %s
 ORDER BY read.item, read.side, read.seat, read.number
""",
    FAULTS.name: """
SELECT d.public_id::text, f.position, f.kind, f.at
  FROM dialogues_fault AS f
  JOIN dialogues_dialogue AS d ON d.id = f.dialogue_id
 WHERE d.study_id = %s
 ORDER BY d.id, f.at, f.id
""",
    WORKERS.name: """
SELECT p.pseudonym, c.number, p.consented_at, nullif(a.outcome, ''), p.excluded_at,
       nullif(p.excluded_reason, ''), p.pilot,
       CASE WHEN p.address <> '' THEN dense_rank() OVER (ORDER BY nullif(p.address, '')) END, taken.at
  FROM crowd_participation AS p
  JOIN studies_consentversion AS c ON c.id = p.consent_id
  LEFT JOIN crowd_assignment AS a ON a.participation_id = (
       SELECT newest.id FROM crowd_participation AS newest
        WHERE newest.worker_id = p.worker_id AND newest.study_id = p.study_id
        ORDER BY newest.number DESC LIMIT 1)
  LEFT JOIN crowd_withdrawal AS taken ON taken.participation_id = p.id
 WHERE p.study_id = %s AND p.number = 1
 ORDER BY p.consented_at, p.id
""",
}


# Columns with texts to redact.
_TEXT_COLUMNS = frozenset(
    ("text", "candidates", "remarks", "reasoning", "said_before", "first_said", "second_said",
     "first_remarks", "second_remarks", "first_reasoning", "second_reasoning",
     "picture_description", "decision_reason")
)  # fmt: skip


def tables_of(study: Study) -> tuple[Table, ...]:
    """Tables of the study's bundle, without that of audits."""
    about_people = descriptions.questionnaire_sets(study)
    return (
        *task_with_report(study).tables(answered_sets(study)),
        *([questionnaires_table(about_people)] if about_people else []),
        *([machine_labels_table(answered_sets(study))] if reported_runs(study) else []),
        *([adjudications_table(answered_sets(study))] if adjudication_steps(study) else []),
    )


def rows_in(study: Study, table: Table) -> int:
    """Number of rows of a table, counted by PostgreSQL."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM ({_statement_of(study, table)}) AS every", [study.pk])
        (number,) = cursor.fetchone()
    return int(number)


def rows(study: Study, table: Table) -> Iterator[list[Sequence[Value]]]:
    """Rows of a table in batches; values have their column's kind, and redactions are marked."""
    redactor = redactor_for(study)
    text_columns = [index for index, column in enumerate(table.columns) if column.name in _TEXT_COLUMNS]
    with transaction.atomic(), connection.connection.cursor(name=f"bundle_{table.name}") as cursor:
        cursor.itersize = BATCH
        cursor.execute(_statement_of(study, table), [study.pk])
        asked = answered_in(_sets_in(study, table)) if table.name in _TABLES_WITH_ANSWERS else {}
        while batch := cursor.fetchmany(BATCH):
            if asked:
                batch = [_with_answer_columns(row, table, asked, redactor) for row in batch]
            yield (
                [_redacted(row, text_columns, redactor) for row in batch]
                if redactor and text_columns
                else batch
            )


def _statement_of(study: Study, table: Table) -> str:
    return {**_STATEMENTS, **task_with_report(study).statements}[table.name]


def _redacted(row: Sequence[Value], text_columns: Sequence[int], redactor: Redactor) -> Sequence[Value]:
    values = list(row)
    for index in text_columns:
        value = values[index]
        values[index] = redactor(value) if isinstance(value, str) else value
    return values


def _with_answer_columns(
    row: Sequence[Value],
    table: Table,
    asked: Mapping[str, Mapping[str, Question]],
    redactor: Redactor,
) -> Sequence[Value]:
    """Row of a label with its answers in the columns of their questions."""
    *known, answer_values = row
    answers = json.loads(str(answer_values))
    names = [column.name for column in table.columns]
    of_set = asked[str(known[names.index("question_set")])]
    return [
        *known,
        *(
            _plain(answered(of_set[n], answers, redactor) if n in of_set else None)
            for n in names[len(known) :]
        ),
    ]


def _plain(answer: Answer | None) -> Value:
    """Answer as one value; several choices become a JSON list."""
    return json.dumps(answer, ensure_ascii=False) if isinstance(answer, list) else answer


def _sets_in(study: Study, table: Table) -> list[QuestionSet]:
    """Question sets whose answers are in a table."""
    return descriptions.questionnaire_sets(study) if table.name == "questionnaires" else answered_sets(study)


def answered_sets(study: Study) -> list[QuestionSet]:
    """Question sets about conversations or items that the study asks or has answers to.

    Empty for self-play.
    """
    task = task_with_report(study)
    if not isinstance(task, ReportedTask):
        return []
    used = task.labels(study).values_list("question_set", flat=True)
    asked = list(dict.fromkeys(ask.question_set for ask in study.work_asks))
    others = sorted(set(used.distinct().order_by()) - set(asked))
    return [question_set(key) for key in (*asked, *others)]


def audit_rows(study: Study) -> list[dict[str, Any]]:
    """A row for each question that the newest complete audit asked one of the study's bots."""
    audits = [result.audit for result in audits_of_bots(study, study.owner)]
    answers = answers_of(audits)
    return [
        {**_row(audit.bot.name, audit.version.fingerprint if audit.version else None, answer), **accuracy}
        for audit in audits
        for accuracy in [verdicts.accuracy_row(audit)]
        for answer in answers[audit.pk]
    ]


def _row(bot: str, version: str | None, answer: Any) -> dict[str, Any]:
    text_columns: dict[str, Any] = {name: text or None for name, text in verdicts.reply_row(answer).items()}
    if answer.verdict and answer.verdict.group is None:
        text_columns["people_group"] = UNDECIDED
    return {"bot": bot, "bot_version": version, **text_columns, "turn": answer.turn}


def to_columns(rows: Sequence[dict[str, Any]]) -> list[Sequence[Value]]:
    return [[row[column.name] for column in AUDITS.columns] for row in rows]
