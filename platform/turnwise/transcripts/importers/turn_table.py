"""Tables with a row for each turn: CSV with commas, semicolons or tabs, Excel, Parquet, flat JSON Lines.

conversation,speaker,text
c1,user,Hi!

Columns may have any names: usual ones are guessed, others are chosen on the page of the import.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from evaluation.files.writing import original
from turnwise.contexts.packed_files import column_names
from turnwise.transcripts.importers.formats import (
    Conversation,
    Problem,
    Source,
    UnreadableError,
    Utterance,
    importer,
)
from turnwise.transcripts.importers.json_records import first_record, records
from turnwise.transcripts.importers.message_roles import iso_time

CONVERSATION, SPEAKER, TEXT, TIME = "conversation", "speaker", "text", "time"
PARTS = (CONVERSATION, SPEAKER, TEXT, TIME)
WHOLE_FILE = ""
"""Chosen in place of a column: the whole file is one conversation."""
KEY = "table"

MOST_COLUMNS = 200
_MARKS = (",", ";", "\t", "|")

USUAL: Mapping[str, tuple[str, ...]] = {
    CONVERSATION: (
        "conversation", "conversation_id", "conv_id", "conversationid", "dialogue", "dialogue_id", "dialog",
        "dialog_id", "thread", "thread_id", "chat", "chat_id", "session", "session_id", "transcript_id",
    ),
    SPEAKER: ("speaker", "role", "author", "from", "sender", "participant", "speaker_id", "agent", "who"),
    TEXT: ("text", "message", "content", "utterance", "value", "body", "turn", "transcript"),
    TIME: ("time", "timestamp", "created_at", "date", "datetime", "sent_at"),
}  # fmt: skip
"""Names of columns by which a part is guessed, in small letters with underscores; the first found counts."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row below the header: its line, its cells by column, and what is wrong with it as a row."""

    line: int
    cells: Mapping[str, str]
    wrong: str = ""


def guessed_columns(names: Iterable[str]) -> dict[str, str]:
    """Column of each part whose usual name is among these."""
    by_name = {
        name.casefold().strip().replace(" ", "_").replace("-", "_"): name for name in reversed([*names])
    }
    return {
        part: next(by_name[name] for name in usual if name in by_name)
        for part, usual in USUAL.items()
        if any(name in by_name for name in usual)
    }


def header_of(source: Source) -> list[str]:
    """Names of a table's columns.

    Raises:
        UnreadableError: the table has none, two of one name, or cannot be read.
    """
    names, _ = _opened(source)
    return names


def sample_of(source: Source, rows: int) -> list[list[str]]:
    """The first rows of a table, cut to a few words."""
    names, below = _opened(source)
    found = list[list[str]]()
    for row in below:
        if len(found) >= rows:
            break
        if isinstance(row, TableRow):
            found.append([row.cells.get(name, "")[:80] for name in names])
    return found


def mark_of(head: str) -> str:
    """Separator of a table's cells by its first two lines; "" if it does not look like a table."""
    for mark in _MARKS:
        try:
            rows = [
                row for row in csv.reader(io.StringIO(head[:4000], newline=""), delimiter=mark) if any(row)
            ][:3]
        except csv.Error:
            continue
        # The last row may be cut where the beginning ends.
        if (
            len(rows) >= 2
            and len(rows[0]) >= 2
            and len(rows[0]) == len(rows[1])
            and len([*filter(str.strip, rows[0])]) >= 2
        ):
            return mark
    return ""


def _looks_like(head: str) -> bool:
    if head.startswith(("{", "[")):
        columns = guessed_columns(first_record(head))
        return {CONVERSATION, SPEAKER, TEXT} <= columns.keys()
    return bool(mark_of(head))


@importer(
    KEY,
    title="Table with a row for each turn (CSV, TSV, Excel, Parquet)",
    looks_like=_looks_like,
    is_loose=True,
    keys=("conversation", "speaker", "role", "text", "message", "content"),
)
def read(source: Source) -> Iterator[Conversation | Problem]:
    """Read conversations of rows with the same value in the column of conversations, in order of the file.

    Rows of a conversation need not follow each other. One with a problem in any row stays out.
    """
    names, _ = _opened(source)
    columns = _columns(source.columns or guessed_columns(names), names)
    found = dict[str, list[Utterance]]()
    wrong = dict[str, Problem]()
    for row in _opened(source)[1]:
        if isinstance(row, Problem):
            yield row
            continue
        id_ = _id_of(row, columns)
        problem = _problem(row, id_, columns)
        if problem is None:
            turn = _utterance(row, columns)
            found.setdefault(id_, []).append(turn)
        elif id_ not in wrong:
            wrong[id_] = problem
    yield from wrong.values()
    for id_, turns in found.items():
        if id_ not in wrong:
            yield Conversation(id_, turns[0].line, tuple(turns))


