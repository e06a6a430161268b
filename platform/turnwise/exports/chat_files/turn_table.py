"""A study's conversations as a table with a row for each turn, as CSV and as an Excel workbook."""

import re
import tempfile
from collections.abc import Generator, Iterator
from itertools import chain, islice

from evaluation.files.writing import csv_text, harmless
from turnwise.exports.chat_files.chats import Chat, chats
from turnwise.studies.models import Study

COLUMNS = ("conversation", "speaker", "text", "time")
MOST_ROWS = 1_048_576
"""Rows of a sheet, by Excel's own limit."""
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_CHUNK = 65_536
_BATCH = 500


def csv_lines(study: Study) -> Generator[str]:
    """Lines of the table as CSV."""
    yield csv_text([COLUMNS])
    rows = _rows(study)
    while batch := list(islice(rows, _BATCH)):
        yield csv_text(batch)


def workbook(study: Study) -> Generator[bytes]:
    """Bytes of the table as a workbook; rows beyond what a sheet can hold stand on further sheets.

    A cell holds 32,767 characters, and longer texts are cut there.
    """
    from openpyxl import Workbook  # loads many modules

    book, rows = Workbook(write_only=True), _rows(study)
    for number, row in enumerate(chain([COLUMNS], rows)):
        if number % MOST_ROWS == 0:
            sheet = book.create_sheet()
        sheet.append([_cell(text) for text in row])
    with tempfile.TemporaryFile() as file:
        book.save(file)
        file.seek(0)
        while chunk := file.read(_CHUNK):
            yield chunk


def _cell(text: str) -> str:
    """Text of a cell, without formulas and without control characters, which workbooks cannot hold."""
    return harmless(_UNFIT.sub("\ufffd", text))


def _rows(study: Study) -> Iterator[tuple[str, str, str, str]]:
    for chat in chats(study):
        yield from _turns(chat)


def _turns(chat: Chat) -> Iterator[tuple[str, str, str, str]]:
    """Rows of a conversation: its system messages and turns, without messages of tools."""
    assistant = chat.model or "assistant"
    user = chat.user if chat.user != assistant else f"{chat.user} (2)"
    names = {"system": "system", "user": user, "assistant": assistant}
    for message in chat.messages:
        if message.role in names and not message.called:
            yield (chat.id, names[message.role], message.text, message.at)
