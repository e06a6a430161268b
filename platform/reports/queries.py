"""Reads for reports and exports. One row per labelled bot turn."""

from collections.abc import Iterator
from typing import NamedTuple

from django.contrib.auth.models import AnonymousUser
from django.db import connection, transaction
from django.db.models import QuerySet

from accounts.models import User
from reports.models import Report
from studies.models import Study
from studies.queries import studies_of


class LabelledTurn(NamedTuple):
    """A labelled bot turn, as reports count it and exports show it. docs/exports.md describes each column."""

    study: str
    bot: str
    bot_version: str
    dialogue: str
    dialogue_ending: str
    turn: int
    context: str
    response: str
    rater: str
    sensible: bool | None
    specific: bool | None
    answers: str
    latency_ms: int | None
    labelled_at: str
    label_changes: int


# The speaker of the turn before a reply is its partner; together they say what was judged.
_LABELLED_TURNS = """
SELECT s.code, b.name, left(v.fingerprint, 12), d.public_id::text, d.ending, t.position,
       (SELECT p.text FROM dialogues_turn AS p WHERE p.dialogue_id = d.id AND p.position = t.position - 1),
       t.text, w.pseudonym,
       (l.answers->>'sensible')::boolean, (l.answers->>'specific')::boolean, l.answers::text,
       t.latency_ms, to_char(l.changed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), l.changes
  FROM labels_label AS l
  JOIN dialogues_turn AS t ON t.id = l.turn_id
  JOIN dialogues_dialogue AS d ON d.id = t.dialogue_id
  JOIN studies_study AS s ON s.id = d.study_id
  JOIN crowd_worker AS w ON w.id = l.rater_id
  JOIN bots_botversion AS v ON v.id = t.bot_version_id
  JOIN bots_bot AS b ON b.id = v.bot_id
 WHERE d.study_id = %s
 ORDER BY d.id, t.position, l.id
"""


def labelled_turns(study: Study, *, batch: int = 2000) -> Iterator[list[LabelledTurn]]:
    """The study's labelled turns in batches, read through a server-side cursor: memory stays flat."""
    with transaction.atomic():
        connection.ensure_connection()
        with connection.connection.cursor(name="labelled_turns") as cursor:
            cursor.itersize = batch
            cursor.execute(_LABELLED_TURNS, [study.pk])
            while rows := cursor.fetchmany(batch):
                yield [LabelledTurn(*row) for row in rows]


def reports_of(user: User | AnonymousUser) -> QuerySet[Report]:
    return Report.objects.filter(study__in=studies_of(user))


def newest_report(study: Study) -> Report | None:
    return study.reports.first()


def newest_result(study: Study) -> Report | None:
    return study.reports.filter(state=Report.State.READY).first()
