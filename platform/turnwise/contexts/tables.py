"""Rows of uploaded JSON Lines and CSV files with their lines; problems are collected, not raised."""

import csv
import io
import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from django.utils.translation import gettext as _

from evaluation.files.writing import original
from evaluation.texts.lengths import MAX_TURN_CHARS
from turnwise.contexts.packed_files import column_names
from turnwise.live.frames import why_not_text

MAX_BYTES = 5_000_000
MAX_ROWS = 20_000
MAX_TURNS = 100
MAX_MATERIAL = MAX_TURN_CHARS
MOST_MATERIAL = 20

# Characters that PostgreSQL cannot store or pages cannot show: lone surrogates, and controls except tab and
# newline.
_HALVES = re.compile("[\ud800-\udfff]")
UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem or note about a line of a file."""

    line: int
    say: str


@dataclass(frozen=True, slots=True)
class Row:
    """The named values of a line, or of the lines of one CSV row."""

    line: int
    fields: dict[str, object]


class FileRefusedError(Exception):
    """A file cannot be read at all; the message says why, with the cure."""


def decoded(data: bytes, *, too_large: str) -> str:
    """The text of an uploaded file; `too_large` is the cure for a file that is too large.

    Raises:
        FileRefusedError: the file is empty, too large, or not UTF-8.
    """
    if len(data) > MAX_BYTES:
        raise FileRefusedError(
            _("The file has %(bytes)s bytes, more than %(most)s. %(cure)s")
            % {"bytes": f"{len(data):,}", "most": f"{MAX_BYTES:,}", "cure": too_large}
        )
    if why := why_not_text(data):
        raise FileRefusedError(why)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise FileRefusedError(
            _("Line %(line)d is not UTF-8 text. Save the file in UTF-8 and choose it again.") % {"line": line}
        ) from None
    if not text.strip():
        raise FileRefusedError(_("The file is empty. Choose one with at least one line."))
    return text


def rows_of(
    text: str, ending: str, *, needed: Collection[str] = (), keeps_empty: bool = False
) -> Iterator[Row | Finding]:
    """Yield the rows of a file ("jsonl" or "csv"); lines that cannot be read come as findings.

    A CSV file without one of the `needed` columns gives a single finding. Empty rows are left out, or with
    `keeps_empty` come as rows without fields, except blank lines at the end.
    """
    if keeps_empty:
        text = text.rstrip("\r\n")
    return _csv_rows(text, needed, keeps_empty) if ending == "csv" else _json_rows(text, keeps_empty)


def _json_rows(text: str, keeps_empty: bool) -> Iterator[Row | Finding]:
    for line, content in enumerate(text.split("\n"), start=1):
        if content.strip():
            yield _json_row(line, content)
        elif keeps_empty:
            yield Row(line, {})


def json_fault(error: ValueError | RecursionError) -> str:
    """The parser's message about a line, without its line number, which would always be 1."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos + 1}"
    return str(error)[:200]


def _json_row(line: int, content: str) -> Row | Finding:
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError) as error:
        return Finding(line, f"This is not JSON: {json_fault(error)}. Write one object on each line.")
    if not isinstance(fields, dict):
        return Finding(line, "This is not a JSON object. Write one object on each line, such as {…}.")
    if _HALVES.search(json.dumps(fields, ensure_ascii=False)):
        return Finding(line, "A text has half of a character (\\ud800 to \\udfff without its other half).")
    return Row(line, fields)


def _csv_rows(text: str, needed: Collection[str], keeps_empty: bool) -> Iterator[Row | Finding]:
    mark = _mark_in(text.split("\n", 1)[0])
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    names: list[str] | None = None
    line, is_empty = 1, True
    try:
        for cells in reader:
            if names is None:
                names = column_names(cells)
                if problem := _problem_of_header(names, needed):
                    yield Finding(line, problem)
                    return
            elif any(cell.strip() for cell in cells):
                is_empty = False
                yield _csv_row(line, names, cells)
            elif keeps_empty:
                yield Row(line, {})
            line = reader.line_num + 1
    except csv.Error as error:
        yield Finding(line, f"The CSV cannot be read from here on: {error}. Check quotes and commas.")
    else:
        if is_empty:
            yield Finding(1, "There is nothing below the header. Choose a file with at least one row.")


def _problem_of_header(names: list[str], needed: Collection[str]) -> str:
    """Reason why the rows below this header cannot be used; empty if they can."""
    if twice := next((name for number, name in enumerate(names) if name in names[:number]), ""):
        return f"Two columns are called “{twice[:40]}”. Rename one of them."
    lacking = [f"“{name}”" for name in needed if name not in names]
    if not lacking:
        return ""
    listed = ", ".join(f"“{name[:40]}”" for name in names[:10]) + (", …" if len(names) > 10 else "")
    return (
        f"There is no column {' and no column '.join(lacking)}. The first line must name the columns; it "
        f"says {listed or 'nothing'}."
    )


def _mark_in(header: str) -> str:
    """Separator of the cells: a comma, or what a header without commas has instead."""
    return next((mark for mark in (",", ";", "\t") if mark in header), ",")


def _csv_row(line: int, names: list[str], cells: list[str]) -> Row | Finding:
    if len(cells) != len(names):
        return Finding(
            line, f"This row has {len(cells)} cells, the header has {len(names)}. Check quotes and commas."
        )
    return Row(line, {name: original(cell) for name, cell in zip(names, cells, strict=True)})


def text_problem(text: object, *, limit: int, what: str) -> str:
    """Reason why this value is no text of at most `limit` characters; empty if it is one."""
    if not isinstance(text, str):
        return _("%(what)s is %(value)s, not text.") % {"what": what, "value": json.dumps(text)[:40]}
    if not text.strip():
        return _("%(what)s is empty.") % {"what": what}
    if len(text) > limit:
        sizes = {"what": what, "n": f"{len(text):,}", "most": f"{limit:,}"}
        return _("%(what)s has %(n)s characters, more than %(most)s.") % sizes
    unfit = UNFIT.search(text)
    if unfit:
        code = f"{ord(unfit.group()):04X}"
        return _("%(what)s has a control character (U+%(code)s). Remove it.") % {"what": what, "code": code}
    return ""
