"""REST API of knowledge bases: list, import as files, share, and read their content."""

from datetime import datetime
from typing import Annotated, Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from ninja import Field, Path, Router, Schema, Status

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.colleagues import UnknownPersonError, people_named
from turnwise.accounts.uploads_api import MOST_NAMED, reading_a_file
from turnwise.contexts.api import FileIn
from turnwise.contexts.tables import FileRefusedError
from turnwise.knowledge import files, services
from turnwise.knowledge.forms import BaseForm
from turnwise.knowledge.models import BaseVersion, KnowledgeBase
from turnwise.knowledge.queries import bases_of, built_from, editable_bases, versions_of
from turnwise.live.cursors import NEXT, Cursor, Limit, PathKey, page, page_of
from turnwise.live.http_responses import answers, takes_a_file
from turnwise.live.problems import InvalidFieldsError
from turnwise.live.submitted_forms import filled_form

router = Router(tags=["knowledge"])
Version = Annotated[int, Path(..., ge=1, le=2**31 - 1)]


class BaseFileIn(FileIn):
    """A file with a knowledge base: JSON, as its page takes it."""


class KnowledgeIn(BaseFileIn):
    """A new knowledge base with its first version."""

    title: str = Field(min_length=1, max_length=120)
    licence: str = Field(min_length=1, max_length=120)
    name: str = Field("", max_length=60, description="Empty: it is made from the title.")
    description: str = Field("", max_length=4000)


class KnowledgeSharingIn(Schema, extra="forbid"):
    """Who can read and use a base beside its owner and admins."""

    open_to_all: bool
    shared_with: list[str] = Field(max_length=200, description="Names by which they sign in.")


class KnowledgeVersionOut(Schema):
    """A version of a base; its content never changes."""

    id: int = Field(description="What `knowledge` takes in a study.")
    number: int
    entities: int
    articles: int
    configurations: str = Field(description="For which there are enough facts, such as ABCD.")
    origin: str
    created_at: datetime


class KnowledgeOut(Schema):
    """A knowledge base."""

    id: int
    name: str
    title: str
    licence: str
    description: str
    owner: str | None = Field(description="Nobody: it ships with Turnwise.")
    open_to_all: bool
    shared_with: list[str]
    versions: list[KnowledgeVersionOut] = Field(description="The newest first.")


class KnowledgePageOut(Schema):
    """A page of knowledge bases."""

    items: list[KnowledgeOut]
    next: str | None = NEXT


@router.get("/knowledge", response=answers(KnowledgePageOut, 400, 422))
def knowledge_bases(
    request: AuthenticatedHttpRequest, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the knowledge bases that you may use."""
    found, following = page_of(_with_versions(bases_of(request.user)), "knowledge", cursor, limit)
    return page([_base(each) for each in found], following)


@router.post(
    "/knowledge",
    response=answers(KnowledgeOut, 429, status=201, has_body=True),
    openapi_extra=takes_a_file(files.MAX_BYTES),
)
def import_knowledge(request: AuthenticatedHttpRequest, sent: KnowledgeIn) -> Status[KnowledgeOut]:
    """Import a file as a new knowledge base."""
    named = sent.model_dump(include={"name", "title", "licence", "description"})
    form = filled_form(lambda data: BaseForm(data, instance=KnowledgeBase(owner=request.user)), named)
    version = _imported(request, form.save(commit=False), sent)
    return Status(201, _at(request, version.base_id))


@router.post("/knowledge/open-knowledge", response=answers(KnowledgeOut))
def load_shipped_knowledge(request: AuthenticatedHttpRequest) -> KnowledgeOut:
    """Load the knowledge base that comes with Turnwise, for everybody. Safe to repeat."""
    return _at(request, services.load_shipped().base_id)


@router.get("/knowledge/{int:base}", response=answers(KnowledgeOut, 404))
def one_knowledge_base(request: AuthenticatedHttpRequest, base: PathKey) -> KnowledgeOut:
    """Get a knowledge base with its versions."""
    return _at(request, base)


@router.post(
    "/knowledge/{int:base}/versions",
    response=answers(KnowledgeOut, 404, 429, status=201, has_body=True),
    openapi_extra=takes_a_file(files.MAX_BYTES),
)
def import_knowledge_version(
    request: AuthenticatedHttpRequest, base: PathKey, sent: BaseFileIn
) -> Status[KnowledgeOut]:
    """Import a file as the next version of your own base; studies keep the version that they have."""
    _imported(request, get_object_or_404(editable_bases(request.user), pk=base), sent)
    return Status(201, _at(request, base))


@router.get("/knowledge/{int:base}/versions/{int:number}", response=answers(dict[str, Any], 404))
def knowledge_content(request: AuthenticatedHttpRequest, base: PathKey, number: Version) -> dict[str, Any]:
    """Get the content of a version, as a file that can be imported again."""
    return files.as_json(built_from(get_object_or_404(versions_of(request.user), base=base, number=number)))


@router.put("/knowledge/{int:base}/sharing", response=answers(KnowledgeOut, 404, 429, has_body=True))
def share_knowledge(
    request: AuthenticatedHttpRequest, base: PathKey, sent: KnowledgeSharingIn
) -> KnowledgeOut:
    """Set who can read and use your own base."""
    own = get_object_or_404(editable_bases(request.user), pk=base)
    try:
        people = people_named(sent.shared_with)
    except UnknownPersonError as error:
        raise InvalidFieldsError({"shared_with": [str(error)]}) from None
    services.share(own, named=people, open_to_all=sent.open_to_all)
    return _at(request, base)


def _imported(request: AuthenticatedHttpRequest, base: KnowledgeBase, sent: FileIn) -> BaseVersion:
    try:
        text = files.decoded(sent.text.encode())
    except FileRefusedError as error:
        raise InvalidFieldsError({"text": [str(error)]}) from None
    with reading_a_file(request):
        built = files.built_from_json(files.parse_in_subprocess(text))
    if built.problems:
        named = [f"{each.where}: {each.say}" for each in built.problems[:MOST_NAMED]]
        raise InvalidFieldsError({"text": named})
    try:
        with transaction.atomic():
            saved = base if base.pk else services.save_base(base)
            return services.import_version(saved, built, origin=sent.origin)
    except ValidationError as error:
        raise InvalidFieldsError.of(error) from None


def _with_versions(rows: QuerySet[KnowledgeBase]) -> QuerySet[KnowledgeBase]:
    return rows.select_related("owner").prefetch_related("versions", "shared_with")


def _at(request: AuthenticatedHttpRequest, base: int) -> KnowledgeOut:
    return _base(get_object_or_404(_with_versions(bases_of(request.user)), pk=base))


def _base(row: KnowledgeBase) -> KnowledgeOut:
    return KnowledgeOut(
        id=row.pk,
        name=row.name,
        title=row.title,
        licence=row.licence,
        description=row.description,
        owner=row.owner.username if row.owner else None,
        open_to_all=row.open_to_all,
        shared_with=sorted(person.username for person in row.shared_with.all()),
        versions=[
            KnowledgeVersionOut(
                id=each.pk,
                number=each.number,
                entities=each.entity_count,
                articles=each.article_count,
                configurations=each.configurations,
                origin=each.origin,
                created_at=each.created_at,
            )
            for each in row.versions.all()
        ],
    )
