"""A study's conversations as the two CSV files of neural.chat, which the import reads again.

Ids of people and their codes, which the platform's own files have, stay out: they are for paying people.
"""

import json
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count, groupby
from typing import Any

from django.db import connection, transaction

from evaluation.personal_data import Redactor
from evaluation.questions import LIKERT, VOTES, Answer
from evaluation.spreadsheets import csv_text
from turnwise.bots.models import OUTSIDE
from turnwise.privacy.redacting import redactor_for
from turnwise.studies.models import Study
from turnwise.transcripts.importers.neural_chat import COHERENCY, RATING_COLUMNS, RECORD_COLUMNS, SCALES
from turnwise.transcripts.outside import RATER

_BATCH = 2000

# Of conversations of one bot with a person; what readers say of them belongs to other studies.
_TURNS = """
SELECT d.id, coalesce(nullif(d.source_id, ''), d.public_id::text),
       CASE b.adapter WHEN %(outside)s THEN b.title ELSE b.name END,
       coalesce(crowd_pseudonym(person.worker_id, d.study_id), d.source_details->>%(rater)s, ''),
       coalesce(d.source_details->>%(coherency)s, ''),
       rated.answers::text, rated.changed_at,
       t.position %% 2 = bot.number, t.text, t.created_at,
       (SELECT (l.answers->>'vote')::integer FROM labels_label AS l
         WHERE l.turn_id = t.id AND l.party <> 'reader' AND l.question_set = %(votes)s ORDER BY l.id LIMIT 1)
  FROM dialogues_dialogue AS d
  JOIN dialogues_seat AS bot ON bot.dialogue_id = d.id AND bot.bot_id IS NOT NULL
  JOIN bots_bot AS b ON b.id = bot.bot_id
  JOIN dialogues_seat AS person ON person.dialogue_id = d.id AND person.bot_id IS NULL
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
  LEFT JOIN LATERAL (SELECT l.answers, l.changed_at FROM labels_label AS l
                      WHERE l.dialogue_id = d.id AND l.party <> 'reader' AND l.question_set = %(likert)s
                      ORDER BY l.id LIMIT 1) AS rated ON true
 WHERE d.study_id = %(study)s
 ORDER BY d.id, t.position
"""


@dataclass(slots=True)
class _Exchange:
    """A row of the records: a message, the response and the vote on it; one of the two may be missing."""

    at: datetime
    said_before: list[str]
    message: str = ""
    response: str = ""
    vote: int = 0


@dataclass(slots=True)
class _Chat:
    id: str
    bot: str
    session: str
    coherency: str
    ratings: Mapping[str, Answer] | None
    rated_at: datetime | None
    exchanges: list[_Exchange] = field(default_factory=list)

    def rated(self, scale: str) -> Answer:
        """The rating of a scale, by its name in the files; "" of a chat without ratings."""
        if scale == "Coherency":
            return self.coherency
        key = {**SCALES, "Comments": "comment"}[scale]
        return (self.ratings or {}).get(key, "")


def records(study: Study) -> Generator[str]:
    """The file of chat records: a row for each exchange, with the ratings of its chat."""
    yield csv_text([RECORD_COLUMNS])
    numbers = count(1)
    for chat in _chats(study):
        rows = []
        for each in chat.exchanges:
            told = [*each.said_before, *([each.message] if each.message else [])]
            row: dict[str, object] = {
                "ID": next(numbers),
                "Chat ID": chat.id,
                "Datetime": _iso(each.at),
                "Chatbot ID": chat.bot,
                "Message": each.message,
                "Response": each.response,
                "Bot Input": json.dumps(told, ensure_ascii=False),
                "Study Key": study.code,
                "User Session Key": chat.session,
                "Response Rating": each.vote,
            }
            rows.append(
                [row[name] if name in row else chat.rated(name.split()[-1]) for name in RECORD_COLUMNS]
            )
        yield csv_text(rows)


def ratings(study: Study) -> Generator[str]:
    """The file of ratings: a row for each chat that was rated as a whole."""
    yield csv_text([RATING_COLUMNS])
    rated = (chat for chat in _chats(study) if chat.ratings)
    for number, chat in enumerate(rated, 1):
        row: dict[str, object] = {
            "ID": number,
            "Chat ID": chat.id,
            "Datetime": _iso(chat.rated_at) if chat.rated_at else "",
            "Chatbot ID": chat.bot,
            "User Session Key": chat.session,
            "Chat Length": len(chat.exchanges),
            "MTurk Code": "",
            "MTurk User ID": "",
            "Study Key": study.code,
        }
        yield csv_text([[row[name] if name in row else chat.rated(name) for name in RATING_COLUMNS]])


def _iso(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()


def _chats(study: Study) -> Iterator[_Chat]:
    redactor = redactor_for(study)
    with transaction.atomic():
        connection.ensure_connection()
        with connection.connection.cursor(name="neural_chat") as cursor:
            cursor.itersize = _BATCH
            named = {"outside": OUTSIDE, "rater": RATER, "coherency": COHERENCY, "study": study.pk}
            cursor.execute(_TURNS, named | {"votes": VOTES.key, "likert": LIKERT.key})
            for _, rows in groupby(cursor, key=lambda row: row[0]):
                yield _chat(list(rows), redactor)


def _chat(rows: list[tuple[Any, ...]], redactor: Redactor) -> _Chat:
    _, name, bot, session, coherency, answers, rated_at, *_ = rows[0]
    given = json.loads(answers) if answers else None
    if given and "comment" in given:
        given["comment"] = redactor(str(given["comment"]))
    chat = _Chat(name, bot, session, coherency, given, rated_at)
    before: list[str] = []
    for *_, by_bot, written, at, vote in rows:
        text = redactor(written)
        if not by_bot:
            chat.exchanges.append(_Exchange(at, list(before), message=text))
        else:
            if not chat.exchanges or chat.exchanges[-1].response:
                chat.exchanges.append(_Exchange(at, list(before)))
            chat.exchanges[-1].response, chat.exchanges[-1].vote = text, vote or 0
        before.append(text)
    return chat
