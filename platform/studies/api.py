"""The REST API of studies: what their bots are, their tags, and who sees them besides their owner."""

from typing import Annotated, Literal

from django.core.exceptions import ValidationError
from django.shortcuts import get_object_or_404
from ninja import Body, Field, Path, Router, Schema
from ninja.errors import HttpError
from pydantic import StringConstraints

from accounts.limits import too_often
from accounts.requests import AuthenticatedHttpRequest
from live.answers import answers
from studies import services
from studies.facets import facets_of, set_facets
from studies.models import Share, Study
from studies.queries import owned_studies_of, studies_of

router = Router(tags=["studies"])

Facets = dict[str, dict[str, str]]


def _study(request: AuthenticatedHttpRequest, code: str) -> Study:
    return get_object_or_404(studies_of(request.user), code=code)


@router.get("/studies/{slug:code}/facets", response=answers(Facets, 404))
def facets(request: AuthenticatedHttpRequest, code: str) -> Facets:
    """By bot of the study, what it is: each facet with its level."""
    return facets_of(_study(request, code))


@router.put("/studies/{slug:code}/facets", response=answers(Facets, 404, has_body=True))
def change_facets(request: AuthenticatedHttpRequest, code: str, sent: Body[Facets]) -> Facets:
    """Say what these bots are; of others it stays. An empty level takes the facet away."""
    study = _study(request, code)
    try:
        set_facets(study, sent)
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return facets_of(study)


Tags = list[str]
# As Django takes the names of those who sign in.
Name = Annotated[str, StringConstraints(pattern=r"^[\w.@+-]{1,150}$")]


@router.get("/studies/{slug:code}/tags", response=answers(Tags, 404))
def tags(request: AuthenticatedHttpRequest, code: str) -> Tags:
    """The tags by which lists of studies are narrowed."""
    return _tagged(request, code).tags


@router.put("/studies/{slug:code}/tags", response=answers(Tags, 404, has_body=True))
def change_tags(request: AuthenticatedHttpRequest, code: str, sent: Body[Tags]) -> Tags:
    """Give the study these tags and no others; each becomes small letters and stands once."""
    study = _tagged(request, code)
    try:
        services.set_tags(study, sent)
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return study.tags


def _tagged(request: AuthenticatedHttpRequest, code: str) -> Study:
    return get_object_or_404(studies_of(request.user).filter(rehearsal_of=None), code=code)


class ShareOut(Schema):
    """Somebody who sees a study."""

    name: str = Field(description="By which they sign in.")
    role: Literal["read", "change"]


class ShareIn(Schema, extra="forbid"):
    """What somebody may do."""

    role: Literal["read", "change"] = Field(description="Read its results, or work on it.")


@router.get("/studies/{slug:code}/shares", response=answers(list[ShareOut], 404))
def shares(request: AuthenticatedHttpRequest, code: str) -> list[ShareOut]:
    """Who sees the study besides its owner, who alone may ask."""
    return [_shown(each) for each in _owned(request, code).shares.select_related("person")]


@router.put("/studies/{slug:code}/shares/{person}", response=answers(ShareOut, 404, 429, has_body=True))
def share(request: AuthenticatedHttpRequest, code: str, person: Path[Name], sent: ShareIn) -> ShareOut:
    """Let somebody read the study or work on it, or change which."""
    study = _owned(request, code)
    # Else the names of all who sign in could be guessed here.
    if too_often(request, "share", rate="60/h", key="user"):
        raise HttpError(429, "A study can be shared 60 times an hour. Wait a little.")
    try:
        return _shown(services.share(study, person, may_change=sent.role == "change"))
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None


@router.delete("/studies/{slug:code}/shares/{person}", response=answers(list[ShareOut], 404, 422))
def stop_sharing(request: AuthenticatedHttpRequest, code: str, person: Path[Name]) -> list[ShareOut]:
    """From now on this person sees the study no more. Says who still does."""
    study = _owned(request, code)
    for each in study.shares.filter(person__username=person):
        services.stop_sharing(study, each.person_id)
    return [_shown(each) for each in study.shares.select_related("person")]


def _owned(request: AuthenticatedHttpRequest, code: str) -> Study:
    return get_object_or_404(owned_studies_of(request.user), code=code)


def _shown(share: Share) -> ShareOut:
    return ShareOut(name=share.person.get_username(), role="change" if share.may_change else "read")
