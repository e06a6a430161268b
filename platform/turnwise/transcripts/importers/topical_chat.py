"""Files of Topical-Chat (github.com/alexa/Topical-Chat, README.md): conversations, and perhaps reading sets.

{"t_1": {"article_url": …, "config": "A", "content": [{"agent": "agent_1", "message": "Hi!", …}, …],
         "conversation_rating": {"agent_1": "Good", "agent_2": "Excellent"}}, …}
{"t_1": {"config": "A", "agent_1": {"FS1": {…}, …}, "agent_2": {…}, "article": {…}}, …}

The second object, the reading sets after their build, follows the first. A reading set holds what the two
speakers of a conversation had to read.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

from turnwise.transcripts.importers.formats import (
    Conversation,
    Given,
    Problem,
    Read,
    Source,
    UnreadableError,
    Utterance,
    importer,
)
from turnwise.transcripts.importers.json_lines import conversation, members, parse_utterance

FACTUAL = ("FS1", "FS2", "FS3")
ARTICLE = ("AS1", "AS2", "AS3", "AS4")
LEADS = {"shortened": "shortened_wiki_lead_section", "summarized": "summarized_wiki_lead_section"}
"""By the variant here, the name in the files."""
NO_ARTICLE = "C"
"""The configuration in which nobody is shown the article."""

_LONGEST = 20_000
_LONGEST_HEADING = 300


class ReadingSetError(ValueError):
    """A reading set that cannot be stored; the message names the part and the reason."""


def texts_of(reading_set: Mapping[str, Any], agent: str) -> list[Read]:
    """The sections that this agent was shown, in order.

    Raises:
        ReadingSetError: a section is no such thing.
    """
    found = [*_factual(agent, reading_set.get(agent)), *_of_article(reading_set)]
    if not found:
        raise ReadingSetError(f"{agent} has nothing to read.")
    return found


def _factual(agent: str, sections: object) -> Iterator[Read]:
    if not isinstance(sections, dict):
        raise ReadingSetError(f"{agent} is not an object of factual sections.")
    if strange := sections.keys() - set(FACTUAL):
        raise ReadingSetError(f"{agent} has “{min(strange)[:40]}”. Its sections are {', '.join(FACTUAL)}.")
    for key in FACTUAL:
        if key not in sections:
            continue
        where, section = f"{agent}, {key}", sections[key]
        if not isinstance(section, dict):
            raise ReadingSetError(f"{where} is not an object.")
        variants = [variant for variant, name in LEADS.items() if name in section]
        if len(variants) != 1:
            raise ReadingSetError(
                f"{where} has {len(variants)} leads. Give one of {', '.join(LEADS.values())}."
            )
        lead = _text(f"{where}, lead", section[LEADS[variants[0]]])
        facts = section.get("fun_facts", [])
        if not isinstance(facts, list):
            raise ReadingSetError(f"{where}, fun_facts is not a list.")
        points = [_text(f"{where}, fact {number}", fact) for number, fact in enumerate(facts, start=1)]
        entity = _text(f"{where}, entity", section.get("entity"), longest=_LONGEST_HEADING)
        yield Read(key, f"Factual Section {key[-1]}", entity, lead, points, variants[0])


def _of_article(reading_set: Mapping[str, Any]) -> Iterator[Read]:
    """The sections of the article; its headline stands over the first."""
    article = reading_set.get("article") or {}
    if not isinstance(article, dict):
        raise ReadingSetError("article is not an object.")
    shown: Sequence[str] = [] if reading_set.get("config") == NO_ARTICLE else ARTICLE
    for key in shown:
        if key in article:
            headline = article.get("headline", "") if key == ARTICLE[0] else ""
            heading = headline and _text("headline", headline, longest=_LONGEST_HEADING)
            yield Read(key, f"Article Section {key[-1]}", heading, _text(key, article[key]))


def _text(where: str, value: object, longest: int = _LONGEST) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ReadingSetError(
            f"{where} is not text. Give the reading sets after their build, which puts texts in for numbers."
        )
    if len(value) > longest:
        raise ReadingSetError(f"{where} has {len(value)} characters; {longest} can be stored.")
    if "\x00" in value or value != value.encode(errors="ignore").decode():
        raise ReadingSetError(f"{where} has characters that no text can have (null, or half a character).")
    return value


AGENTS = ("agent_1", "agent_2")
CONFIGURATIONS = ("A", "B", "C", "D")
OWN, HEARD, WHOLE = "topical-chat-own", "topical-chat-partner", "topical-chat-conversation"
"""The question sets here that ask the same."""
OPENS = "opens"
"""Among a conversation's details, the agent who speaks first."""

