"""Chat records of neural.chat's admin pages, as CSV (github.com/asmadotgh/neural_chat_web, dialog/admin.py).

The records have a row for each exchange: message, response, the vote on the response, and on each row the
ratings of the whole chat. The platform's other CSV has the ratings alone, a row for each chat, and names the
chats that the records have.
"""

import csv
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby

from evaluation.files.writing import original
from turnwise.transcripts.importers.formats import (
    Conversation,
    Given,
    Problem,
    Rated,
    Source,
    UnreadableError,
    Utterance,
    importer,
)

RECORD_COLUMNS = (
    "ID", "Chat ID", "Datetime", "Chatbot ID", "Message", "Response", "Bot Input", "Study Key",
    "User Session Key", "Response Rating", "Chat Rating Quality", "Chat Rating Fluency",
    "Chat Rating Coherency", "Chat Rating Diversity", "Chat Rating Contingency", "Chat Rating Empathy",
    "Chat Rating Comments",
)  # fmt: skip
RATING_COLUMNS = (
    "ID", "Chat ID", "Datetime", "Chatbot ID", "User Session Key", "Quality", "Coherency", "Fluency",
    "Diversity", "Contingency", "Empathy", "Comments", "Chat Length", "MTurk Code", "MTurk User ID",
    "Study Key",
)  # fmt: skip
RATINGS, VOTES = "likert", "votes"
"""The question sets here that ask the same."""
SCALES = {
    "Quality": "quality",
    "Fluency": "fluency",
    "Diversity": "diversity",
    "Contingency": "relatedness",
    "Empathy": "empathy",
}
"""By name in the files, the question here."""
COHERENCY = "rating coherency"
"""A sixth scale, which the platform gave up: kept as a detail."""

_PERSON = "User"
_NEEDED = ("Chat ID", "Chatbot ID", "Message", "Response")
_NEEDED_OF_RATINGS = ("Chat ID", *SCALES)
_TURNS = {"Message", "Response"}
_RATING = "Chat Rating "
_VOTED = {"": None, "0": None, "1": 1, "-1": -1}
_LONGEST_DETAIL = 500

Row = tuple[int, dict[str, str]]


class _WrongError(Exception):
    """A row that cannot be stored."""

    def __init__(self, line: int, what: str) -> None:
        self.problem = Problem(line, what)
        super().__init__(what)


def _columns(head: str) -> set[str]:
    try:
        columns = next(csv.reader([head.split("\n", 1)[0]]), [])
    except csv.Error:  # not even a line of text, such as a packed file
        return set()
    return {column.strip() for column in columns}


def _looks_like(head: str) -> bool:
    return {"Chat ID", "Chatbot ID"} <= (columns := _columns(head)) and not _are_ratings(columns)


def _looks_like_ratings(head: str) -> bool:
    return _are_ratings(_columns(head))


def _are_ratings(columns: Collection[str]) -> bool:
    return {*_NEEDED_OF_RATINGS} <= {*columns} and not _TURNS & {*columns}


@importer("neural-chat", title="neural.chat records (CSV)", looks_like=_looks_like)
def read(source: Source) -> Iterator[Conversation | Problem]:
    """Rows with the same chat id that follow each other are a conversation: the user, then the bot."""
    rows = _rows(source, RECORD_COLUMNS, _check_records)
    for chat, group in groupby(rows, key=lambda row: row[1].get("Chat ID", "")):
        try:
            yield _conversation(chat, list(group))
        except _WrongError as error:
            yield error.problem


@importer("neural-chat-ratings", title="neural.chat ratings (CSV)", looks_like=_looks_like_ratings)
def read_ratings(source: Source) -> Iterator[Rated | Problem]:
    """Yield the ratings of each row; rows without a rating are skipped."""
    for line, row in _rows(source, RATING_COLUMNS, _check_ratings):
        try:
            if not row["Chat ID"]:
                raise _WrongError(line, "This row has no chat id.")
            given, details = _ratings_of_row(line, row, ""), _details(row["Coherency"])
        except _WrongError as error:
            yield error.problem
        else:
            if given:
                yield Rated(row["Chat ID"][:200], line, row["User Session Key"], given, details)


def _conversation(chat: str, rows: Sequence[Row]) -> Conversation:
    line, first = rows[0]
    if not chat:
        raise _WrongError(line, "This row has no chat id.")
    return Conversation(
        chat[:200],
        line,
        tuple(_turns(rows)),
        _details(first[f"{_RATING}Coherency"]),
        first["User Session Key"],
        _ratings(rows),
    )


