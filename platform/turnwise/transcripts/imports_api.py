"""REST API of imported conversations: upload a file, choose how it is read, import it, undo that."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from io import BytesIO
from typing import Annotated, Any, Literal, TypeVar

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, Router, Schema, Status
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import PEOPLE
from turnwise.accounts.uploads_api import MOST_NAMED, UploadIn, reading_a_file
from turnwise.dialogues.models import TranscriptImport
from turnwise.dialogues.queries import imports_of
from turnwise.live.cursors import NEXT, Cursor, Limit, PathKey, page, page_of
from turnwise.live.http_responses import answers, takes_a_file
from turnwise.live.jobs import NOT_STARTED, is_sent
from turnwise.live.problems import InvalidFieldsError
from turnwise.studies.rest.lookup import study_at
from turnwise.transcripts import import_progress, importing, undoing
from turnwise.transcripts import tasks as jobs
from turnwise.transcripts.file_reading import Preview
from turnwise.transcripts.importers import FORMATS
from turnwise.transcripts.importing import ImportRefusedError
from turnwise.trash.api import DeletionOut, deletion_out

router = Router(tags=["studies"])
T = TypeVar("T")
Columns = dict[Literal["conversation", "speaker", "text", "time"], Annotated[str, Field(max_length=500)]]
Title = Annotated[str, Field(max_length=120)]


class ConversationsIn(UploadIn):
    """A file of conversations."""

    format: str = Field("", max_length=40, description="Key of its format; empty: it is guessed.")
    columns: Columns | None = Field(None, description="Of a table, the column of each part of a turn.")


class ReadingIn(Schema, extra="forbid"):
    """How an uploaded file is read; what is left out stays."""

    format: str | None = Field(None, max_length=40)
    columns: Columns | None = None


class ConfirmIn(Schema, extra="forbid"):
    """What the conversations of an uploaded file are."""

    systems: dict[str, Title] | None = Field(
        None,
        max_length=1000,
        description="By speaker, the system that they are; empty of a person. Speakers that are left out are "
        "taken as `speakers` of the upload says.",
    )
    language: str = Field("", max_length=35, description="One of the study; empty where it has one only.")
    scripted_opening: bool = Field(False, description="Whether first turns are scripted: nobody judges them.")


class SpeakerOut(Schema):
    """A speaker in a file."""

    name: str
    turns: int
    system: str = Field(description="The system that they are taken for; empty: a person.")


class LineOut(Schema):
    """A problem of a file; what has it stays out."""

    line: int
    what: str


class PreviewOut(Schema):
    """What an import would bring."""

    conversations: int
    turns: int
    labels: int = Field(description="Labels given elsewhere, which come with them.")
    labels_left_out: int = Field(
        description="Further labels, which stay out: of turns of people, or of a scripted opening."
    )
    speakers: list[SpeakerOut]
    language: str = Field(description="The language of the study that fits; empty if several may.")
    columns: dict[str, str] = Field(description="Of a table, the column of each part of a turn.")
    header: list[str] = Field(description="Of a table, the names of its columns.")
    problems: list[LineOut] = Field(description="The first of them.")
    problem_count: int


class ImportOut(Schema):
    """A file of conversations, uploaded or imported."""

    id: int
    name: str
    format: str = Field(description="Empty: not known yet, so choose one of `formats`.")
    state: str = Field(description="uploaded, importing, imported, or failed: confirm it again.")
    reason: str = Field(description="Why it could not be read, or was not imported when that was asked for.")
    uploaded_at: datetime
    conversations: int = Field(description="Imported ones.")
    turns: int
    labels: int
    left_out: int


class FullImportOut(ImportOut):
    """A file of conversations with what it would bring."""

    preview: PreviewOut | None = Field(description="Null once it is imported, or while that is under way.")
    formats: list[str] = Field(description="Keys of all formats.")


class ImportsOut(Schema):
    """A page of imports, the newest first."""

    items: list[ImportOut]
    next: str | None = NEXT


@router.get("/studies/{slug:code}/imports", response=answers(ImportsOut, 400, 404, 422), openapi_extra=PEOPLE)
def conversation_imports(
    request: AuthenticatedHttpRequest, code: str, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the files of conversations of a study, the newest first."""
    rows = study_at(request, code).imports.defer("content")
    found, following = page_of(rows, f"imports {code}", cursor, limit, newest_first=True)
    return page([ImportOut(**_values(each)) for each in found], following)


