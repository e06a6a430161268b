"""REST API of invited experts: invitations with their progress, and the declaration of adjudication."""

from typing import Annotated, Any
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from ninja import Field, Router, Schema, Status
from ninja.errors import HttpError
from pydantic import StringConstraints

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import PEOPLE
from turnwise.accounts.limits import too_often
from turnwise.crowd.models import Invitation
from turnwise.crowd.panels.links import PARAMETER
from turnwise.experts import disputes, invitations, services
from turnwise.experts.expert_views import experts_study
from turnwise.experts.forms import ADJUDICATOR, RATER, InviteForm
from turnwise.judging.queue.shares import LARGEST_SHARE
from turnwise.live.cursors import PathKey
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.problems import InvalidFieldsError
from turnwise.live.submitted_forms import filled_form
from turnwise.studies.models import Study
from turnwise.studies.rest.lookup import study_at
from turnwise.studies.sharing.permissions import Permission

router = Router(tags=["studies"])
Share = Annotated[int, Field(ge=0, le=LARGEST_SHARE, description="Items of this expert; 0: all.")]


class ExpertIn(Schema, extra="forbid"):
    """An expert to invite."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=254)]
    email: str = Field("", max_length=254, description="For letters that you send yourself.")
    share: Share = 0
    adjudicates: bool = Field(False, description="Whether they only decide where raters differ.")


class ExpertChangeIn(Schema, extra="forbid"):
    """A change of an expert's invitation."""

    share: Share


class ExpertOut(Schema):
    """An invited expert with the state of their work."""

    id: int
    name: str
    email: str
    adjudicates: bool
    share: int | None = Field(description="0: all items; null of an adjudicator.")
    worker: str = Field(description="Pseudonym in this study; empty until they have agreed.")
    done: int = Field(description="Items judged.")
    size: int | None = Field(description="Items of their batch; null before they begin.")
    decided: int = Field(description="Decisions of an adjudicator.")
    revoked: bool


class NewExpertOut(ExpertOut):
    """An invited expert with the link, which is shown this once."""

    link: str


class AdjudicationIn(Schema, extra="forbid"):
    """Whether an adjudicator decides where raters differ."""

    steps: Annotated[int, Field(ge=1, le=100)] | None = Field(
        description="Steps of a scale by which raters differ; null: no adjudication."
    )


class AdjudicationOut(Schema):
    """Whether an adjudicator decides where raters differ, and how far that has come."""

    steps: int | None
    judged: int = Field(description="Items with two judgments or more.")
    disputed: int = Field(description="Those on which raters differ.")
    decided: int = Field(description="Disputed items with a complete decision.")


@router.get("/studies/{slug:code}/experts", response=answers(list[ExpertOut], 404), openapi_extra=PEOPLE)
def invited_experts(request: AuthenticatedHttpRequest, code: str) -> list[ExpertOut]:
    """List the experts of a study with their progress, adjudicators last."""
    return [ExpertOut(**_values(row)) for row in invitations.experts_of(study_with_experts(request, code))]


@router.post(
    "/studies/{slug:code}/experts",
    response=answers(NewExpertOut, 404, 429, status=201, has_body=True),
    openapi_extra=PEOPLE,
)
def invite_expert(request: AuthenticatedHttpRequest, code: str, sent: ExpertIn) -> Status[NewExpertOut]:
    """Invite an expert; the answer has the personal link, this once. Nothing is mailed."""
    study = study_with_experts(request, code)
    if too_often(request, "experts", rate="300/h", key="user"):
        raise HttpError(429, "Experts can be invited 300 times an hour. Wait a little.")
    role = ADJUDICATOR if sent.adjudicates else RATER
    given = {"name": sent.name, "email": sent.email, "role": role, "share": sent.share or None}
    filled_form(InviteForm, given)
    try:
        invitation, secret = invitations.invite(
            study, sent.name, email=sent.email, share=sent.share, is_adjudicator=sent.adjudicates
        )
    except ValidationError as error:
        raise InvalidFieldsError.of(error) from None
    return Status(201, _new(request, invitation, secret))


@router.patch(
    "/studies/{slug:code}/experts/{int:expert}",
    response=answers(ExpertOut, 404, 409, has_body=True),
    openapi_extra=PEOPLE,
)
def change_expert(
    request: AuthenticatedHttpRequest, code: str, expert: PathKey, sent: ExpertChangeIn
) -> ExpertOut:
    """Change how many items an expert judges, until they have begun."""
    invitation = _invitation(request, code, expert)
    with refusals_as_conflicts():
        invitations.set_share(invitation, sent.share)
    return ExpertOut(**_row(invitation))


