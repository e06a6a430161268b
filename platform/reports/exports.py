"""A study's labelled turns as files, streamed. docs/exports.md describes the columns."""

import csv
import io
import json
from collections.abc import Generator, Iterable, Sequence
from typing import Generic, Self, TypeVar

from asgiref.sync import sync_to_async

from evaluation.spreadsheets import harmless
from reports.queries import LabelledTurn, labelled_turns
from studies.models import Study

T = TypeVar("T", str, bytes)


def csv_lines(study: Study) -> Generator[str]:
    yield csv_text([LabelledTurn._fields])
    for batch in labelled_turns(study):
        yield csv_text(batch)


def jsonl_lines(study: Study) -> Generator[str]:
    for batch in labelled_turns(study):
        yield "".join(_json_line(row) for row in batch)


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV without live formulas."""
    buffer = io.StringIO()
    csv.writer(buffer).writerows([cell(value) for value in row] for row in rows)
    return buffer.getvalue()


def cell(value: object) -> object:
    """A value as it stands in a CSV file: untrusted texts without live formulas, truth values as in JSON."""
    if isinstance(value, str):
        return harmless(value)
    return str(value).lower() if isinstance(value, bool) else value


def _json_line(row: LabelledTurn) -> str:
    fields = row._asdict() | {"answers": json.loads(row.answers), "remarks": json.loads(row.remarks or "[]")}
    return json.dumps(fields, ensure_ascii=False) + "\n"


class InThreads(Generic[T]):
    """The chunks for an ASGI response, which would otherwise collect all of them before sending the first.

    Django closes it in the thread of the request, where the transaction of an export that was broken off
    can be ended.
    """

    def __init__(self, chunks: Generator[T]) -> None:
        self._chunks: Generator[T] = chunks

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        chunk = await sync_to_async(self._next)()
        if chunk is None:
            raise StopAsyncIteration
        return chunk

    def _next(self) -> T | None:
        return next(self._chunks, None)

    def close(self) -> None:
        self._chunks.close()
