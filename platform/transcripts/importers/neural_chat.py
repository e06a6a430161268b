"""The two CSV downloads of neural.chat's admin pages (github.com/asmadotgh/neural_chat_web, dialog/admin.py).

The records have a row for each exchange, with the ratings of the whole chat repeated on each. The other
download has ratings only, the same ones, so that there is nothing in it to import.
"""

import csv
from collections.abc import Iterator
from itertools import groupby

from transcripts.importers.formats import Conversation, Problem, Said, importer
from transcripts.importers.source import Source, UnreadableError

_NEEDED = ("Chat ID", "Chatbot ID", "Message", "Response")
_RATING = "Chat Rating "
_ONLY_RATINGS = "Chat Length"

Row = tuple[int, dict[str, str]]


def _looks_like(head: str) -> bool:
    try:
        columns = next(csv.reader([head.split("\n", 1)[0]]), [])
    except csv.Error:  # not even a line of text, such as a packed file
        return False
    return {"Chat ID", "Chatbot ID"} <= {column.strip() for column in columns}


@importer("neural-chat", title="neural.chat records (CSV)", looks_like=_looks_like)
def read(source: Source) -> Iterator[Conversation | Problem]:
    """Rows with the same chat id that follow each other are a conversation: the user, then the bot."""
    for chat, group in groupby(_rows(source), key=lambda row: row[1].get("Chat ID", "")):
        rows = list(group)
        line = rows[0][0]
        if not chat:
            yield Problem(line, "This row has no chat id.")
            continue
        turns = tuple(turn for row in rows for turn in _exchange(*row))
        yield Conversation(chat[:200], line, turns, _ratings(rows[0][1]))


def _exchange(line: int, row: dict[str, str]) -> tuple[Said, Said]:
    return Said("User", row["Message"], line), Said(row["Chatbot ID"], row["Response"], line)


def _ratings(row: dict[str, str]) -> dict[str, str]:
    rated = {name: value for name, value in row.items() if name.startswith(_RATING) and value}
    return {f"rating {name.removeprefix(_RATING).lower()}": value[:500] for name, value in rated.items()}


def _rows(source: Source) -> Iterator[Row]:
    """Each row by column, with the line at which it begins."""
    lines = (f"{line}\n" for _, line in source.lines())
    reader = csv.reader(lines, strict=True)
    try:
        columns = [column.strip() for column in next(reader, [])]
        _check(columns)
        begins = reader.line_num + 1
        for cells in reader:
            if len(cells) > len(columns):
                raise UnreadableError(
                    begins, f"The row has {len(cells)} cells, and the file {len(columns)} columns."
                )
            if any(cells):
                yield begins, dict.fromkeys(_NEEDED, "") | dict(zip(columns, cells, strict=False))
            begins = reader.line_num + 1
    except csv.Error as error:
        raise UnreadableError(reader.line_num, f"This is no CSV: {error}.") from error


def _check(columns: list[str]) -> None:
    missing = [name for name in _NEEDED if name not in columns]
    if missing and _ONLY_RATINGS in columns:
        raise UnreadableError(
            1,
            "This is the download of ratings: it has no turns. Import the download of chat records, "
            "which has the ratings, too.",
        )
    if missing:
        raise UnreadableError(
            1, f"The first line names no column “{missing[0]}”. It must name {', '.join(_NEEDED)}."
        )