@router.post(
    "/studies/{slug:code}/experts/{int:expert}/link",
    response=answers(NewExpertOut, 404),
    openapi_extra=PEOPLE,
)
def replace_expert_link(request: AuthenticatedHttpRequest, code: str, expert: PathKey) -> NewExpertOut:
    """Replace an expert's link, also after it was revoked; the old one is invalid."""
    invitation = _invitation(request, code, expert)
    return _new(request, invitation, invitations.replace_link(invitation))


@router.post(
    "/studies/{slug:code}/experts/{int:expert}/revoke", response=answers(ExpertOut, 404), openapi_extra=PEOPLE
)
def revoke_expert(request: AuthenticatedHttpRequest, code: str, expert: PathKey) -> ExpertOut:
    """Make an expert's link invalid, and end their work; judgments stay. Safe to repeat."""
    invitation = _invitation(request, code, expert)
    invitations.revoke(invitation)
    return ExpertOut(**_row(invitation))


@router.delete(
    "/studies/{slug:code}/experts/{int:expert}", response=answers(ExpertOut, 404), openapi_extra=PEOPLE
)
def erase_expert(request: AuthenticatedHttpRequest, code: str, expert: PathKey) -> ExpertOut:
    """Erase an expert's name and e-mail address, and revoke the link; judgments stay. It cannot be undone."""
    invitation = _invitation(request, code, expert)
    invitations.erase(invitation)
    return ExpertOut(**_row(invitation))


@router.get("/studies/{slug:code}/adjudication", response=answers(AdjudicationOut, 404))
def adjudication(request: AuthenticatedHttpRequest, code: str) -> AdjudicationOut:
    """Get whether an adjudicator decides where raters differ, and how many items wait for a decision."""
    return _adjudication(study_with_experts(request, code))


@router.put("/studies/{slug:code}/adjudication", response=answers(AdjudicationOut, 404, 409, has_body=True))
def declare_adjudication(
    request: AuthenticatedHttpRequest, code: str, sent: AdjudicationIn
) -> AdjudicationOut:
    """Declare, before the study opens, that an adjudicator decides where raters differ."""
    study = study_with_experts(request, code)
    with refusals_as_conflicts():
        services.set_steps(study, sent.steps)
    return _adjudication(study)


def _adjudication(study: Study) -> AdjudicationOut:
    steps = disputes.adjudication_steps(study)
    judged = disputes.judged_items(study, steps) if steps else []
    disputed = [each for each in judged if each.open or each.is_decided]
    return AdjudicationOut(
        steps=steps,
        judged=len(judged),
        disputed=len(disputed),
        decided=sum(each.is_decided for each in disputed),
    )


def study_with_experts(
    request: AuthenticatedHttpRequest, code: str, permission: Permission = Permission.CHANGE
) -> Study:
    """The judging study with this code on which the person has the permission.

    Raises:
        Http404: there is none.
    """
    return experts_study(request, study_at(request, code, permission).pk, permission)


def _invitation(request: AuthenticatedHttpRequest, code: str, expert: int) -> Invitation:
    invited = study_with_experts(request, code).invitations.select_related("study").exclude(digest=None)
    found: Invitation = get_object_or_404(invited, pk=expert)
    return found


def _row(invitation: Invitation) -> dict[str, Any]:
    rows = invitations.experts_of(invitation.study)
    row = next((each for each in rows if each.invitation.pk == invitation.pk), None)
    if row is None:
        raise Http404
    return _values(row)


def _values(row: invitations.ExpertRow) -> dict[str, Any]:
    invited = row.invitation
    return {
        "id": invited.pk,
        "name": invited.name,
        "email": invited.email,
        "adjudicates": invited.is_adjudicator,
        "share": invited.share,
        "worker": row.pseudonym,
        "done": row.done,
        "size": row.size,
        "decided": row.decided,
        "revoked": invited.revoked_at is not None,
    }


def _new(request: AuthenticatedHttpRequest, invitation: Invitation, secret: str) -> NewExpertOut:
    if invitation.is_adjudicator:
        path = reverse("experts:enter", args=[secret])
    else:
        path = f"{invitation.study.get_entry_url()}?{urlencode({PARAMETER: secret})}"
    return NewExpertOut(**_row(invitation), link=request.build_absolute_uri(path))
