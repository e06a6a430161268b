"""REST API of a study's bundle, of the files of its labels and conversations, and of the bundle's tables.

A table is sent as JSON Lines, CSV or Parquet without making a bundle.
"""

from collections.abc import Generator
from contextlib import closing
from datetime import datetime
from functools import partial
from io import BytesIO
from tempfile import TemporaryFile
from typing import IO, Annotated, Any, Literal

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema, Status
from ninja.errors import HttpError

from evaluation.report.bundles.columns import Table
from evaluation.report.bundles.study_tables import MEASURES
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import PEOPLE
from turnwise.accounts.limits import too_often
from turnwise.exports import bundle_jobs
from turnwise.exports import tasks as jobs
from turnwise.exports.bundle_jobs import newest_and_made
from turnwise.exports.files import FORMATS, with_times_as_text
from turnwise.exports.rows import rows, rows_in, tables_of
from turnwise.exports.study_files import (
    FILES,
    MEDIA_TYPES,
    StudyFile,
    bundled_studies_of,
    exported_studies_of,
    note_export,
    sent_file,
)
from turnwise.live.downloads import CHUNK_SIZE, attachment
from turnwise.live.http_responses import answers, file_answer, refusals_as_conflicts
from turnwise.live.jobs import NOT_STARTED, is_sent
from turnwise.studies.models import Study

router = Router(tags=["studies"])


class BundleOut(Schema):
    """The state of a study's bundle."""

    state: str = Field(description="none, queued, running, ready or failed: of the newest one asked for.")
    reason: str = Field(description="Why it failed; empty otherwise.")
    progress: dict[str, Any] = Field(description="`stage`, and `done` `of` all rows, while it is made.")
    made_at: datetime | None = Field(description="Of the one to download; null if there is none.")
    size: int | None = Field(description="In bytes, of the one to download.")
    is_stale: bool = Field(description="Whether the study has newer results than the one to download.")
    kept_until: datetime | None


@router.get("/studies/{slug:code}/bundle", response=answers(BundleOut, 404), openapi_extra=PEOPLE)
def bundle_state(request: AuthenticatedHttpRequest, code: str) -> BundleOut:
    """Get the state of the bundle of a study that you work on."""
    return _bundle_out(get_object_or_404(bundled_studies_of(request.user), code=code))


@router.post(
    "/studies/{slug:code}/bundle",
    response=answers(BundleOut, 404, 409, 503, status=202),
    openapi_extra=PEOPLE,
)
def request_bundle(request: AuthenticatedHttpRequest, code: str) -> Status[BundleOut]:
    """Have the bundle made. Safe to repeat: one is made at a time."""
    study = get_object_or_404(bundled_studies_of(request.user), code=code)
    if too_often(request, "bundle", rate="6/m", key="user"):
        raise HttpError(429, "A bundle can be asked for 6 times a minute. Wait a little.")
    with refusals_as_conflicts():
        wanted, is_new = bundle_jobs.request_bundle(study, by=request.user)
    if is_new and not is_sent(partial(jobs.make_bundle.delay, wanted.pk)):
        bundle_jobs.mark_failed(wanted.pk, str(NOT_STARTED))
        raise HttpError(503, str(NOT_STARTED))
    return Status(202, _bundle_out(study))


def _bundle_out(study: Study) -> BundleOut:
    newest, made = newest_and_made(study)
    state = "none"
    if newest:
        waiting = "running" if newest.begun_at else "queued"
        state = waiting if newest.is_in_progress else "failed" if newest.reason else "ready"
    return BundleOut(
        state=state,
        reason=newest.reason if newest else "",
        progress=bundle_jobs.progress(newest) if newest and newest.is_in_progress else {},
        made_at=made.made_at if made else None,
        size=made.size if made else None,
        is_stale=made is not None and bundle_jobs.is_stale(made),
        kept_until=made.made_at + bundle_jobs.KEEP_FOR if made and made.made_at else None,
    )


@router.get(
    "/studies/{slug:code}/bundle.zip",
    response={frozenset({404, 429}): None},
    openapi_extra=PEOPLE | file_answer("application/zip"),
)
def bundle_archive(request: AuthenticatedHttpRequest, code: str) -> HttpResponseBase:
    """Download the newest bundle; 404 until one was made."""
    study = get_object_or_404(bundled_studies_of(request.user), code=code)
    if too_often(request, "bundle file", rate="6/m", key="user"):
        raise HttpError(429, "A bundle can be downloaded 6 times a minute. Wait a little.")
    _newest, made = newest_and_made(study)
    if made is None:
        raise HttpError(
            404, f"There is no bundle of “{study.title}” yet. POST {request.path[:-4]} makes one."
        )
    response = attachment(request, bundle_jobs.chunks(made), "application/zip", f"turnwise-{code}.zip")
    response["Content-Length"] = str(made.size)
    return response


class StudyFileOut(Schema):
    """A file in which the study's labels or conversations can be downloaded."""

    name: str = Field(description="Last part of its address, such as `turns.csv`.")
    about: str
    media_type: str


@router.get("/studies/{slug:code}/files", response=answers(list[StudyFileOut], 404), openapi_extra=PEOPLE)
def study_files(request: AuthenticatedHttpRequest, code: str) -> list[StudyFileOut]:
    """List the files that the pages of a study that you may read offer, such as OpenAI's messages."""
    study = get_object_or_404(exported_studies_of(request.user), code=code)
    return [
        StudyFileOut(name=each.name, about=each.about, media_type=each.media_type)
        for each in _files_of(study)
    ]


@router.get(
    "/studies/{slug:code}/files/{str:name}",
    response={frozenset({404, 429}): None},
    openapi_extra=PEOPLE | file_answer(*dict.fromkeys(MEDIA_TYPES.values())),
)
def study_file(request: AuthenticatedHttpRequest, code: str, name: str) -> HttpResponseBase:
    """Stream one of these files, as from the study's page: `turns.jsonl` has all labels with their texts."""
    study = get_object_or_404(exported_studies_of(request.user), code=code)
    by_name = {each.name: each for each in _files_of(study)}
    if name not in by_name:
        raise HttpError(404, f"This study has no file “{name[:80]}”. It has: {', '.join(by_name)}.")
    if too_often(request, "file", rate="60/m", key="user"):
        raise HttpError(429, "Files can be downloaded 60 times a minute. Wait a little.")
    return sent_file(request, study, by_name[name])


def _files_of(study: Study) -> list[StudyFile]:
    return [each for each in FILES.values() if each.suits(study)]


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