def _columns(chosen: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Columns by part, without parts that are in none.

    Raises:
        UnreadableError: a column that is needed is missing.
    """
    columns = {part: name for part, name in chosen.items() if part in PARTS and name in names}
    whole = chosen.get(CONVERSATION) == WHOLE_FILE
    lacking = [part for part in (CONVERSATION, SPEAKER, TEXT) if part not in columns]
    if whole and CONVERSATION in lacking:
        lacking.remove(CONVERSATION)
    if lacking:
        raise UnreadableError(
            1,
            f"No column is known to be the {' or the '.join(lacking)}. The columns are {_named(names)}: "
            "choose which is which, or rename them.",
        )
    return columns


def _named(names: Sequence[str]) -> str:
    return ", ".join(f"“{name[:40]}”" for name in names[:12]) + (", …" if len(names) > 12 else "")


def _id_of(row: TableRow, columns: Mapping[str, str]) -> str:
    if CONVERSATION not in columns:
        return "file"
    return row.cells.get(columns[CONVERSATION], "").strip()[:200]


def _problem(row: TableRow, id_: str, columns: Mapping[str, str]) -> Problem | None:
    if not id_:
        return Problem(
            row.line, f"“{columns[CONVERSATION][:40]}” is empty, so the row is in no conversation."
        )
    if row.wrong:
        return Problem(row.line, row.wrong)
    if not row.cells.get(columns[SPEAKER], "").strip():
        return Problem(row.line, f"“{columns[SPEAKER][:40]}” is empty: name who speaks.")
    return None


def _utterance(row: TableRow, columns: Mapping[str, str]) -> Utterance:
    at = iso_time(row.cells.get(columns[TIME], "")) if TIME in columns else ""
    return Utterance(row.cells[columns[SPEAKER]].strip(), row.cells.get(columns[TEXT], ""), row.line, at)


def _opened(source: Source) -> tuple[list[str], Iterator[TableRow | Problem]]:
    """Names of the columns and the rows below them; the file is read from its beginning."""
    source.file.seek(0)
    if source.is_workbook:
        return _of_cells(source.workbook_rows(), is_workbook=True)
    if source.is_parquet or source.first_line().lstrip().startswith(("{", "[")):
        return _of_records(source)
    source.file.seek(0)
    return _of_text(source)


def _of_cells(
    rows: Iterator[tuple[int, list[str]]], *, is_workbook: bool = False
) -> tuple[list[str], Iterator[TableRow | Problem]]:
    line, header = next(rows, (1, list[str]()))
    first = next(rows, None)
    named = _filled(header)
    width = max(named, _filled(first[1]) if first else 0)
    # Workbooks leave out empty cells at the end; in text a longer row is a fault of quotes.
    cells = [*header, *([""] * width if is_workbook else [])][:width]
    names = column_names(cells) if named else []
    _check_header(line, names)
    below = chain([first] if first else [], rows)
    return names, _below(names, below, least=0 if is_workbook else named)


def _filled(cells: Sequence[str]) -> int:
    """Number of cells up to the last one that is not blank."""
    return max((number for number, cell in enumerate(cells, start=1) if cell.strip()), default=0)


def _below(names: Sequence[str], rows: Iterable[tuple[int, list[str]]], *, least: int) -> Iterator[TableRow]:
    for number, cells in rows:
        wrong = ""
        if any(cell.strip() for cell in cells[len(names) :]) or len(cells) < least:
            wrong = (
                f"This row has {len(cells)} cells, the header has {len(names)}. Check quotes and separators."
            )
        yield TableRow(number, dict(zip(names, cells, strict=False)), wrong)


def _of_records(source: Source) -> tuple[list[str], Iterator[TableRow | Problem]]:
    names = next((list(found[1]) for found in records(source) if not isinstance(found, Problem)), [])
    _check_header(1, names)
    source.file.seek(0)
    rows = (
        found
        if isinstance(found, Problem)
        else TableRow(found[0], {key: _cell(value) for key, value in found[1].items()})
        for found in records(source)
    )
    return names, rows


def _cell(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else str(value)


def _of_text(source: Source) -> tuple[list[str], Iterator[TableRow | Problem]]:
    head = source.file.read(8192).decode(errors="ignore").removeprefix("\ufeff")
    source.file.seek(0)
    return _of_cells(_csv_rows(source, mark_of(head) or ","))


def _csv_rows(source: Source, mark: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader((f"{line}\n" for _, line in source.lines()), delimiter=mark, strict=True)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, [original(cell) for cell in cells]
            line = reader.line_num + 1
    except csv.Error as error:
        raise UnreadableError(
            line, f"The table cannot be read from here on: {error}. Check quotes and separators."
        ) from error


def _check_header(line: int, names: Sequence[str]) -> None:
    """Refuse a header without names, or with one name twice.

    Raises:
        UnreadableError: it is such a header.
    """
    if not names:
        raise UnreadableError(line, "The first line must name the columns; it says nothing.")
    twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
    if twice:
        raise UnreadableError(line, f"Two columns are called “{twice[:40]}”. Rename one of them.")
    if len(names) > MOST_COLUMNS:
        raise UnreadableError(line, f"The table has {len(names):,} columns; {MOST_COLUMNS} can be read.")
