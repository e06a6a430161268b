"""The REST API of question sets. Every call carries a token: `Authorization: Bearer turnwise_…`."""

from datetime import datetime
from typing import Annotated, Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from ninja import Body, Field, Router, Schema, Status
from pydantic import PlainSerializer, WrapValidator

from evaluation.questions import QUESTION_SETS
from evaluation.questions.schema import Declaration
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.live.http_responses import answers
from turnwise.questions import services
from turnwise.questions.models import SetVersion
from turnwise.questions.queries import editable_sets, newest_of, readable, sets_of
from turnwise.questions.question_sets import question_set

router = Router(tags=["question sets"])


# Described by the schema of declarations, and left as it came: services check it, for pages as well.
Declared = Annotated[
    Declaration, WrapValidator(lambda value, handler: value), PlainSerializer(lambda value: value)
]


class SetOut(Schema):
    name: str = Field(description="Of a set that comes with Turnwise, its key.")
    key: str = Field(description="Of the newest version: what studies and files call it.")
    title: str
    subjects: list[str]
    owner: str | None = Field(description="Nobody: it comes with Turnwise.")
    shared: bool
    versions: int


class QuestionSetVersionOut(Schema):
    key: str
    created_at: datetime | None
    declaration: Declared = Field(description="As docs/questions.md describes it.")


@router.get("/question-sets", response=answers(list[SetOut]))
def question_sets(request: AuthenticatedHttpRequest) -> list[dict[str, Any]]:
    """Every set that may be used: those that come with Turnwise, one's own, and what others share."""
    shipped = [_set_out(key, name=key, owner=None, shared=True, versions=1) for key in sorted(QUESTION_SETS)]
    return shipped + [_researcher_set_out(each) for each in newest_of(sets_of(request.user))]


def _researcher_set_out(newest: SetVersion) -> dict[str, Any]:
    own_set = newest.own_set
    return _set_out(
        newest.key,
        name=own_set.name,
        owner=own_set.owner.get_username(),
        shared=own_set.shared,
        versions=newest.number,
    )


def _set_out(key: str, **about: Any) -> dict[str, Any]:
    found = question_set(key)
    return about | {"key": key, "title": found.title, "subjects": sorted(found.subjects)}


@router.post("/question-sets", response=answers(QuestionSetVersionOut, 409, status=201, has_body=True))
def create(request: AuthenticatedHttpRequest, declaration: Body[Declared]) -> Status[dict[str, Any]]:
    """A new set with its first version; the key of the declaration becomes its name."""
    return Status(201, _version(services.create_set(declaration, owner=request.user)))


@router.get("/question-sets/{slug:key}", response=answers(QuestionSetVersionOut, 404))
def one(request: AuthenticatedHttpRequest, key: str) -> dict[str, Any]:
    """A declaration: of a version by its key, or of the newest by the name of the set."""
    newest = newest_of(sets_of(request.user)).filter(own_set__name=key).first()
    wanted = newest.key if newest else key
    if not readable(request.user, wanted):
        raise Http404
    version = SetVersion.objects.filter(key=wanted).first()
    if version:
        return _version(version)
    return {"key": wanted, "created_at": None, "declaration": question_set(wanted).to_json()}


@router.post(
    "/question-sets/{slug:name}/versions",
    response=answers(QuestionSetVersionOut, 404, status=201, has_body=True),
)
def add_version(
    request: AuthenticatedHttpRequest, name: str, declaration: Body[Declared]
) -> Status[dict[str, Any]]:
    """The next version of a set of one's own. Studies keep the version that they ask."""
    own_set = get_object_or_404(editable_sets(request.user), name=name)
    return Status(201, _version(services.add_version(own_set.pk, declaration, by=request.user)))


class SetChange(Schema, extra="forbid"):
    """Changes of a set of your own; what is left out stays."""

    shared: bool | None = Field(None, description="Whether every researcher here may read and use it.")
    archived: bool | None = Field(
        None, description="Whether lists and new studies leave it out; studies that ask it go on."
    )


@router.patch("/question-sets/{slug:key}", response=answers(SetOut, 404, has_body=True))
def change_set(request: AuthenticatedHttpRequest, key: str, sent: SetChange) -> dict[str, Any]:
    """Share or archive a set of your own, or take that back; by its name, or the key of a version."""
    own_set = get_object_or_404(editable_sets(request.user), name=services.name_of(key))
    if sent.shared is not None:
        services.set_shared(own_set.pk, sent.shared)
    if sent.archived is not None:
        services.set_archived(own_set.pk, sent.archived)
    return _researcher_set_out(newest_of(editable_sets(request.user)).get(own_set=own_set))


def _version(version: SetVersion) -> dict[str, Any]:
    return {"key": version.key, "created_at": version.created_at, "declaration": version.declaration}
