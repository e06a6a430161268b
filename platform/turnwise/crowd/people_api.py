"""REST API of a study's people: exclusions and invitations."""

from typing import Annotated

from django.core.exceptions import ValidationError
from django.shortcuts import get_object_or_404
from ninja import Field, Path, Router, Schema, Status
from pydantic import StringConstraints

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import PEOPLE
from turnwise.crowd.models import Participation
from turnwise.crowd.panels import study_panels
from turnwise.crowd.panels.links import PARAMETER
from turnwise.crowd.places import ending
from turnwise.live.http_responses import answers
from turnwise.live.problems import InvalidFieldsError
from turnwise.studies.models import Study
from turnwise.studies.rest.lookup import study_at

router = Router(tags=["studies"])
Pseudonym = Annotated[str, StringConstraints(pattern=r"^[A-Z0-9]{1,20}$")]


class ExclusionIn(Schema, extra="forbid"):
    """An exclusion."""

    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class ExclusionOut(Schema):
    """Exclusion of a worker from the analysis of included workers."""

    worker: str
    excluded: bool
    reason: str


class InvitationsIn(Schema, extra="forbid"):
    """People to invite."""

    people: list[Annotated[str, StringConstraints(min_length=1, max_length=254)]] = Field(
        min_length=1, max_length=study_panels.MOST_INVITED_AT_ONCE, description="Names or e-mail addresses."
    )


class InvitationOut(Schema):
    """A personal link, which admits one person once."""

    name: str
    link: str
    used: bool
    panel_id: str


def _first(study: Study, worker: str) -> Participation:
    """The worker's first participation, which stands for all of them."""
    return get_object_or_404(Participation, study=study, number=1, pseudonym=worker)


@router.put(
    "/studies/{slug:code}/participants/{worker}/exclusion",
    response=answers(ExclusionOut, 404, has_body=True),
    openapi_extra=PEOPLE,
)
def exclude_participant(
    request: AuthenticatedHttpRequest, code: str, worker: Path[Pseudonym], sent: ExclusionIn
) -> ExclusionOut:
    """Exclude a worker from the analysis of included workers. Labels stay, and the pay is unchanged."""
    found = _first(study_at(request, code), worker)
    return _exclusion(ending.exclude(found.pk, reason=sent.reason, by=request.user))


@router.delete(
    "/studies/{slug:code}/participants/{worker}/exclusion",
    response=answers(ExclusionOut, 404, 422),
    openapi_extra=PEOPLE,
)
def include_participant(
    request: AuthenticatedHttpRequest, code: str, worker: Path[Pseudonym]
) -> ExclusionOut:
    """Undo an exclusion. Safe to repeat."""
    found = _first(study_at(request, code), worker)
    return _exclusion(ending.exclude(found.pk, reason="", by=request.user))


def _exclusion(row: Participation) -> ExclusionOut:
    return ExclusionOut(
        worker=row.pseudonym, excluded=row.excluded_at is not None, reason=row.excluded_reason
    )


@router.get(
    "/studies/{slug:code}/invitations", response=answers(list[InvitationOut], 404), openapi_extra=PEOPLE
)
def invitations(request: AuthenticatedHttpRequest, code: str) -> list[InvitationOut]:
    """List the personal links of a study, and whether they were used."""
    return _invitations(request, study_at(request, code))


@router.post(
    "/studies/{slug:code}/invitations",
    response=answers(list[InvitationOut], 404, status=201, has_body=True),
    openapi_extra=PEOPLE,
)
def invite_people(
    request: AuthenticatedHttpRequest, code: str, sent: InvitationsIn
) -> Status[list[InvitationOut]]:
    """Make a personal link for each of these people who has none yet. Returns all links of the study."""
    study = study_at(request, code)
    try:
        names = study_panels.parse_invited_people("\n".join(sent.people))
    except ValidationError as error:
        raise InvalidFieldsError({"people": error.messages}) from None
    study_panels.invite(study, names)
    return Status(201, _invitations(request, study))


def _invitations(request: AuthenticatedHttpRequest, study: Study) -> list[InvitationOut]:
    entry = request.build_absolute_uri(study.get_entry_url())
    return [
        InvitationOut(
            name=row.name, link=f"{entry}?{PARAMETER}={row.token}", used=has_come, panel_id=row.panel_id
        )
        for row, has_come in study_panels.invitations(study)
    ]
