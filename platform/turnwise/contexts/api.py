"""REST API of context sets: list, import as files, read, and draw subsets.

Other calls that take files of text report problems by line as here.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Prefetch
from django.shortcuts import get_object_or_404
from ninja import Field, Path, Router, Schema, Status
from ninja.errors import HttpError
from pydantic import StringConstraints

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.uploads_api import MOST_NAMED, reading_a_file
from turnwise.contexts import reading, services
from turnwise.contexts.forms import ContextSetForm
from turnwise.contexts.models import Context, ContextSet, ContextSetVersion
from turnwise.contexts.queries import Filters, editable_sets, sets_of, versions_of
from turnwise.contexts.tables import MAX_BYTES, MAX_ROWS, FileRefusedError, Finding, decoded
from turnwise.live.cursors import NEXT, Cursor, Limit, PathKey, page, page_of
from turnwise.live.http_responses import answers, takes_a_file
from turnwise.live.problems import InvalidFieldsError
from turnwise.live.submitted_forms import filled_form


class FileIn(Schema, extra="forbid"):
    """A file in a request."""

    text: str = Field(min_length=1, description="The whole file.")
    origin: str = Field("", max_length=200, description="Its name, or where it comes from.")

    def content(self) -> str:
        """Text of the file, without a byte order mark.

        Raises:
            InvalidFieldsError: it is empty, too long, or no text.
        """
        try:
            return decoded(self.text.encode(), too_large="Split it into several.")
        except FileRefusedError as error:
            raise InvalidFieldsError({"text": [str(error)]}) from None


def refuse_findings(problems: Sequence[Finding]) -> None:
    """Refuse a file with problems.

    Raises:
        InvalidFieldsError: the first of them, with their lines.
    """
    if not problems:
        return
    named = [f"Line {each.line}: {each.say}" for each in problems[:MOST_NAMED]]
    if len(problems) > MOST_NAMED:
        named.append(f"There are {len(problems) - MOST_NAMED} further problems.")
    raise InvalidFieldsError({"text": named})


router = Router(tags=["contexts"])
Number = Annotated[int, Path(..., ge=1, le=2**31 - 1)]


class ContextFileIn(FileIn):
    """A file of contexts, as the page *Contexts* takes it."""

    format: Literal["jsonl", "csv", "txt"] = Field("jsonl", description="Kind of file.")
    language: str = Field(
        "en", min_length=2, max_length=10, description="Of contexts for which the file names none."
    )


class ContextSetIn(ContextFileIn):
    """A new set of contexts with its first version."""

    name: Annotated[str, StringConstraints(pattern=r"^[-a-zA-Z0-9_]{1,60}$")]
    title: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)]
    licence: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)]
    description: str = Field("", max_length=4000)


class SubsetIn(Schema, extra="forbid"):
    """Some contexts of a version, which become a set of their own."""

    number: int | None = Field(None, ge=1, le=MAX_ROWS, description="How many are drawn; null: all that fit.")
    seed: int = Field(1, ge=0, le=2**31)
    title: str = Field("", max_length=120, description="Empty: the title of the set, and how many.")
    turns: int | None = Field(None, ge=1, le=100, description="Only contexts of this many turns.")
    category: str = Field("", max_length=60)
    language: str = Field("", max_length=10)
    consistency: bool | None = Field(None, description="Only those that test consistency, or only others.")
    text: str = Field("", max_length=200, description="Only contexts in which this text stands.")


class ContextVersionOut(Schema):
    """A version of a set; its contexts never change."""

    id: int = Field(description="What `context_version` takes in the plan of a writing study.")
    number: int
    size: int = Field(description="How many contexts.")
    origin: str = Field(description="The file it came from, or how it was drawn.")
    created_at: datetime


class ContextSetOut(Schema):
    """A set of contexts."""

    id: int
    name: str
    title: str
    licence: str
    description: str
    owner: str | None = Field(description="Nobody: it ships with Turnwise.")
    versions: list[ContextVersionOut] = Field(description="The newest first.")


class ContextSetsOut(Schema):
    """A page of sets of contexts."""

    items: list[ContextSetOut]
    next: str | None = NEXT


class ContextOut(Schema):
    """A context."""

    id: str = Field(description="Its id in files; stable between versions.")
    turns: list[str] = Field(description="Oldest first.")
    category: str
    language: str
    consistency: bool
    material: list[str]
    extends: str = Field(description="Id of the context with all turns but the last.")


class ContextsOut(Schema):
    """A page of contexts."""

    items: list[ContextOut]
    next: str | None = NEXT


@router.get("/context-sets", response=answers(ContextSetsOut, 400, 422))
def context_sets(
    request: AuthenticatedHttpRequest, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the context sets that you may use."""
    found, following = page_of(_with_versions(request), "context sets", cursor, limit)
    return page([_set_out(each) for each in found], following)


