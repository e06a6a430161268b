"""Conversations with each side's reading material, from Topical-Chat's two files or JSON Lines.

Also counts the size of a collection, as in the paper's table 2.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

CONFIGURATIONS = ("A", "B", "C", "D")
AGENTS = ("agent_1", "agent_2")
FACTUAL = ("FS1", "FS2", "FS3")
ARTICLE = ("AS1", "AS2", "AS3", "AS4")
LEADS = ("shortened_wiki_lead_section", "summarized_wiki_lead_section")
NO_ARTICLE = "C"
"""The configuration in which neither side sees the article."""


class ConversationsError(ValueError):
    """A file that cannot be used; the message says where, why and what to do."""


@dataclass(frozen=True, slots=True)
class ReadingSet:
    """The reading material of both sides of a conversation.

    Attributes:
        entities: its three topics.
        texts: leads, facts and sections of the article that each side sees, by agent.
    """

    entities: tuple[str, ...]
    texts: Mapping[str, tuple[str, ...]]


NOTHING = ReadingSet((), {})


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation, with the material that its speakers had read.

    Attributes:
        key: its name in the file.
        configuration: A to D; empty if unknown.
        turns: agent and text, oldest first.
        reading: the speakers' material.
    """

    key: str
    configuration: str
    turns: tuple[tuple[str, str], ...]
    reading: ReadingSet = field(default=NOTHING)


def read_reading_sets(paths: Sequence[Path]) -> dict[str, ReadingSet]:
    """Read the reading sets of some files, by conversation.

    Raises:
        ConversationsError: a file or a reading set cannot be read; the message names both.
    """
    sets: dict[str, ReadingSet] = {}
    for path in paths:
        for key, document in _documents(path):
            try:
                sets[key] = _reading_set(document)
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                raise ConversationsError(
                    f"{path}, reading set {key}: {_error_text(error)}. It should be as Topical-Chat "
                    "publishes it, after its build."
                ) from None
    return sets


def _reading_set(document: Mapping[str, Any]) -> ReadingSet:
    article = document.get("article") or {}
    visible = (
        [] if document["config"] == NO_ARTICLE else [article[name] for name in ARTICLE if name in article]
    )
    texts: dict[str, tuple[str, ...]] = {}
    for agent in AGENTS:
        of_agent: list[str] = []
        for section in (document[agent][name] for name in FACTUAL if name in document[agent]):
            of_agent += [section[lead] for lead in LEADS if lead in section]
            of_agent += section.get("fun_facts", [])
        texts[agent] = (*of_agent, *visible)
        for text in texts[agent]:
            if not isinstance(text, str):
                raise TypeError(f"{json.dumps(text)[:80]} is not text")
    first = document[AGENTS[0]]
    return ReadingSet(tuple(first[name]["entity"] for name in FACTUAL if name in first), texts)


def read_conversations(path: Path, reading_sets: Mapping[str, ReadingSet]) -> list[Conversation]:
    """Read the conversations of a file.

    Args:
        path: JSON as Topical-Chat publishes it, or JSON Lines (`.jsonl`) with a list of turns in each line;
            perhaps .gz.
        reading_sets: by conversation; if there are any, each conversation needs one.

    Raises:
        ConversationsError: the file is empty, or it or a conversation cannot be read; the message names it.
    """
    conversations = []
    lines = ".jsonl" in path.suffixes
    for key, document in _lines(path) if lines else _documents(path):
        try:
            conversation = _of_line(key, document) if lines else _of_topical_chat(key, document)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ConversationsError(
                f"{path}, conversation {key}: {_error_text(error)}. Fix or leave it out."
            ) from None
        if reading_sets:
            if key not in reading_sets:
                raise ConversationsError(
                    f"{path}, conversation {key}: no reading set is of it. Name the file that has it with "
                    "--reading-sets."
                )
            conversation = Conversation(
                key, conversation.configuration, conversation.turns, reading_sets[key]
            )
        conversations.append(conversation)
    if not conversations:
        raise ConversationsError(f"{path}: no conversations. Name a file of Topical-Chat's conversations.")
    return conversations


def read_documents(path: Path) -> dict[str, Any]:
    """Read the unchanged conversations of a file of Topical-Chat, by their ids.

    Raises:
        ConversationsError: the file cannot be read.
    """
    return dict(_documents(path))


def _of_topical_chat(key: str, document: Mapping[str, Any]) -> Conversation:
    configuration = document["config"]
    if configuration not in CONFIGURATIONS:
        raise ValueError(f"config = {configuration!r} is none of {', '.join(CONFIGURATIONS)}")
    turns = tuple((turn["agent"], _text(turn["message"])) for turn in document["content"])
    if strange := {agent for agent, _ in turns} - set(AGENTS):
        raise ValueError(f"agent = {sorted(strange)[0]!r} is none of {', '.join(AGENTS)}")
    return Conversation(key, configuration, turns)


def _of_line(key: str, document: Mapping[str, Any]) -> Conversation:
    turns = document["turns"]
    if not isinstance(turns, list):
        raise TypeError("turns is not a list")
    texts = [turn["text"] if isinstance(turn, dict) else turn for turn in turns]
    return Conversation(key, "", tuple((AGENTS[i % 2], _text(text)) for i, text in enumerate(texts)))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{json.dumps(value)[:80]} is not text")
    return value


def _error_text(error: Exception) -> str:
    return f"there is no {error}" if isinstance(error, KeyError) else str(error)


def _opened(path: Path) -> str:
    try:
        content = path.read_bytes()
        return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ConversationsError(f"{path} cannot be read: {error}. Name a file of JSON in UTF-8.") from None


def _documents(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        document = json.loads(_opened(path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, ConversationsError):
            raise
        raise ConversationsError(f"{path} is not JSON: {error}. Fetch it again.") from None
    if not isinstance(document, dict):
        raise ConversationsError(
            f"{path} is not a JSON object of conversations by their ids. Name another file."
        )
    yield from document.items()


def _lines(path: Path) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(_opened(path).splitlines(), 1):
        if line.strip():
            try:
                document = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ConversationsError(f"{path}, line {number} is not JSON: {error}. Fix it.") from None
            yield f"in line {number}", document


ALL = "all"


@dataclass(frozen=True, slots=True)
class Counts:
    """The size of some conversations; words are separated by blanks.

    Attributes:
        conversations: their number.
        utterances: in all conversations.
        words: in all utterances.
    """

    conversations: int
    utterances: int
    words: int

    @property
    def turns(self) -> float:
        """Utterances per conversation, 0 without conversations."""
        return self.utterances / self.conversations if self.conversations else 0.0

    @property
    def length(self) -> float:
        """Words per utterance, 0 without utterances."""
        return self.words / self.utterances if self.utterances else 0.0

    def to_dict(self) -> dict[str, float]:
        """All figures, for JSON."""
        return asdict(self) | {"turns": self.turns, "length": self.length}


def counts(conversations: Sequence[Conversation]) -> Counts:
    """Count some conversations."""
    texts = [text for each in conversations for _, text in each.turns]
    return Counts(len(conversations), len(texts), sum(len(text.split()) for text in texts))


def by_configuration(parts: Mapping[str, Sequence[Conversation]]) -> dict[str, dict[str, Counts]]:
    """Count each part by configuration, and in total, as in table 2."""
    names = sorted({each.configuration for of in parts.values() for each in of})
    return {
        part: {
            **{name: counts([each for each in of if each.configuration == name]) for name in names},
            ALL: counts(of),
        }
        for part, of in parts.items()
    }
