"""The rows of a bundle's tables, in batches through server-side cursors: memory stays flat."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TypeAlias

from django.db import connection, transaction
from django.db.models import Q

from evaluation.questions import QuestionSet, question_set
from evaluation.report.tables import CONVERSATIONS, FAULTS, ITEMS, TURNS, WORKERS, Table
from labels.item_queries import items_of
from labels.models import Label
from labels.queries import OF_PEOPLE
from studies.models import Study, Task

Value: TypeAlias = str | int | bool | datetime | None
BATCH = 20_000
# Their last value is the answers, which have a column each.
_ANSWERED = ("labels", "judgments")

_STATEMENTS = {
    CONVERSATIONS.name: """
SELECT row_number() OVER (ORDER BY d.id), d.public_id::text,
       (SELECT string_agg(DISTINCT b.name, ' ') FROM dialogues_participant AS seat
          JOIN bots_bot AS b ON b.id = seat.bot_id WHERE seat.dialogue_id = d.id),
       w.pseudonym, d.started_at, d.ended_at,
       nullif(d.ending, ''), d.question_set, d.opening_turns, d.min_turns, d.max_turns, d.turns
  FROM dialogues_dialogue AS d
  LEFT JOIN crowd_assignment AS a ON a.id = d.assignment_id
  LEFT JOIN crowd_participation AS p ON p.id = a.participation_id
  LEFT JOIN crowd_worker AS w ON w.id = p.worker_id
 WHERE d.study_id = %s
 ORDER BY d.id
""",
    TURNS.name: """
SELECT d.public_id::text, t.position, CASE WHEN seat.bot_id IS NULL THEN 'worker' ELSE 'bot' END,
       t.text, t.created_at, b.name, v.fingerprint, t.latency_ms, t.seed, t.candidates::text,
       (t.remarks->'texts')::text,
       CASE WHEN t.bot_version_id IS NOT NULL THEN coalesce((t.remarks->'fallback')::boolean, false) END
  FROM dialogues_dialogue AS d
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
  LEFT JOIN dialogues_participant AS seat ON seat.dialogue_id = d.id AND seat.seat = t.position %% 2
  LEFT JOIN bots_botversion AS v ON v.id = t.bot_version_id
  LEFT JOIN bots_bot AS b ON b.id = v.bot_id
 WHERE d.study_id = %s
 ORDER BY d.id, t.position
""",
    "labels": """
SELECT d.public_id::text, t.position, w.pseudonym, l.question_set, l.changed_at, l.changes, judged_in.code,
       l.answers::text
  FROM labels_label AS l
  JOIN dialogues_turn AS t ON t.id = l.turn_id
  JOIN dialogues_dialogue AS d ON d.id = t.dialogue_id
  JOIN crowd_worker AS w ON w.id = l.rater_id
  LEFT JOIN labels_slot AS s ON s.label_id = l.id
  LEFT JOIN studies_study AS judged_in ON judged_in.id = s.study_id
 WHERE d.study_id = %s AND judged_in.rehearsal_of_id IS NULL
 ORDER BY d.id, t.position, l.id
""",
    # Contexts are counted in the order in which the report's resampling has them.
    ITEMS.name: f"""
SELECT i.key::text, i.system, dense_rank() OVER (ORDER BY i.cluster), coalesce(c.key, d.public_id::text),
       i.position, i.repetition, item.language,
       coalesce(to_json(c.turns),
                (SELECT json_agg(b.text ORDER BY b.position) FROM dialogues_turn AS b
                  WHERE b.dialogue_id = d.id AND (t.id IS NULL OR b.position < t.position)), '[]')::text,
       i.text, v.fingerprint, i.latency_ms, coalesce(r.seed, t.seed), (i.remarks->'texts')::text,
       CASE WHEN i.bot_version_id IS NOT NULL THEN coalesce((i.remarks->'fallback')::boolean, false) END
  FROM ({items_of()}) AS i
  JOIN labels_item AS item ON item.id = i.id
  LEFT JOIN responses_response AS r ON r.id = item.response_id
  LEFT JOIN contexts_context AS c ON c.id = r.context_id
  LEFT JOIN dialogues_turn AS t ON t.id = item.turn_id
  LEFT JOIN dialogues_dialogue AS d ON d.id = coalesce(t.dialogue_id, item.dialogue_id)
  LEFT JOIN bots_botversion AS v ON v.id = i.bot_version_id
 ORDER BY i.id
""",
    "judgments": """
SELECT s.key::text, w.pseudonym, l.question_set, l.changed_at, l.changes, l.answers::text
  FROM labels_slot AS s
  JOIN labels_label AS l ON l.id = s.label_id
  JOIN crowd_worker AS w ON w.id = l.rater_id
 WHERE s.study_id = %s
 ORDER BY l.id
""",
    FAULTS.name: """
SELECT d.public_id::text, f.position, f.kind, f.at
  FROM dialogues_fault AS f
  JOIN dialogues_dialogue AS d ON d.id = f.dialogue_id
 WHERE d.study_id = %s
 ORDER BY d.id, f.at, f.id
""",
    WORKERS.name: """
SELECT w.pseudonym, c.number, p.consented_at, nullif(a.outcome, ''), p.set_aside_at,
       nullif(p.set_aside_reason, '')
  FROM crowd_participation AS p
  JOIN crowd_worker AS w ON w.id = p.worker_id
  JOIN studies_consentversion AS c ON c.id = p.consent_id
  LEFT JOIN crowd_assignment AS a ON a.participation_id = p.id
 WHERE p.study_id = %s
 ORDER BY p.consented_at, p.id
""",
}


def rows(study: Study, table: Table) -> Iterator[list[Sequence[Value]]]:
    """The rows of a table in batches, each value as its column's kind says."""
    with transaction.atomic(), connection.connection.cursor(name=f"bundle_{table.name}") as cursor:
        cursor.itersize = BATCH
        cursor.execute(_STATEMENTS[table.name], [study.pk])
        while batch := cursor.fetchmany(BATCH):
            yield [_answered(row, table) for row in batch] if table.name in _ANSWERED else batch


def _answered(row: Sequence[Value], table: Table) -> Sequence[Value]:
    """A label with its answers in the columns of their questions."""
    *known, said = row
    answers = json.loads(str(said))
    return [*known, *(answers.get(column.name) for column in table.columns[len(known) :])]


def sets_answered(study: Study) -> list[QuestionSet]:
    """The question set of the study, and others that were answered in it."""
    is_judging = study.task == Task.JUDGING
    given = Q(slot__study=study) if is_judging else Q(OF_PEOPLE, turn__dialogue__study=study)
    labels = Label.objects.filter(given)
    used = labels.values_list("question_set", flat=True)
    others = sorted(set(used.distinct().order_by()) - {study.question_set})
    return [question_set(key) for key in (study.question_set, *others)]