_MOST_NAMED = 10


class _WrongError(Exception):
    """The reason why a conversation is not imported."""


def _looks_like(head: str) -> bool:
    return bool(re.match(r'\{\s*"[^"]{1,200}"\s*:\s*\{\s*"(article_url|config|content)"', head))


@importer(
    "topical-chat",
    title="Topical-Chat: conversations, perhaps with reading sets (JSON)",
    looks_like=_looks_like,
)
def read(source: Source) -> Iterator[Conversation | Problem]:
    """Read conversations with the speakers' reading material and their judgments of each other."""
    text = source.text()
    sets: dict[str, tuple[int, Any]] = {}
    with suppress(UnreadableError):  # told where the conversations are read
        sets = {id_: (line, value) for line, id_, value in members(text) if _is_reading_set(value)}
    seen = set()
    for line, id_, value in members(text):
        if not _is_reading_set(value):
            seen.add(id_)
            yield from _conversation(id_, line, value, sets)
    for id_, (line, _) in sets.items():
        if id_ not in seen:
            yield Problem(line, f"The reading set “{id_[:60]}” is of no conversation in these files.")


def _is_reading_set(value: object) -> bool:
    return isinstance(value, dict) and "content" not in value and bool({*AGENTS, "article"} & value.keys())


def _conversation(
    id_: str, line: int, value: Any, sets: Mapping[str, tuple[int, Any]]
) -> Iterator[Conversation | Problem]:
    """Yield each problem of a conversation, then the conversation; or the one problem that excludes it."""
    content = value.get("content") if isinstance(value, dict) else None
    if not isinstance(content, list):
        yield Problem(line, f"“{id_[:60]}” has no list “content”.")
        return
    try:
        texts = _read_by(id_, value, sets)
        turns = [_turn(number, each, line) for number, each in enumerate(content, start=1)]
        found = conversation(id_[:200], line, turns)
        if isinstance(found, Conversation):
            details, ratings = _details(value, content), _ratings(value)
            found = replace(found, details=details, by_speaker=ratings, read=texts)
    except ReadingSetError as error:
        found = Problem(sets[id_][0], f"Reading set “{id_[:60]}”: {error}")
    except _WrongError as error:
        found = Problem(line, f"“{id_[:60]}”, {error}")
    if isinstance(found, Conversation):
        yield from (Problem(line, f"“{id_[:60]}”, {what}") for what in _missing(content, texts))
    yield found


def _read_by(
    id_: str, value: Mapping[str, Any], sets: Mapping[str, tuple[int, Any]]
) -> dict[str, list[Read]]:
    if not sets:
        return {}
    if id_ not in sets:
        raise _WrongError("no reading set is of it. Give the file that has it, or none.")
    of = sets[id_][1]
    if of.get("config") != value.get("config"):
        raise ReadingSetError(
            f"its configuration is {_short(of.get('config'))}, and its conversation's is "
            f"{_short(value.get('config'))}."
        )
    return {agent: texts_of(of, agent) for agent in AGENTS}


def _turn(number: int, value: object, line: int) -> Utterance | Problem:
    found = parse_utterance(value, speaker="agent", text="message", line=line)
    if isinstance(found, Problem) or not isinstance(value, dict):
        return found
    if found.speaker not in AGENTS:
        raise _WrongError(f"turn {number}: agent is {_short(found.speaker)}. Write agent_1 or agent_2.")
    # The text as it stands, spaces at its ends included: what is exported again is what came in.
    return Utterance(
        found.speaker,
        value["message"],
        line,
        own=_labels_by_speaker(number, value),
        heard=_labels_by_partner(number, value),
    )


