"""Reading of conversations and ratings from JSON Lines, Turnwise bundles, and neural.chat records (CSV)."""

import csv
import json
import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

from evaluation.conversation.exchanges import Conversation
from evaluation.files.reading import FileError, number
from evaluation.files.writing import original
from evaluation.questions import DeclarationError, QuestionSet
from evaluation.report.bundles.columns import answered_in
from evaluation.report.bundles.files import BundleFiles, Row
from evaluation.report.bundles.tables import CONVERSATIONS, TURNS, labels_table


@dataclass(frozen=True, slots=True)
class Recorded:
    """A conversation of a file.

    Attributes:
        line: line where it begins, from 1; in a bundle, its number among the finished conversations.
        bots: speakers that are bots; all speakers in self-play.
        turns: (speaker, text) of each turn, oldest first.
        ratings: ratings of the whole conversation, by scale.
    """

    line: int
    bots: tuple[str, ...]
    turns: Conversation
    ratings: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_self_play(self) -> bool:
        """True if only bots spoke."""
        return all(speaker in self.bots for speaker, _ in self.turns)


SELF_PLAY = "self_play"
_PERSON = "person"
_WITHOUT = ("static", "pairwise", "writing")


def read_bundle(path: Path) -> list[Recorded]:
    """Read the finished conversations of a study in which bots talk, with people or with each other.

    Raises:
        FileError: not a bundle, or a bundle without conversations; names the file in it.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(BundleFiles(path, archive))
    except zipfile.BadZipFile as error:
        raise FileError(
            f"{path}: {error}. The download may be incomplete; download the bundle again."
        ) from None


def _read(bundle: BundleFiles) -> list[Recorded]:
    about = bundle.document("study.json")
    if about.get("evaluation") in _WITHOUT:
        raise FileError(
            f"{bundle.path}: in this study people judge what others said. Give the bundle of a study in "
            f"which bots talk."
        )
    conversations = {
        row["dialogue"]: row for row in bundle.rows(CONVERSATIONS) if row["bot"] and _is_whole(row, about)
    }
    names = {bot["bot"]: bot["shown_as"] for bot in about["bots"]}
    turns: dict[str, list[tuple[str, str]]] = {key: [] for key in conversations}
    for row in bundle.rows(TURNS):
        talk = conversations.get(row["dialogue"])
        if talk and row["turn"] >= talk["opening_turns"]:
            turns[row["dialogue"]].append((names.get(row["bot"], _PERSON), row["text"]))
    ratings = _ratings(bundle, about)
    return [
        Recorded(line, tuple(names[bot] for bot in row["bot"].split()), turns[key], ratings.get(key, {}))
        for line, (key, row) in enumerate(conversations.items(), 1)
    ]


def _is_whole(conversation: Row, about: Mapping[str, Any]) -> bool:
    """True if the conversation is finished; in self-play also if a bot fell silent."""
    if about.get("evaluation") == SELF_PLAY:
        return conversation["ended_at"] is not None
    return bool(conversation["ending"] == "complete")


def _ratings(bundle: BundleFiles, about: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Mean ratings by conversation and scale, over the people who talked in it; empty for self-play."""
    if "asks" not in about or about["evaluation"] == SELF_PLAY:
        return {}
    sets = _sets(bundle)
    scales = answered_in(sets)
    by_talk: dict[str, dict[str, list[float]]] = {}
    for row in bundle.rows(labels_table(sets)):
        if row["turn"] is None and row.get("judged_in") is None:
            for key, value in _numbers(row, scales[row["question_set"]]):
                by_talk.setdefault(row["dialogue"], {}).setdefault(key, []).append(value)
    return {talk: {key: fmean(values) for key, values in of.items()} for talk, of in by_talk.items()}


def _numbers(row: Row, columns: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, question in columns.items():
        value = row[name]
        if question.has_mean and value is not None and not isinstance(value, str):
            yield question.key, float(value)


def _sets(bundle: BundleFiles) -> list[QuestionSet]:
    try:
        return [QuestionSet.from_json(declared) for declared in bundle.listed("questions.json")]
    except DeclarationError as error:
        raise FileError(f"{bundle.path}, questions.json: {error}") from None


_EXAMPLE = (
    '{"bot": "meena", "turns": [{"speaker": "you", "text": "Hi!"}, {"speaker": "meena", "text": "Hello."}], '
    '"ratings": {"quality": 5}}'
)
_RECORDS = ("Chat ID", "Chatbot ID", "Message", "Response")
_RATING = "Chat Rating "
_COMMENT = f"{_RATING}Comments"


def read_conversations(path: Path) -> list[Recorded]:
    """Read all conversations of a file: a bundle (`.zip`), neural.chat records (`.csv`), or JSON Lines.

    Raises:
        FileError: no such file, not UTF-8, an empty file, or an invalid line; names the line, the fault, and
            the cure.
    """
    try:
        if path.suffix == ".zip":
            if conversations := read_bundle(path):
                return conversations
            raise FileError(f"{path}: no conversation of this study is finished.")
        with path.open(newline="", encoding="utf-8-sig") as file:
            conversations = list(_records(path, file) if path.suffix == ".csv" else _json_lines(path, file))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}. Give the path of a file of conversations.") from None
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: byte {error.start} is not UTF-8. Save the file as UTF-8.") from None
    if not conversations:
        raise FileError(f"{path}: no conversations. A line is such as {_EXAMPLE}")
    return conversations


