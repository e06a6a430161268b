"""REST API of a study's tables: the rows of its bundle as JSON Lines, CSV or Parquet, without making one."""

from collections.abc import Generator
from contextlib import closing
from io import BytesIO
from tempfile import TemporaryFile
from typing import IO, Annotated, Any, Literal

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema
from ninja.errors import HttpError

from evaluation.report.bundles.columns import Table
from evaluation.report.bundles.study_tables import MEASURES
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import PEOPLE
from turnwise.accounts.limits import too_often
from turnwise.exports.access import bundled_studies_of, note_export
from turnwise.exports.files import FORMATS, with_times_as_text
from turnwise.exports.rows import rows, rows_in, tables_of
from turnwise.live.downloads import CHUNK_SIZE, attachment
from turnwise.live.http_responses import answers, file_answer
from turnwise.studies.models import Study

router = Router(tags=["studies"])
Ending = Annotated[
    Literal["jsonl", "csv", "parquet"], Query("jsonl", alias="format", description="Kind of file.")
]


class ColumnOut(Schema):
    """A column of a table."""

    name: str
    type: str = Field(description="As in the Frictionless Table Schema, such as `string` or `datetime`.")
    meaning: str


class TableOut(Schema):
    """A table of a study."""

    name: str
    about: str = Field(description="What a row is, and in which order rows come.")
    rows: int
    columns: list[ColumnOut]


@router.get("/studies/{slug:code}/tables", response=answers(list[TableOut], 404), openapi_extra=PEOPLE)
def tables(request: AuthenticatedHttpRequest, code: str) -> list[TableOut]:
    """List the tables of a study that you work on: their columns and numbers of rows, at this moment."""
    study = _study(request, code)
    return [
        TableOut(
            name=table.name,
            about=table.about,
            rows=rows_in(study, table),
            columns=[
                ColumnOut(name=column.name, type=column.kind.value, meaning=column.meaning)
                for column in table.columns
            ],
        )
        for table in _tables(study)
    ]


@router.get(
    "/studies/{slug:code}/tables/{slug:table}",
    response={frozenset({404, 422, 429}): None},
    openapi_extra=PEOPLE | file_answer(*(each.mediatype for each in FORMATS.values()), about="The table"),
)
def table_file(
    request: AuthenticatedHttpRequest,
    code: str,
    table: str,
    ending: Ending = "jsonl",
) -> HttpResponseBase:
    """Stream a table of a study that you work on, as it is now, with redactions applied."""
    study = _study(request, code)
    by_name = {each.name: each for each in _tables(study)}
    if table not in by_name:
        raise HttpError(404, f"This study has no table “{table[:80]}”. It has: {', '.join(by_name)}.")
    if too_often(request, "table", rate="60/m", key="user"):
        raise HttpError(429, "Tables can be downloaded 60 times a minute. Wait a little.")
    found = by_name[table]
    if any(column.name == "question_set" for column in found.columns):
        note_export(study)
    name = f"turnwise-{code}-{table}.{ending}"
    return attachment(request, _chunks(study, found, ending), FORMATS[ending].mediatype, name)


def _study(request: AuthenticatedHttpRequest, code: str) -> Study:
    return get_object_or_404(bundled_studies_of(request.user), code=code)


def _tables(study: Study) -> list[Table]:
    """Tables whose rows are stored at any time; measures are computed when a report is."""
    return [table for table in tables_of(study) if table.name != MEASURES.name]


def _chunks(study: Study, table: Table, ending: str) -> Generator[bytes]:
    """Chunks of a file; a Parquet file is complete before its first chunk, as its index stands at the end."""
    kind = FORMATS[ending]
    file: IO[bytes] = TemporaryFile() if kind.packed else BytesIO()  # noqa: SIM115  (closed below)
    with closing(file):
        with kind.writing(file, table) as write:
            for batch in rows(study, table):
                write(batch if kind.typed else with_times_as_text(batch, table))
                if not kind.packed:
                    yield _drained(file)
        file.seek(0)
        while chunk := file.read(CHUNK_SIZE):
            yield chunk


def _drained(file: Any) -> bytes:
    """Take everything out of a buffer."""
    content: bytes = file.getvalue()
    file.seek(0)
    file.truncate()
    return content
