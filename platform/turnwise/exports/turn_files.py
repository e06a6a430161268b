"""A study's labels as streamed files. docs/exports.md describes the columns."""

import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import orjson
from django.db import connection, transaction

from evaluation.files.writing import csv_of, csv_text
from evaluation.protocols.facts import HUMAN
from evaluation.questions import Answer
from evaluation.report.bundles.columns import answered_in
from evaluation.texts.personal_data import Redactor
from turnwise.bots.generation import NO_GENERATION, columns_of
from turnwise.exports.message_columns import (
    NO_VERSIONS,
    VERSIONS,
    description_before,
    picture_before,
    versions_join,
)
from turnwise.judging.queries import items_of
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.judging.queue.rater_session import READING
from turnwise.knowledge.reading_sets import parse_pasted
from turnwise.privacy.personal_data import answered, redactor_for
from turnwise.questions.question_sets import question_set
from turnwise.reports.report_kinds import ReportedTask
from turnwise.studies.conditions.factors import column_of
from turnwise.studies.models import Study
from turnwise.studies.tasks import task_of


class LabelledTurn(NamedTuple):
    """A row of the files: one label; `subject` says what it is about. docs/exports.md has each column."""

    study: str
    bot: str
    bot_version: str | None
    dialogue: str
    dialogue_ending: str
    turn: int | None
    context: str | None
    response: str | None
    rater: str
    question_set: str
    answers: str
    latency_ms: int | None
    labelled_at: str
    label_changes: int
    rater_excluded: bool
    origin: str
    remarks: str | None
    outcome: str | None
    model: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    cached_tokens: int | None
    first_seconds: float | None
    reasoning: str | None
    outcome_before_stop: str | None
    reply_version: int | None
    reply_versions: int | None
    in_primary_analysis: bool
    shown_ms: int | None
    answer_ms: int | None
    occasion: int
    material: str | None
    subject: str
    ask: int | None
    picture: str | None
    picture_description: str | None
    scenario: str | None
    condition: str | None


def _texts(conversation: str, seat: str, order: str) -> str:
    """SQL for the texts of `read` as JSON, with the conversation (of a pair) and the seat."""
    return f"""jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                   'conversation', {conversation}, 'seat', {seat}, 'title', read.title,
                   'heading', nullif(read.heading, ''), 'text', nullif(read.text, ''),
                   'points', CASE WHEN read.points <> '{{}}' THEN to_jsonb(read.points) END))
                 ORDER BY {order})::text"""


def _material(conversation: str) -> str:
    """SQL for the texts that a reader saw beside an item."""
    return f"""
       CASE WHEN plan.shows_reading THEN
         (SELECT {_texts(conversation, "read.seat", "read.side, read.seat, read.number")}
            FROM ({READING}) AS read WHERE read.item = i.id) END"""


# The reading texts of a rater's own seat. PostgreSQL checks once whether the study has any texts; if not, no
# row looks for them.
OWN_MATERIAL = f"""
       CASE WHEN (SELECT EXISTS (
                  SELECT FROM dialogues_dialogue AS held
                    JOIN dialogues_seat AS reader ON reader.dialogue_id = held.id
                    JOIN dialogues_material AS given ON given.seat_id = reader.id
                   WHERE held.study_id = %(study)s)) THEN
         (SELECT {_texts("NULL", "own.number", "read.number")}
            FROM dialogues_material AS read WHERE read.seat_id = own.id) END"""


def _participation_join(study: str) -> str:
    """SQL join of a label's rater with their participation in the study.

    OFFSET 0 keeps the planner from reading all participations of the study for each label, as it would if
    most studies are small.
    """
    return f"""LEFT JOIN LATERAL (
       SELECT own.* FROM (SELECT * FROM crowd_participation WHERE worker_id = l.rater_id OFFSET 0) AS own
        WHERE own.study_id = {study} AND own.number = 1) AS p ON true"""


