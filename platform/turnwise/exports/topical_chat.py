"""A study's conversations as the two files of Topical-Chat, which the import reads again."""

import json
from collections.abc import Generator, Iterator
from itertools import groupby
from typing import Any

from django.db import connection, transaction

from evaluation.personal_data import Redactor
from evaluation.questions.topical_chat import RATINGS
from turnwise.privacy.redacting import redactor_for
from turnwise.studies.models import Study
from turnwise.transcripts.importers.reading_sets import FACTUAL, LEADS
from turnwise.transcripts.importers.topical_chat import AGENTS, HEARD, OPENS, OWN, WHOLE

_BATCH = 2000

_FINISHED = """
  FROM dialogues_dialogue AS d
  LEFT JOIN dialogues_readingset AS reading ON reading.dialogue_id = d.id
  LEFT JOIN knowledge_article AS article ON article.id = reading.article_id
"""
# Of those held here, only accepted ones.
_OF_STUDY = """
 WHERE d.study_id = %(study)s AND d.ending = 'complete'
   AND (d.origin = 'imported' OR EXISTS (SELECT FROM acceptance_decision AS decision
                                          WHERE decision.dialogue_id = d.id AND decision.state = 'accepted'))
"""
_NAMED = """d.id, coalesce(nullif(d.source_id, ''), d.public_id::text), d.source_details->>%(opens)s,
       coalesce(article.key, d.source_details->>'article_url', ''),
       coalesce(reading.configuration, d.source_details->>'config', '')"""

# Each judges their own messages and the partner's; what readers say belongs to other studies.
_TURNS = f"""
SELECT {_NAMED}, t.position %% 2, t.text, own.answers::text, (heard.answers->>'quality')::integer,
       (SELECT jsonb_object_agg(seat.number, l.answers->'quality')
          FROM labels_label AS l
          JOIN dialogues_seat AS seat ON seat.dialogue_id = d.id AND seat.worker_id = l.rater_id
         WHERE l.dialogue_id = d.id AND l.party <> 'reader' AND l.question_set = %(whole)s)::text
{_FINISHED}
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
  LEFT JOIN labels_label AS own ON own.turn_id = t.id AND own.party <> 'reader'
   AND own.question_set = %(own)s
  LEFT JOIN labels_label AS heard ON heard.turn_id = t.id AND heard.party <> 'reader'
   AND heard.question_set = %(heard)s
{_OF_STUDY}
 ORDER BY d.id, t.position
"""
_TEXTS = f"""
SELECT {_NAMED}, seat.number, m.key, m.heading, m.text, m.points, m.variant
{_FINISHED}
  JOIN dialogues_seat AS seat ON seat.dialogue_id = d.id
  JOIN dialogues_material AS m ON m.seat_id = seat.id
{_OF_STUDY}
 ORDER BY d.id, seat.number, m.number
"""


def conversations(study: Study) -> Generator[str]:
    """The file of conversations: an object by id, what people annotated with every turn."""
    named = {"own": OWN, "heard": HEARD, "whole": WHOLE}
    redactor = redactor_for(study)
    found = _by_dialogue(study, _TURNS, named)
    yield from _object((rows[0][1], _conversation(rows, redactor)) for rows in found)


def reading_sets(study: Study) -> Generator[str]:
    """The file of reading sets: what each of the two had to read, by the ids of the conversations."""
    yield from _object((rows[0][1], _reading_set(rows)) for rows in _by_dialogue(study, _TEXTS, {}))


def _object(members: Iterator[tuple[str, dict[str, Any]]]) -> Generator[str]:
    """A JSON object, member by member, as Topical-Chat's files are."""
    begins = "{"
    for key, value in members:
        yield f"{begins}\n{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        begins = ","
    yield "{}\n" if begins == "{" else "\n}\n"


def _by_dialogue(study: Study, statement: str, named: dict[str, str]) -> Iterator[list[tuple[Any, ...]]]:
    with transaction.atomic():
        connection.ensure_connection()
        with connection.connection.cursor(name="topical_chat") as cursor:
            cursor.itersize = _BATCH
            cursor.execute(statement, named | {"study": study.pk, "opens": OPENS})
            for _, rows in groupby(cursor, key=lambda row: row[0]):
                yield list(rows)


def _agents(opens: str | None) -> tuple[str, str]:
    """What the seats are called there: agent_1 opens unless the imported file says otherwise."""
    return (AGENTS[1], AGENTS[0]) if opens == AGENTS[1] else AGENTS


def _conversation(rows: list[tuple[Any, ...]], redactor: Redactor) -> dict[str, Any]:
    _, _, opens, url, configuration, *_, wholes = rows[0]
    agents, of_whole = _agents(opens), json.loads(wholes or "{}")
    content = []
    for *_, speaker, text, own, heard, _ in rows:
        answers = json.loads(own or "{}")
        content.append(
            {
                "agent": agents[speaker],
                "message": redactor(text),
                "sentiment": answers.get("sentiment", ""),
                "knowledge_source": sorted(answers.get("source", [])),
                "turn_rating": _rated(heard),
            }
        )
    seats = sorted(range(2), key=lambda seat: agents[seat])
    rated = {agents[seat]: _rated(of_whole.get(str(seat))) for seat in seats}
    return {"article_url": url, "config": configuration, "content": content, "conversation_rating": rated}


def _rated(rating: int | None) -> str:
    return RATINGS[rating - 1] if rating else ""


def _reading_set(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    _, _, opens, url, configuration, *_ = rows[0]
    agents = _agents(opens)
    sides: dict[str, dict[str, Any]] = {agent: {} for agent in AGENTS}
    article = {"url": url}
    for *_, seat, key, heading, text, points, variant in rows:
        if key in FACTUAL:
            told = {"entity": heading, LEADS[variant or "shortened"]: text, "fun_facts": points}
            sides[agents[seat]][key] = told
        elif key.startswith("AS"):
            article |= ({"headline": heading} if heading else {}) | {key: text}
    return {"config": configuration, **sides, "article": article}