@router.post(
    "/studies/{slug:code}/imports",
    response=answers(FullImportOut, 404, 429, status=201, has_body=True),
    openapi_extra=PEOPLE | takes_a_file(importing.MAX_UPLOAD),
)
def upload_conversations(
    request: AuthenticatedHttpRequest, code: str, sent: ConversationsIn
) -> Status[FullImportOut]:
    """Upload a file of conversations, and see what it would bring; nothing is imported yet.

    Labels in JSON Lines name a question set by its key: one that comes with Turnwise, or one that you may
    use. An earlier upload of yours that was not imported is discarded.
    """
    study = study_at(request, code)
    _refuse_format(sent.format)
    data = sent.data()
    with reading_a_file(request):
        draft = _done(
            lambda: importing.upload(study, BytesIO(data), name=sent.name, by=request.user), field=""
        )
        return Status(201, _read(draft, sent.format, sent.columns))


@router.get(
    "/studies/{slug:code}/imports/{int:upload}",
    response=answers(FullImportOut, 404, 429),
    openapi_extra=PEOPLE,
)
def one_import(request: AuthenticatedHttpRequest, code: str, upload: PathKey) -> FullImportOut:
    """Get a file of conversations: what it would bring, or whether it is imported."""
    found = _import(request, code, upload)
    if found.imported_at or found.is_in_progress:
        return _full(found)
    with reading_a_file(request):
        return _full(found)


@router.patch(
    "/studies/{slug:code}/imports/{int:upload}",
    response=answers(FullImportOut, 404, 409, 429, has_body=True),
    openapi_extra=PEOPLE,
)
def read_import_as(
    request: AuthenticatedHttpRequest, code: str, upload: PathKey, sent: ReadingIn
) -> FullImportOut:
    """Choose the format of an uploaded file, or the columns of a table."""
    draft = _draft(request, code, upload)
    _refuse_format(sent.format or "")
    with reading_a_file(request):
        return _read(draft, sent.format or "", sent.columns)


@router.post(
    "/studies/{slug:code}/imports/{int:upload}/confirm",
    response=answers(FullImportOut, 404, 409, 429, status=202, has_body=True),
    openapi_extra=PEOPLE,
)
def confirm_import(
    request: AuthenticatedHttpRequest, code: str, upload: PathKey, sent: ConfirmIn
) -> Status[FullImportOut]:
    """Import an uploaded file; `state` is imported once it is done. Safe to repeat."""
    record = _import(request, code, upload)
    if record.imported_at or record.is_in_progress:
        return Status(202, _full(record))
    with reading_a_file(request):
        seen = _done(lambda: importing.preview_of(record), field="")
    systems = {each.name: each.system for each in _speakers(record, seen)}
    unknown = [name for name in sent.systems or {} if name not in systems]
    if unknown:
        says = f"No speaker of the file is “{unknown[0][:60]}”; there are: {', '.join(systems)[:500]}."
        raise InvalidFieldsError({"systems": [says]})
    if seen.conversations:
        language = sent.language or record.study.only_language
        _done(lambda: importing.refuse_unsaid(record.study, language), field="language")
    is_new = _done(
        lambda: importing.ask_for(
            record.pk,
            systems=systems | (sent.systems or {}),
            scripted_opening=sent.scripted_opening,
            language=sent.language,
            parts=seen.conversations + len(seen.rated) + seen.problem_count,
        ),
        field="",
    )
    if is_new and not is_sent(partial(jobs.import_upload.delay, record.pk)):
        import_progress.record_refusal(record.pk, str(NOT_STARTED))
    return Status(202, _full(_import(request, code, upload)))