# Readers' judgments of the same turns belong to the judging study. The query goes conversation by
# conversation, so that the first rows are sent before the last are read. Participants have a pseudonym in
# `p`; the function crowd_pseudonym gives that of other raters. The context of a reply is the turn before it.
LABELLED_TURNS = f"""
SELECT s.code, coalesce(b.name, '{HUMAN}'), left(v.fingerprint, 12), d.public_id::text, d.ending, l.position,
       (SELECT p.text FROM dialogues_turn AS p WHERE p.dialogue_id = d.id AND p.position = l.position - 1),
       l.text, coalesce(p.pseudonym, crowd_pseudonym(l.rater_id, l.study_id)),
       l.question_set, l.answers::text,
       l.latency_ms, to_char(l.changed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), l.changes,
       coalesce(p.excluded_at IS NOT NULL, false), d.origin,
       {columns_of("l.generation", "v.id IS NOT NULL")}, {VERSIONS},
       d.ending = 'complete' AND (s.primary_analysis = 'all' OR p.excluded_at IS NULL),
       l.shown_ms, l.answer_ms, l.occasion,
       {OWN_MATERIAL},
       CASE WHEN l.turn_id IS NULL THEN 'dialogue' ELSE 'turn' END,
       ask.number, {picture_before("d.id", "l.position")},
       {description_before("d.id", "l.position")}, d.scenario->>'name', p.condition::text
  FROM (SELECT * FROM dialogues_dialogue WHERE study_id = %(study)s ORDER BY id) AS d
 CROSS JOIN LATERAL (
       SELECT given.*, said.position, said.text, said.latency_ms, said.generation, said.bot_version_id
         FROM dialogues_turn AS said JOIN labels_label AS given ON given.turn_id = said.id
        WHERE said.dialogue_id = d.id
        UNION ALL
       SELECT whole.*, NULL, NULL, NULL, NULL, NULL FROM labels_label AS whole WHERE whole.dialogue_id = d.id
       OFFSET 0) AS l
  JOIN studies_study AS s ON s.id = d.study_id
  LEFT JOIN studies_ask AS ask ON ask.id = l.ask_id
  LEFT JOIN bots_botversion AS v ON v.id = l.bot_version_id
  LEFT JOIN dialogues_seat AS own ON own.dialogue_id = d.id AND own.worker_id = l.rater_id
  LEFT JOIN dialogues_seat AS heard ON heard.dialogue_id = d.id AND heard.number <> coalesce(own.number, 0)
  LEFT JOIN LATERAL (SELECT * FROM bots_bot WHERE id = coalesce(v.bot_id, heard.bot_id) OFFSET 0) AS b ON true
  {versions_join("l.turn_id", "l.bot_version_id IS NOT NULL")}
  {_participation_join("d.study_id")}
 WHERE l.party <> 'reader'
   AND (b.id IS NOT NULL OR own.id IS NOT NULL AND heard.worker_id IS NOT NULL)
 ORDER BY d.id, l.position, l.id
"""


# Items of a judging study in order, each with its judgments in order. OFFSET 0 makes the database start
# without reading and sorting all of them, so that a download begins at once.
JUDGED = f"""
       (SELECT id, study_id FROM judging_item
         WHERE study_id = %(study)s AND right_answers IS NULL ORDER BY id) AS next
 CROSS JOIN LATERAL ({items_of("next.study_id")} AND i.id = next.id OFFSET 0) AS i
 CROSS JOIN LATERAL (
       SELECT given.* FROM judging_slot AS given
        WHERE given.item_id = next.id AND given.label_id IS NOT NULL OFFSET 0) AS slot
"""