def _labels_by_speaker(number: int, value: Mapping[str, Any]) -> Given:
    from evaluation.questions.sets.topical_chat import SENTIMENTS, SOURCES  # takes longer than reading a file

    sentiment, sources = value.get("sentiment"), value.get("knowledge_source", [])
    if sentiment is not None and sentiment not in SENTIMENTS:
        raise _WrongError(f"turn {number}: sentiment is {_short(sentiment)}. Write {_one_of(SENTIMENTS)}.")
    if not isinstance(sources, list):
        raise _WrongError(f"turn {number}: knowledge_source is not a list.")
    if unknown := [each for each in sources if each not in list(SOURCES)]:
        raise _WrongError(f"turn {number}: {_short(unknown[0])} is not a section. Write {_one_of(SOURCES)}.")
    answers: dict[str, Any] = {} if sentiment is None else {"sentiment": sentiment}
    if sources:
        answers["source"] = [each for each in SOURCES if each in sources]
    return {OWN: answers} if answers else {}


def _labels_by_partner(number: int, value: Mapping[str, Any]) -> Given:
    rating = _rating(f"turn {number}: turn_rating", value.get("turn_rating"))
    return {HEARD: {"quality": rating}} if rating else {}


def _ratings(value: Mapping[str, Any]) -> dict[str, Given]:
    ratings = value.get("conversation_rating") or {}
    if not isinstance(ratings, dict):
        raise _WrongError("conversation_rating is not an object by agent.")
    if strange := ratings.keys() - set(AGENTS):
        raise _WrongError(f"conversation_rating names {_short(min(strange))}. Write agent_1 or agent_2.")
    found = {agent: _rating(f"conversation_rating of {agent}", each) for agent, each in ratings.items()}
    return {agent: {WHOLE: {"quality": rating}} for agent, rating in found.items() if rating}


def _rating(where: str, value: object) -> int:
    """Parse a rating from 1 to 5; 0 if there is none."""
    from evaluation.questions.sets.topical_chat import RATINGS

    if value is None or value == "":
        return 0
    if value not in RATINGS:
        raise _WrongError(f"{where} is {_short(value)}. Write {_one_of(RATINGS)}, or nothing.")
    return RATINGS.index(str(value)) + 1


def _missing(content: list[Any], texts: Mapping[str, list[Read]]) -> Iterator[str]:
    """Describe annotations that are lost or unusual, and how they are handled."""
    for number, (before, turn) in enumerate(pairwise(content), start=2):
        if before["agent"] == turn["agent"] and {"sentiment", "turn_rating"} & turn.keys():
            yield (
                f"turn {number}: {turn['agent']} speaks again, so it is joined to turn {number - 1}. Of both "
                "the sources are kept, and the first sentiment and rating."
            )
    shown = {agent: {text.key for text in of} for agent, of in texts.items() if of}
    for number, turn in enumerate(content, start=1):
        sources = turn.get("knowledge_source")
        if sources == []:
            yield f"turn {number}: no source is named."
        own_texts = shown.get(turn["agent"])
        hidden = [
            each for each in sources or () if own_texts and each not in own_texts and each[:2] in ("FS", "AS")
        ]
        if hidden:
            yield f"turn {number}: {turn['agent']} names {', '.join(hidden)}, which they were not shown."
    for agent in AGENTS:
        unrated = [
            number
            for number, turn in enumerate(content, start=1)
            if turn["agent"] != agent and turn.get("turn_rating") == ""
        ]
        if unrated:
            named = ", ".join(map(str, unrated[:_MOST_NAMED])) + (" …" if unrated[_MOST_NAMED:] else "")
            turns = "1 turn" if len(unrated) == 1 else f"{len(unrated)} turns"
            yield f"{agent} did not rate {turns} of the other: {named}."


def _details(value: Mapping[str, Any], content: list[Any]) -> dict[str, str]:
    configuration = value.get("config")
    if configuration is not None and configuration not in CONFIGURATIONS:
        raise _WrongError(f"config is {_short(configuration)}. Write {_one_of(CONFIGURATIONS)}.")
    fields = {key: str(value[key])[:500] for key in ("article_url", "config") if key in value}
    opens = content[0]["agent"] if content else AGENTS[0]
    return fields if opens == AGENTS[0] else fields | {OPENS: opens}


def _one_of(values: Any) -> str:
    *others, last = values
    return f"{', '.join(others)} or {last}"


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"
