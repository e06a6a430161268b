"""A study's data in others' layouts: neural.chat (CSV), Topical-Chat (JSON), preferences for DPO training.

The importers read these files again. Panel ids and completion codes are left out.
"""

import json
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

from evaluation.files.writing import csv_text
from evaluation.questions import LIKERT, VOTES, Answer
from evaluation.questions.parts import BOTH_BAD, FIRST, SECOND, TIED
from evaluation.questions.sets.topical_chat import RATINGS
from evaluation.texts.personal_data import Redactor
from turnwise.bots.models import OUTSIDE
from turnwise.exports.rows import grouped_rows
from turnwise.exports.turn_files import JUDGED
from turnwise.privacy.personal_data import redactor_for
from turnwise.studies.models import Study
from turnwise.transcripts.importers.neural_chat import COHERENCY, RATING_COLUMNS, RECORD_COLUMNS, SCALES
from turnwise.transcripts.importers.topical_chat import AGENTS, FACTUAL, HEARD, LEADS, OPENS, OWN, WHOLE
from turnwise.transcripts.outside_ratings import RATER

# Conversations of one bot with one person. Readers' judgments belong to other studies.
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
    """A row of the records: a message, the bot's reply and the vote on it; either text may be missing."""

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
        """Rating on a scale, by the scale's name in the files; "" without ratings."""
        if scale == "Coherency":
            return self.coherency
        key = {**SCALES, "Comments": "comment"}[scale]
        return (self.ratings or {}).get(key, "")


def neural_chat_records(study: Study) -> Generator[str]:
    """Lines of the file of chat records: a row for each exchange, with the ratings of its chat."""
    yield csv_text([RECORD_COLUMNS])
    numbers = count(1)
    for chat in _chats(study):
        rows = []
        for each in chat.exchanges:
            entry = [*each.said_before, *([each.message] if each.message else [])]
            row: dict[str, object] = {
                "ID": next(numbers),
                "Chat ID": chat.id,
                "Datetime": _iso(each.at),
                "Chatbot ID": chat.bot,
                "Message": each.message,
                "Response": each.response,
                "Bot Input": json.dumps(entry, ensure_ascii=False),
                "Study Key": study.code,
                "User Session Key": chat.session,
                "Response Rating": each.vote,
            }
            rows.append(
                [row[name] if name in row else chat.rated(name.split()[-1]) for name in RECORD_COLUMNS]
            )
        yield csv_text(rows)


def neural_chat_ratings(study: Study) -> Generator[str]:
    """Lines of the file of ratings: a row for each chat that was rated as a whole."""
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
    values = {
        "outside": OUTSIDE, "rater": RATER, "coherency": COHERENCY, "study": study.pk,
        "votes": VOTES.key, "likert": LIKERT.key,
    }  # fmt: skip
    for rows in grouped_rows("neural_chat", _TURNS, values):
        yield _chat(rows, redactor)


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


_FINISHED = """
  FROM dialogues_dialogue AS d
  LEFT JOIN dialogues_readingset AS reading ON reading.dialogue_id = d.id
  LEFT JOIN knowledge_article AS article ON article.id = reading.article_id
"""
# Imported conversations, and accepted ones of this platform.
_OF_STUDY = """
 WHERE d.study_id = %(study)s AND d.ending = 'complete'
   AND (d.origin = 'imported' OR EXISTS (SELECT FROM acceptance_decision AS decision
                                          WHERE decision.dialogue_id = d.id AND decision.state = 'accepted'))
"""
_NAMED = """d.id, coalesce(nullif(d.source_id, ''), d.public_id::text), d.source_details->>%(opens)s,
       coalesce(article.key, d.source_details->>'article_url', ''),
       coalesce(reading.configuration, d.source_details->>'config', '')"""

# Each speaker judges their own messages and the partner's. Readers' judgments belong to other studies.
_TOPICAL_TURNS = f"""
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


def topical_chat_conversations(study: Study) -> Generator[str]:
    """The file of conversations: a JSON object by id, with the annotations of every turn."""
    named = {"own": OWN, "heard": HEARD, "whole": WHOLE}
    redactor = redactor_for(study)
    found = _by_dialogue(study, _TOPICAL_TURNS, named)
    yield from _object((rows[0][1], _conversation(rows, redactor)) for rows in found)


def topical_chat_reading_sets(study: Study) -> Generator[str]:
    """The file of reading sets: the texts of each speaker, by id of the conversation."""
    yield from _object((rows[0][1], _reading_set(rows)) for rows in _by_dialogue(study, _TEXTS, {}))


def _object(members: Iterator[tuple[str, dict[str, Any]]]) -> Generator[str]:
    """Yield a JSON object member by member."""
    begins = "{"
    for key, value in members:
        yield f"{begins}\n{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        begins = ","
    yield "{}\n" if begins == "{" else "\n}\n"


def _by_dialogue(study: Study, statement: str, named: dict[str, str]) -> Iterator[list[tuple[Any, ...]]]:
    return grouped_rows("topical_chat", statement, named | {"study": study.pk, "opens": OPENS})


def _agents(opens: str | None) -> tuple[str, str]:
    """Topical-Chat's names of the two seats: agent_1 opens unless the imported file says otherwise."""
    return (AGENTS[1], AGENTS[0]) if opens == AGENTS[1] else AGENTS