# Judgments of a judging study: `bot` is the system, `dialogue` a conversation or the key of a context, `turn`
# the position in the conversation or the repetition of the response.
JUDGMENTS = f"""
SELECT s.code, i.system, left(v.fingerprint, 12), coalesce(d.public_id::text, c.key), coalesce(d.ending, ''),
       coalesce(i.position, i.repetition), i.before, coalesce(i.text, ''),
       coalesce(p.pseudonym, crowd_pseudonym(l.rater_id, l.study_id)),
       l.question_set, l.answers::text,
       i.latency_ms, to_char(l.changed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), l.changes,
       coalesce(p.excluded_at IS NOT NULL, false), coalesce(d.origin, ''),
       {columns_of("i.generation", "i.bot_version_id IS NOT NULL")}, {VERSIONS},
       s.primary_analysis = 'all' OR p.excluded_at IS NULL, l.shown_ms, l.answer_ms, l.occasion,
       {_material("NULL")},
       CASE WHEN l.response_id IS NOT NULL THEN 'response' WHEN l.context_id IS NOT NULL THEN 'context'
            WHEN l.turn_id IS NULL THEN 'dialogue' ELSE 'turn' END,
       ask.number, {picture_before("d.id", "i.position")},
       {description_before("d.id", "i.position")}, d.scenario->>'name', NULL
  FROM {JUDGED}
  JOIN labels_label AS l ON l.id = slot.label_id
  JOIN studies_ask AS ask ON ask.id = l.ask_id
  LEFT JOIN judging_judgingplan AS plan ON plan.study_id = slot.study_id
  JOIN studies_study AS s ON s.id = slot.study_id
  LEFT JOIN dialogues_dialogue AS d ON d.id = coalesce(i.dialogue_id, l.dialogue_id)
  LEFT JOIN responses_response AS r ON r.id = l.response_id
  LEFT JOIN contexts_context AS c ON c.id = coalesce(r.context_id, l.context_id)
  LEFT JOIN bots_botversion AS v ON v.id = i.bot_version_id
  {versions_join("l.turn_id", "l.turn_id IS NOT NULL AND i.bot_version_id IS NOT NULL")}
  {_participation_join("slot.study_id")}
 ORDER BY next.id, slot.label_id
"""


_PAIR_SIDE = """CASE WHEN read.dialogue IS NOT NULL THEN
                     CASE WHEN (read.side = 1) = slot.is_swapped THEN 'first' ELSE 'second' END END"""


# Judgments of pairs: `bot` has both systems and `response` both responses as a JSON list, in the order in
# which this rater saw them; so the answer "first" means the first of each.
PAIR_JUDGMENTS = f"""
SELECT s.code, CASE WHEN slot.is_swapped THEN i.second_system || ' against ' || i.first_system
                    ELSE i.first_system || ' against ' || i.second_system END,
       NULL, coalesce(d.public_id::text, c.key), coalesce(d.ending, ''), coalesce(pair.turns, i.repetition),
       i.before, CASE WHEN c.id IS NULL THEN ''
            WHEN slot.is_swapped THEN jsonb_build_array(i.second_text, i.first_text)::text
            ELSE jsonb_build_array(i.first_text, i.second_text)::text END,
       coalesce(p.pseudonym, crowd_pseudonym(l.rater_id, l.study_id)), l.question_set, l.answers::text, NULL,
       to_char(l.changed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), l.changes,
       coalesce(p.excluded_at IS NOT NULL, false), coalesce(d.origin, ''), {NO_GENERATION}, {NO_VERSIONS},
       s.primary_analysis = 'all' OR p.excluded_at IS NULL, l.shown_ms, l.answer_ms, l.occasion,
       {_material(_PAIR_SIDE)}, 'pair', ask.number, NULL, NULL, NULL, NULL
  FROM {JUDGED}
  JOIN labels_label AS l ON l.id = slot.label_id
  JOIN studies_ask AS ask ON ask.id = l.ask_id
  LEFT JOIN judging_judgingplan AS plan ON plan.study_id = slot.study_id
  JOIN labels_pair AS pair ON pair.id = l.pair_id
  JOIN studies_study AS s ON s.id = slot.study_id
  LEFT JOIN dialogues_dialogue AS d ON d.id = pair.first_dialogue_id
  LEFT JOIN responses_response AS r ON r.id = pair.first_response_id
  LEFT JOIN contexts_context AS c ON c.id = r.context_id
  {_participation_join("slot.study_id")}
 ORDER BY next.id, slot.label_id
"""