@router.post(
    "/context-sets",
    response=answers(ContextSetOut, 429, status=201, has_body=True),
    openapi_extra=takes_a_file(MAX_BYTES),
)
def import_contexts(request: AuthenticatedHttpRequest, sent: ContextSetIn) -> Status[ContextSetOut]:
    """Import a file as a new set of contexts."""
    named = sent.model_dump(include={"name", "title", "licence", "description"})
    form = filled_form(lambda data: ContextSetForm(data, instance=ContextSet(owner=request.user)), named)
    version = _imported(request, form.save(commit=False), sent)
    return Status(201, _set_out(_set_at(request, version.context_set_id)))


@router.post("/context-sets/open-mtb", response=answers(ContextSetOut))
def load_shipped_contexts(request: AuthenticatedHttpRequest) -> ContextSetOut:
    """Load the contexts that come with Turnwise, Open MTB, for everybody. Safe to repeat."""
    return _set_out(_set_at(request, services.load_open_mtb().context_set_id))


@router.get("/context-sets/{int:context_set}", response=answers(ContextSetOut, 404))
def one_context_set(request: AuthenticatedHttpRequest, context_set: PathKey) -> ContextSetOut:
    """Get a context set with its versions."""
    return _set_out(_set_at(request, context_set))


@router.post(
    "/context-sets/{int:context_set}/versions",
    response=answers(ContextSetOut, 404, 429, status=201, has_body=True),
    openapi_extra=takes_a_file(MAX_BYTES),
)
def import_context_version(
    request: AuthenticatedHttpRequest, context_set: PathKey, sent: ContextFileIn
) -> Status[ContextSetOut]:
    """Import a file as the next version of your own set; studies keep the version that they have."""
    _imported(request, get_object_or_404(editable_sets(request.user), pk=context_set), sent)
    return Status(201, _set_out(_set_at(request, context_set)))


@router.get(
    "/context-sets/{int:context_set}/versions/{int:number}/contexts",
    response=answers(ContextsOut, 400, 404, 422),
)
def contexts(
    request: AuthenticatedHttpRequest,
    context_set: PathKey,
    number: Number,
    cursor: Cursor = "",
    limit: Limit = 100,
) -> dict[str, Any]:
    """List the contexts of a version."""
    version = _version(request, context_set, number)
    found, following = page_of(version.contexts.all(), f"contexts {version.pk}", cursor, limit)
    return page([_context_out(each) for each in found], following)


@router.post(
    "/context-sets/{int:context_set}/versions/{int:number}/subset",
    response=answers(ContextSetOut, 404, status=201, has_body=True),
)
def draw_contexts(
    request: AuthenticatedHttpRequest, context_set: PathKey, number: Number, sent: SubsetIn
) -> Status[ContextSetOut]:
    """Draw some contexts of a version as a set of your own. Safe to repeat: each title has it once."""
    version = _version(request, context_set, number)
    tests = "" if sent.consistency is None else "yes" if sent.consistency else "no"
    by = Filters(str(sent.turns or ""), sent.category, sent.language, tests, sent.text)
    try:
        drawn = services.draw_subset(
            version, by, number=sent.number, seed=sent.seed, owner=request.user, title=sent.title
        )
    except ValidationError as error:
        raise InvalidFieldsError({"number": error.messages}) from None
    return Status(201, _set_out(_set_at(request, drawn.context_set_id)))


def _imported(
    request: AuthenticatedHttpRequest, versioned: ContextSet, sent: ContextFileIn
) -> ContextSetVersion:
    """Import a file into a set, which may be new; all of it or nothing."""
    with reading_a_file(request):
        values = reading.parse_in_subprocess(sent.content(), sent.format, language=sent.language)
    parsed = reading.parsed_from_json(values)
    refuse_findings(parsed.problems)
    try:
        with transaction.atomic():
            stored = versioned if versioned.pk else services.save_set(versioned)
            return services.import_version(stored, parsed.rows, origin=sent.origin)
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None


def _with_versions(request: AuthenticatedHttpRequest) -> Any:
    versions = Prefetch("versions", ContextSetVersion.objects.order_by("-number"))
    return sets_of(request.user).select_related("owner").prefetch_related(versions)


def _set_at(request: AuthenticatedHttpRequest, pk: int) -> ContextSet:
    found: ContextSet = get_object_or_404(_with_versions(request), pk=pk)
    return found


def _version(request: AuthenticatedHttpRequest, context_set: int, number: int) -> ContextSetVersion:
    return get_object_or_404(versions_of(request.user), context_set=context_set, number=number)


def _set_out(row: ContextSet) -> ContextSetOut:
    return ContextSetOut(
        id=row.pk,
        name=row.name,
        title=row.title,
        licence=row.licence,
        description=row.description,
        owner=row.owner.get_username() if row.owner else None,
        versions=[
            ContextVersionOut(
                id=each.pk,
                number=each.number,
                size=each.size,
                origin=each.origin,
                created_at=each.created_at,
            )
            for each in row.versions.all()
        ],
    )


def _context_out(row: Context) -> ContextOut:
    return ContextOut(
        id=row.key,
        turns=row.turns,
        category=row.category,
        language=row.language,
        consistency=row.consistency,
        material=row.material,
        extends=row.extends,
    )