@router.delete(
    "/studies/{slug:code}/imports/{int:upload}",
    response=answers(DeletionOut, 404, 409),
    openapi_extra=PEOPLE,
)
def undo_import(request: AuthenticatedHttpRequest, code: str, upload: PathKey) -> DeletionOut:
    """Take out what a file brought, unless somebody has labelled it, or discard an upload."""
    record = _import(request, code, upload)
    try:
        return deletion_out(undoing.undo(record.pk, by=request.user))
    except ImportRefusedError as error:
        raise HttpError(409, str(error)) from None


def _read(draft: TranscriptImport, chosen: str, columns: Columns | None) -> FullImportOut:
    if chosen:
        _done(lambda: importing.set_format(draft, chosen), field="format")
    if columns is not None:
        importing.set_columns(draft, draft.columns | {str(part): name for part, name in columns.items()})
    return _full(draft)


def _done(step: Callable[[], T], *, field: str) -> T:
    try:
        return step()
    except ImportRefusedError as error:
        raise InvalidFieldsError({field: [str(error)]}) from None


def _refuse_format(key: str) -> None:
    if key and key not in FORMATS:
        says = f"There is no format “{key}”. There are: {', '.join(FORMATS)}."
        raise InvalidFieldsError({"format": [says]})


def _values(row: TranscriptImport) -> dict[str, Any]:
    return {
        "id": row.pk,
        "name": row.file_name,
        "format": row.format,
        "state": _state(row),
        "reason": row.refusal,
        "uploaded_at": row.uploaded_at,
        "conversations": row.conversations,
        "turns": row.turns,
        "labels": row.labels,
        "left_out": row.left_out,
    }


def _state(row: TranscriptImport) -> str:
    if row.imported_at:
        return "imported"
    if row.is_in_progress:
        return "importing"
    return "failed" if row.refusal else "uploaded"


def _full(row: TranscriptImport) -> FullImportOut:
    row = import_progress.refresh(row)
    values, preview = _values(row), None
    if not row.imported_at and not row.is_in_progress:
        try:
            preview = _preview(row, importing.preview_of(row))
        except ImportRefusedError as error:
            values["reason"] = values["reason"] or str(error)
    return FullImportOut(**values, formats=list(FORMATS), preview=preview)


def _preview(row: TranscriptImport, seen: Preview) -> PreviewOut:
    speakers = _speakers(row, seen)
    systems = {each.name: each.system for each in speakers}
    left_out = sum(seen.labels_left_out(systems, scripted_opening=row.scripted_opening).values())
    return PreviewOut(
        conversations=seen.conversations,
        turns=seen.turns,
        labels=seen.labels - left_out,
        labels_left_out=left_out,
        speakers=speakers,
        language=importing.language_guessed(row.study, seen),
        columns=seen.columns,
        header=seen.header,
        problems=[LineOut(line=each.line, what=each.what) for each in seen.problems[:MOST_NAMED]],
        problem_count=seen.problem_count,
    )


def _speakers(row: TranscriptImport, seen: Preview) -> list[SpeakerOut]:
    guessed = importing.guessed_systems(seen.speakers, talkers_judge=seen.talkers_judge) | row.systems
    return [SpeakerOut(name=name, turns=turns, system=guessed[name]) for name, turns in seen.speakers.items()]


def _import(request: HttpRequest, code: str, upload: int) -> TranscriptImport:
    return get_object_or_404(imports_of(request.user), study__code=code, pk=upload)


def _draft(request: HttpRequest, code: str, upload: int) -> TranscriptImport:
    found = _import(request, code, upload)
    if found.imported_at or found.is_in_progress:
        raise HttpError(409, "This file is imported already, or is being imported. Upload it again.")
    return found