# Answers of participants about themselves belong to no bot and no conversation, and no score counts them.
ABOUT_PEOPLE = f"""
SELECT s.code, '', NULL, '', '', NULL::integer, NULL, NULL, p.pseudonym, l.question_set, l.answers::text,
       NULL::integer, to_char(l.changed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), l.changes,
       p.excluded_at IS NOT NULL, '', {NO_GENERATION}, {NO_VERSIONS}, false, l.shown_ms, l.answer_ms,
       p.number, NULL, 'person', ask.number, NULL, NULL, NULL, p.condition::text
  FROM labels_label AS l
  JOIN studies_ask AS ask ON ask.id = l.ask_id
  JOIN crowd_participation AS p ON p.id = l.participation_id
  JOIN studies_study AS s ON s.id = l.study_id
 WHERE l.study_id = %(study)s
 ORDER BY l.id
"""


FIRST_BATCH = 100
"""Rows of the first batch: few, so that a download begins at once."""


def labelled_turns(study: Study, *, batch: int = 500) -> Iterator[list[LabelledTurn]]:
    """The study's labels in batches, through a server-side cursor to keep memory flat.

    Answers of participants about themselves come last.
    """
    redactor, task, beside = redactor_for(study), task_of(study), _study_texts(study)
    statements = [task.labels_exported] if isinstance(task, ReportedTask) else []
    with transaction.atomic():
        connection.ensure_connection()
        for statement in (*statements, ABOUT_PEOPLE):
            with connection.connection.cursor(name="labelled_turns") as cursor:
                cursor.itersize = batch
                cursor.execute(statement, {"study": study.pk})
                rows = cursor.fetchmany(min(batch, FIRST_BATCH))
                while rows:
                    yield _prepare_rows(map(LabelledTurn._make, rows), beside, redactor)
                    rows = cursor.fetchmany(batch)


def _study_texts(study: Study) -> list[dict[str, str]]:
    """Texts of a judging study that stand beside every item; empty for other studies."""
    if not study.material or not isinstance(task_of(study), QueuedTask):
        return []
    return [{"title": each.title, "text": each.text} for each in parse_pasted(study.material)]


def _prepare_rows(
    rows: Iterable[LabelledTurn], beside: Sequence[dict[str, str]], redactor: Redactor
) -> list[LabelledTurn]:
    """Rows as exported: with the study's texts, and redacted."""
    if beside:
        rows = (_with_texts(row, beside) for row in rows)
    return [_redacted(row, redactor) for row in rows] if redactor else list(rows)


def _with_texts(row: LabelledTurn, beside: Sequence[dict[str, str]]) -> LabelledTurn:
    """Add these texts to a judgment's row, after those of its item, as the rater saw them."""
    if row.subject == "person":
        return row
    material = orjson.loads(row.material) if row.material else []
    return row._replace(material=json.dumps([*material, *beside], ensure_ascii=False))


def _redacted(row: LabelledTurn, redactor: Redactor) -> LabelledTurn:
    """Redact the texts and answers of a row."""
    asked = {each.key: each for each in question_set(row.question_set).questions}
    given: dict[str, Answer] = json.loads(row.answers)
    answers = {key: answered(asked[key], given, redactor) if key in asked else given[key] for key in given}
    return row._replace(
        context=row.context and redactor(row.context),
        response=row.response and redactor(row.response),
        remarks=row.remarks and redactor(row.remarks),
        reasoning=row.reasoning and redactor(row.reasoning),
        picture_description=row.picture_description and redactor(row.picture_description),
        answers=json.dumps(answers, ensure_ascii=False),
    )