def read_corpus(path: Path) -> Iterator[Sequence[str]]:
    """Read the turns of each conversation of a training corpus; speakers are optional.

    Raises:
        FileError: as in `read_conversations`.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            for line, document in _documents(path, file):
                turns = document.get("turns")
                if not isinstance(turns, list):
                    raise FileError(f"{path}, line {line}: there is no list “turns”.")
                yield [_text(path, line, turn) for turn in turns]
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}. Give the path of a corpus as JSON Lines.") from None
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: byte {error.start} is not UTF-8. Save the file as UTF-8.") from None


# --- JSON Lines ----------------------------------------------------------------------------------------


def _json_lines(path: Path, file: Iterator[str]) -> Iterator[Recorded]:
    for line, document in _documents(path, file):
        bots = document.get("bots", [document["bot"]] if "bot" in document else None)
        if not isinstance(bots, list) or not bots or not all(isinstance(bot, str) and bot for bot in bots):
            raise FileError(
                f'{path}, line {line}: it says in neither “bot” nor “bots” who is a bot. Write "bot" with '
                f'the name of the one that people talk with, or "bots" with a list where bots talk with each '
                f"other."
            )
        turns = document.get("turns")
        if not isinstance(turns, list):
            raise FileError(f"{path}, line {line}: there is no list “turns”. A line is such as {_EXAMPLE}")
        texts = [(_speaker(path, line, turn, bots), _text(path, line, turn)) for turn in turns]
        opening = document.get("opening_turns", 0)
        if type(opening) is not int or opening < 0:
            raise FileError(f"{path}, line {line}: opening_turns is {opening!r}, and should be 0 or more.")
        yield Recorded(
            line, tuple(bots), texts[opening:], _file_ratings(path, line, document.get("ratings", {}))
        )


def _documents(path: Path, file: Iterator[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number_, text in enumerate(file, 1):
        if not text.strip():
            continue
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise FileError(f"{path}, line {number_}: no JSON ({error}).") from None
        if not isinstance(document, dict):
            raise FileError(f"{path}, line {number_}: not a JSON object. A line is such as {_EXAMPLE}")
        yield number_, document


def _text(path: Path, line: int, turn: object) -> str:
    text = turn.get("text") if isinstance(turn, dict) else turn
    if not isinstance(text, str):
        raise FileError(f"{path}, line {line}: a turn is {json.dumps(turn)[:80]} and has no text.")
    return text


def _speaker(path: Path, line: int, turn: object, bots: Sequence[str]) -> str:
    speaker = turn.get("speaker") if isinstance(turn, dict) else None
    if not isinstance(speaker, str):
        raise FileError(f"{path}, line {line}: a turn is {json.dumps(turn)[:80]} and has no speaker.")
    if speaker in bots:
        return speaker
    # If a bot talks with itself, the export numbers the two sides.
    return next((bot for bot in bots if speaker in (f"{bot} (1)", f"{bot} (2)")), speaker)


def _file_ratings(path: Path, line: int, ratings: object) -> dict[str, float]:
    if not isinstance(ratings, dict):
        raise FileError(
            f"{path}, line {line}: ratings is {json.dumps(ratings)[:80]}, and should be an object."
        )
    for scale, value in ratings.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise FileError(f"{path}, line {line}: the rating “{scale}” is {value!r}, which is not a number.")
    return {scale: float(value) for scale, value in ratings.items()}


# --- records of neural.chat ----------------------------------------------------------------------------


def _records(path: Path, file: Iterator[str]) -> Iterator[Recorded]:
    reader = csv.reader(file, strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        lacking = [name for name in _RECORDS if name not in header]
        if lacking:
            layout = (
                "This is the download of ratings, which has no turns: take the download of chat records."
                if "Chat Length" in header
                else f"neural.chat has {', '.join(_RECORDS)}; other files are JSON Lines (.jsonl)."
            )
            raise FileError(f"{path}, line 1: there is no column {lacking[0]}. {layout}")
        rows = (
            (reader.line_num, dict(zip(header, map(original, row), strict=False)))
            for row in reader
            if any(row)
        )
        for _, same in groupby(rows, key=lambda row: row[1].get("Chat ID", "")):
            yield _recorded(path, list(same))
    except csv.Error as error:
        raise FileError(f"{path}, line {reader.line_num}: {error}.") from None


def _recorded(path: Path, rows: Sequence[tuple[int, dict[str, str]]]) -> Recorded:
    line, first = rows[0]
    if any(name not in row for _, row in rows for name in _RECORDS):
        raise FileError(f"{path}, line {line}: the row has fewer cells than the header has columns.")
    bot = first["Chatbot ID"]
    turns = [turn for _, row in rows for turn in (("user", row["Message"]), (bot, row["Response"]))]
    # A chat may begin with the bot and end with the user.
    turns = turns[not turns[0][1] : len(turns) - (not turns[-1][1])]
    ratings = {}
    for name, value in first.items():
        if name.startswith(_RATING) and value and name != _COMMENT:
            scale = name.removeprefix(_RATING).casefold()
            try:
                ratings[scale] = number(value)
            except ValueError as error:
                raise FileError(f"{path}, line {line}, column {name}: {error}") from None
    return Recorded(line, (bot,), turns, ratings)
