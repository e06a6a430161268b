"""Read JSON Lines into message trees, one at a time.

A line is a message (`id`, `parent`, `author`, `text`) or a whole conversation (`turns`: texts, or objects
with `text`). `"context": true` marks messages that are answered but never learnt as responses, such as a
person's lines in a conversation with a bot. Messages may come in any order: they wait in a temporary database
on disk, so memory does not grow with the file.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TextIO

LINES_SHOWN = 20


class Message(NamedTuple):
    """One node of a tree.

    Attributes:
        text: text of the message.
        author: its writer; empty if unknown.
        parent: index in the tree of the message it answers; -1 at the root.
        context_only: True if it must not be learnt as a response.
    """

    text: str
    author: str
    parent: int
    context_only: bool = False


class Tree(NamedTuple):
    """A root and all its answers, every parent before its children.

    Attributes:
        key: identifies the tree in its file.
        messages: the nodes.
    """

    key: str
    messages: list[Message]


@dataclass
class ReadingReport:
    """Problems of the input.

    Attributes:
        lines: number of lines read, without blank ones.
        malformed: lines that are neither a message nor a conversation.
        malformed_lines: file, number and reason of the first few.
        problems: orphans (kept, as roots), messages in cycles (dropped), repeated ids (the first is kept).
    """

    lines: int = 0
    malformed: int = 0
    malformed_lines: list[str] = field(default_factory=list)
    problems: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("orphan", "in a cycle", "repeated id"), 0)
    )

    def note_malformed(self, path: Path, number: int, reason: str) -> None:
        """Count a malformed line, and remember the first few."""
        self.malformed += 1
        if len(self.malformed_lines) < LINES_SHOWN:
            self.malformed_lines.append(f"{path.name}, line {number}: {reason}")


def read_trees(path: Path, report: ReadingReport) -> Iterator[Tree]:
    """Read all trees of a file: conversations as they come, then trees of messages.

    Args:
        path: JSON Lines, compressed if the name ends in .gz.
        report: filled while reading.
    """
    with closing(sqlite3.connect("")) as waiting:  # a temporary database on disk
        waiting.execute(
            "CREATE TABLE message (id TEXT PRIMARY KEY, parent TEXT, author TEXT, text TEXT, context INTEGER)"
        )
        for number, record in _records(path, report):
            try:
                if "turns" in record:
                    yield _conversation(record, number)
                else:
                    _store(waiting, record, report)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                report.note_malformed(path, number, f"{type(error).__name__}: {error}")
        yield from _trees_of_messages(waiting, report)


def open_text(path: Path) -> TextIO:
    """Open a text file, compressed if the name ends in .gz, perhaps with a byte order mark.

    Invalid UTF-8 becomes replacement marks.
    """
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", errors="replace")
    return path.open(encoding="utf-8-sig", errors="replace")


def _lines(path: Path, report: ReadingReport) -> Iterator[tuple[int, str]]:
    """Yield numbered lines; a compressed file that breaks off has one malformed line there."""
    number = 0
    with open_text(path) as lines:
        try:
            for number, line in enumerate(lines, start=1):
                yield number, line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            report.lines += 1
            report.note_malformed(path, number + 1, f"the file cannot be unpacked from here on: {error}")


def _records(path: Path, report: ReadingReport) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _lines(path, report):
        if not line.strip():
            continue
        report.lines += 1
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            report.note_malformed(path, number, f"no JSON: {error}")
            continue
        if isinstance(record, dict):
            yield number, record
        else:
            report.note_malformed(path, number, f"a {type(record).__name__} instead of an object")


def _conversation(record: dict[str, Any], number: int) -> Tree:
    author, texts = record.get("author"), record["turns"]
    if not isinstance(texts, list):
        raise TypeError(f"turns is a {type(texts).__name__}, not a list")
    turns = [turn if isinstance(turn, dict) else {"text": turn} for turn in texts]
    messages = [
        Message(_text(turn), _author(turn, author), position - 1, _context_only(turn))
        for position, turn in enumerate(turns)
    ]
    return Tree(_storable(record.get("id", number)), messages)


def _author(turn: dict[str, Any], otherwise: object) -> str:
    return _storable(turn.get("author") or turn.get("speaker") or otherwise)


def _context_only(record: dict[str, Any]) -> bool:
    value = record.get("context", False)
    if not isinstance(value, bool):
        raise TypeError(f"context is {value!r:.40}, neither true nor false")
    return value


def _text(record: dict[str, Any]) -> str:
    text = record["text"]
    if not isinstance(text, str):
        raise TypeError(f"text is a {type(text).__name__}, not a string")
    return _storable(text).strip()


def _storable(value: object) -> str:
    """Check the text of an author, an id or a message.

    Raises:
        UnicodeEncodeError: the text has half a surrogate pair, which no file can hold.
    """
    text = "" if value is None else str(value)
    text.encode()
    return text


def _store(waiting: sqlite3.Connection, record: dict[str, Any], report: ReadingReport) -> None:
    parent = record.get("parent")
    row = (_storable(record["id"]), _storable(parent) or None, _storable(record.get("author")))
    content = (_text(record), _context_only(record))
    stored = waiting.execute("INSERT OR IGNORE INTO message VALUES (?, ?, ?, ?, ?)", (*row, *content))
    report.problems["repeated id"] += 1 - stored.rowcount


def _trees_of_messages(waiting: sqlite3.Connection, report: ReadingReport) -> Iterator[Tree]:
    waiting.execute("CREATE INDEX by_parent ON message (parent)")
    (total,) = waiting.execute("SELECT count(*) FROM message").fetchone()
    orphan = "parent NOT IN (SELECT id FROM message)"
    (orphans,) = waiting.execute(f"SELECT count(*) FROM message WHERE {orphan}").fetchone()
    report.problems["orphan"] += orphans
    for identity, author, text, context in waiting.execute(
        f"SELECT id, author, text, context FROM message WHERE parent IS NULL OR {orphan}"
    ):
        tree = Tree(identity, _descend(waiting, identity, Message(text, author, -1, bool(context))))
        total -= len(tree.messages)
        yield tree
    # Messages that no root leads to belong to a cycle.
    report.problems["in a cycle"] += total


def _descend(waiting: sqlite3.Connection, root: str, message: Message) -> list[Message]:
    identities, messages = [root], [message]
    for index, identity in enumerate(identities):  # grows during the loop: breadth first
        answers = waiting.execute(
            "SELECT id, author, text, context FROM message WHERE parent = ?", (identity,)
        )
        for child, author, text, context in answers:
            identities.append(child)
            messages.append(Message(text, author, index, bool(context)))
    return messages