class AnswerColumns(NamedTuple):
    """Columns of the answers to a study's questions, and of its factors.

    Attributes:
        columns: their names, one for each question.
        keys: the question's key of each column, by question set; None for questions of other sets.
        factors: names of the study's factors.
    """

    columns: list[str]
    keys: dict[str, list[str | None]]
    factors: list[str]

    def answers(self, row: LabelledTurn, given: Mapping[str | None, Answer]) -> list[Answer | None]:
        """Answers of a row, column by column."""
        keys = self.keys.get(row.question_set)
        return [given.get(key) for key in keys] if keys else [None] * len(self.columns)


def _answer_columns(study: Study) -> AnswerColumns:
    sets = [question_set(key) for key in dict.fromkeys(ask.question_set for ask in study.every_ask)]
    of_sets = answered_in(sets)
    columns = list(dict.fromkeys(name for of_set in of_sets.values() for name in of_set))
    keys = {
        key: [of_set[name].key if name in of_set else None for name in columns]
        for key, of_set in of_sets.items()
    }
    return AnswerColumns(columns, keys, [factor["name"] for factor in study.factors])


def csv_lines(study: Study) -> Generator[str]:
    asked = _answer_columns(study)
    yield csv_text([[*_BEFORE, *asked.columns, *_AFTER, *map(column_of, asked.factors)]])
    for batch in labelled_turns(study):
        yield csv_of(_csv_columns(batch, asked))


def jsonl_lines(study: Study) -> Generator[bytes]:
    asked = _answer_columns(study)
    for batch in labelled_turns(study):
        yield b"".join(_json_line(row, asked) for row in batch)


_ANSWERS_INDEX = LabelledTurn._fields.index("answers")
"""Index of the column `answers`; the columns of single questions stand before it."""
_BEFORE, _AFTER = LabelledTurn._fields[:_ANSWERS_INDEX], LabelledTurn._fields[_ANSWERS_INDEX:-1]
"""Columns before and after those of single questions; the last field, `condition`, has its own columns."""


def _csv_columns(batch: Sequence[LabelledTurn], asked: AnswerColumns) -> list[Sequence[object]]:
    columns: list[Sequence[object]] = list(zip(*batch, strict=True))
    answers = zip(*(asked.answers(row, orjson.loads(row.answers)) for row in batch), strict=True)
    conditions = [_condition(row) for row in batch] if asked.factors else []
    levels = [[each.get(factor) for each in conditions] for factor in asked.factors]
    return [*columns[:_ANSWERS_INDEX], *map(_plain, answers), *columns[_ANSWERS_INDEX:-1], *levels]


def _condition(row: LabelledTurn) -> dict[str, str]:
    """By factor, the level of the person who gave the label."""
    levels: dict[str, str] = orjson.loads(row.condition) if row.condition else {}
    return levels


def _plain(answers: Sequence[Answer | None]) -> list[object]:
    """Answers of a column, several choices as a JSON list."""
    return [json.dumps(each, ensure_ascii=False) if isinstance(each, list) else each for each in answers]


def _json_line(row: LabelledTurn, asked: AnswerColumns) -> bytes:
    given = orjson.loads(row.answers)
    fields: dict[str, object] = dict(zip(_BEFORE, row[:_ANSWERS_INDEX], strict=True))
    fields.update(zip(asked.columns, asked.answers(row, given), strict=True))
    fields.update(zip(_AFTER, row[_ANSWERS_INDEX:-1], strict=True))
    if asked.factors:
        fields["condition"] = _condition(row)
    fields["answers"] = given
    fields["remarks"] = orjson.loads(row.remarks) if row.remarks else []
    fields["material"] = orjson.loads(row.material) if row.material else []
    return orjson.dumps(fields, option=orjson.OPT_APPEND_NEWLINE)