def _conversation(rows: list[tuple[Any, ...]], redactor: Redactor) -> dict[str, Any]:
    _, _, opens, url, configuration, *_, wholes = rows[0]
    agents, of_whole = _agents(opens), json.loads(wholes or "{}")
    content = []
    for *_, speaker, text, own_sentences, heard, _ in rows:
        answers = json.loads(own_sentences or "{}")
        content.append(
            {
                "agent": agents[speaker],
                "message": redactor(text),
                "sentiment": answers.get("sentiment", ""),
                "knowledge_source": sorted(answers.get("source", [])),
                "turn_rating": _rating_label(heard),
            }
        )
    seats = sorted(range(2), key=lambda seat: agents[seat])
    rated = {agents[seat]: _rating_label(of_whole.get(str(seat))) for seat in seats}
    return {"article_url": url, "config": configuration, "content": content, "conversation_rating": rated}


def _rating_label(rating: int | None) -> str:
    return RATINGS[rating - 1] if rating else ""


def _reading_set(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    _, _, opens, url, configuration, *_ = rows[0]
    agents = _agents(opens)
    sides: dict[str, dict[str, Any]] = {agent: {} for agent in AGENTS}
    article = {"url": url}
    for *_, seat, key, heading, text, points, variant in rows:
        if key in FACTUAL:
            entry = {"entity": heading, LEADS[variant or "shortened"]: text, "fun_facts": points}
            sides[agents[seat]][key] = entry
        elif key.startswith("AS"):
            article |= ({"headline": heading} if heading else {}) | {key: text}
    return {"config": configuration, **sides, "article": article}


# One row for each judgment, the sides as the pair has them, whatever their order was for the rater.
_JUDGMENTS = f"""
SELECT pair.id, c.key, c.turns, r1.text, r2.text, i.first_system, i.second_system,
       slot.is_swapped, l.answers::text
  FROM {JUDGED}
  JOIN labels_label AS l ON l.id = slot.label_id
  JOIN labels_pair AS pair ON pair.id = l.pair_id
  JOIN studies_study AS s ON s.id = slot.study_id
  JOIN responses_response AS r1 ON r1.id = pair.first_response_id
  JOIN responses_response AS r2 ON r2.id = pair.second_response_id
  JOIN contexts_context AS c ON c.id = r1.context_id
  LEFT JOIN crowd_participation AS p
    ON p.worker_id = l.rater_id AND p.study_id = slot.study_id AND p.number = 1
 WHERE s.primary_analysis = 'all' OR p.excluded_at IS NULL
 ORDER BY pair.id, l.id
"""


def lines(study: Study) -> Generator[str]:
    """Yield a JSON object for each pair of responses that most raters decided in one way.

    Ties and “both are bad” do not count as votes; a pair with as many votes for either side is left out. The
    first question of a set decides, “better” or “quality”. Judgments outside the primary analysis and gold
    items do not count.
    """
    redactor = redactor_for(study)
    for rows in grouped_rows("preferences", _JUDGMENTS, {"study": study.pk}):
        yield from _pair(rows, redactor)


def _pair(rows: Sequence[tuple[Any, ...]], redactor: Redactor) -> Iterator[str]:
    _, key, turns, first, second, first_system, second_system, *_ = rows[0]
    votes = Counter(_choice(json.loads(answers), is_swapped=swapped) for *_, swapped, answers in rows)
    if votes[FIRST] == votes[SECOND]:
        return
    sides = [(first, first_system, votes[FIRST]), (second, second_system, votes[SECOND])]
    chosen, rejected = sorted(sides, key=lambda side: -side[2])
    value = {
        "context": key,
        "prompt": _messages([redactor(turn) for turn in turns]),
        "chosen": [{"role": "assistant", "content": redactor(chosen[0])}],
        "rejected": [{"role": "assistant", "content": redactor(rejected[0])}],
        "chosen_model": chosen[1],
        "rejected_model": rejected[1],
        "votes": {"chosen": chosen[2], "rejected": rejected[2], "tied": votes[TIED]}
        | ({"both_bad": votes[BOTH_BAD]} if votes[BOTH_BAD] else {}),
    }
    yield json.dumps(value, ensure_ascii=False) + "\n"


def _messages(turns: Sequence[str]) -> list[dict[str, str]]:
    """Turns of a context as messages; the last one is the user's."""
    return [
        {"role": "user" if (len(turns) - number) % 2 else "assistant", "content": text}
        for number, text in enumerate(turns)
    ]


def _choice(answers: dict[str, Any], *, is_swapped: bool) -> str:
    """The side of the pair that a rater chose, in the pair's own order."""
    choice = str(answers.get("better", answers.get("quality", "")))
    return {FIRST: SECOND, SECOND: FIRST}.get(choice, choice) if is_swapped else choice
