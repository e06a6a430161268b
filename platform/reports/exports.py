"""A study's labelled turns as files, streamed. docs/exports.md describes the columns."""

import csv
import io
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

from asgiref.sync import sync_to_async

from reports.queries import LabelledTurn, labelled_turns
from studies.models import Study

# A spreadsheet takes a cell that begins so for a formula. Worker and bot texts are untrusted.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def csv_lines(study: Study) -> Iterator[str]:
    yield _csv([LabelledTurn._fields])
    for batch in labelled_turns(study):
        yield _csv([[_harmless(value) for value in row] for row in batch])


def jsonl_lines(study: Study) -> Iterator[str]:
    for batch in labelled_turns(study):
        yield "".join(_json_line(row) for row in batch)


def _csv(rows: Iterable[Sequence[object]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue()


def _harmless(value: object) -> object:
    """Text that a spreadsheet would run is quoted with an apostrophe; everything else stays as it is."""
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return "'" + value
    if isinstance(value, bool):
        return str(value).lower()
    return value


def _json_line(row: LabelledTurn) -> str:
    fields = row._asdict() | {"answers": json.loads(row.answers)}
    return json.dumps(fields, ensure_ascii=False) + "\n"


async def in_threads(chunks: Iterator[str]) -> AsyncIterator[str]:
    """The chunks for an ASGI response, which would otherwise collect all of them before sending the first."""

    def step() -> str | None:
        return next(chunks, None)

    while (chunk := await sync_to_async(step)()) is not None:
        yield chunk