def _details(coherency: str) -> dict[str, str]:
    return {COHERENCY: coherency[:_LONGEST_DETAIL]} if coherency else {}


def _turns(rows: Sequence[Row]) -> Iterator[Utterance]:
    """A chat may begin with the bot and end with the user: then one half of a row is empty."""
    for number, (line, row) in enumerate(rows):
        at = _time(line, row["Datetime"])
        if row["Message"] or number:
            yield Utterance(_PERSON, row["Message"].strip(), line, at)
        if row["Response"] or number < len(rows) - 1 or not number:
            yield Utterance(row["Chatbot ID"], row["Response"].strip(), line, at, _vote(line, row))


def _vote(line: int, row: dict[str, str]) -> Given:
    text = row["Response Rating"].strip()
    if text not in _VOTED:
        raise _WrongError(line, f"Response Rating is “{text[:40]}”. Write 1, -1, or 0 for no vote.")
    vote = _VOTED[text]
    return {} if vote is None else {VOTES: {"vote": vote}}


def _ratings(rows: Sequence[Row]) -> Given:
    """The five ratings and the comment, which each row of the chat repeats."""
    line, first = rows[0]
    for repeated_line, row in rows[1:]:
        other = next((name for name in row if name.startswith(_RATING) and row[name] != first[name]), "")
        if other:
            raise _WrongError(
                repeated_line,
                f"{other} is “{row[other][:40]}”, and “{first[other][:40]}” on line {line}. All rows of a "
                f"chat have the same ratings.",
            )
    return _ratings_of_row(line, first, _RATING)


def _ratings_of_row(line: int, row: dict[str, str], before: str) -> Given:
    """Answers of a row whose columns have this prefix before the name of each scale."""
    given = {name: row[before + name].strip() for name in SCALES}
    if not any(given.values()):
        return {}
    from evaluation.questions import LIKERT, AnswersError  # takes longer than reading a file

    answers: dict[str, object] = {
        key: _rating(line, before + name, given[name]) for name, key in SCALES.items()
    }
    if comment := row[f"{before}Comments"].strip():
        answers["comment"] = comment
    try:
        return {RATINGS: LIKERT.check(answers)}
    except AnswersError as error:
        raise _WrongError(line, f"{before}Comments: {error.message}") from error


def _rating(line: int, column: str, said: str) -> int:
    if said not in {str(number) for number in range(1, 8)}:
        is_empty = "is empty, and other ratings of the chat are not" if not said else f"is “{said[:40]}”"
        raise _WrongError(line, f"{column} {is_empty}. Write a number from 1 to 7.")
    return int(said)


def _time(line: int, said: str) -> str:
    """Parse a time; without an offset it is in UTC, as the platform writes it."""
    if not said.strip():
        return ""
    try:
        at = datetime.fromisoformat(said.strip())
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()
    except ValueError:
        raise _WrongError(
            line, f"Datetime is “{said[:40]}”. Write it as 2019-05-01T12:00:00+00:00, or leave it empty."
        ) from None


def _rows(source: Source, known: Sequence[str], check: Callable[[list[str]], None]) -> Iterator[Row]:
    """Yield each row by column, with its first line number; missing columns are empty."""
    lines = (f"{line}\n" for _, line in source.lines())
    reader = csv.reader(lines, strict=True)
    try:
        columns = [column.strip() for column in next(reader, [])]
        check(columns)
        begins = reader.line_num + 1
        for cells in reader:
            if len(cells) > len(columns):
                raise UnreadableError(
                    begins, f"The row has {len(cells)} cells, and the file {len(columns)} columns."
                )
            if any(cells):
                there = zip(columns, map(original, cells), strict=False)
                yield begins, dict.fromkeys(known, "") | dict(there)
            begins = reader.line_num + 1
    except csv.Error as error:
        raise UnreadableError(reader.line_num, f"This is not CSV: {error}.") from error


def _check_records(columns: list[str]) -> None:
    if _are_ratings(columns):
        raise UnreadableError(
            1,
            "These are ratings: the file has no turns. Choose the format of neural.chat ratings, or import "
            "the download of chat records, which has the ratings, too.",
        )
    _need(columns, _NEEDED)


def _check_ratings(columns: list[str]) -> None:
    if {*columns} >= _TURNS:
        raise UnreadableError(1, "These are chat records. Choose the format of neural.chat records.")
    _need(columns, _NEEDED_OF_RATINGS)


def _need(columns: list[str], needed: Sequence[str]) -> None:
    missing = [name for name in needed if name not in columns]
    if missing:
        raise UnreadableError(
            1, f"The first line names no column “{missing[0]}”. It must name {', '.join(needed)}."
        )
