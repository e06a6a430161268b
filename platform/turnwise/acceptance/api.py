"""REST API of the review of conversations: their measures, the limits, decisions, and bonuses."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from ninja import Body, Field, Query, Router, Schema

from evaluation.conversation.grounding import LIMITS
from turnwise.acceptance import queries, services
from turnwise.acceptance.models import Decision
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import PAYMENTS, PEOPLE
from turnwise.crowd.pay.ledger import LARGEST_BONUS
from turnwise.dialogues.models import Dialogue
from turnwise.live.cursors import NEXT, Cursor, page, page_of
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.problems import InvalidFieldsError
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of
from turnwise.studies.sharing.permissions import Permission
from turnwise.studies.tasks import keys_with_conversations

router = Router(tags=["studies"])
MOST_AT_ONCE = 100  # measures are computed from all texts
State = Annotated[
    Literal["", "pending", "accepted", "rejected"], Query("", description="Empty: conversations of all.")
]
Limit = Annotated[int, Query(25, ge=1, le=MOST_AT_ONCE, description="Most rows of a page.")]
Value = Annotated[float, Field(ge=0, le=1_000_000)]


class ReviewedOut(Schema):
    """A finished conversation with its measures and the decision about it."""

    dialogue: UUID
    state: str = Field(description="pending, accepted or rejected.")
    reason: str = Field(description="Why it was rejected.")
    by: str | None
    at: datetime | None
    measures: dict[str, float | None] = Field(description="By key of a limit; null: undefined.")
    broken: list[str] = Field(description="Keys of the measures beyond their limits.")


class ReviewedPageOut(Schema):
    """A page of finished conversations, the oldest first."""

    items: list[ReviewedOut]
    next: str | None = NEXT


class VerdictIn(Schema, extra="forbid"):
    """A decision about a conversation. Pay does not depend on it."""

    state: Literal["pending", "accepted", "rejected"]
    reason: str = Field("", max_length=services.MOST_WORDS, description="Needed to reject.")


class FittingIn(Schema, extra="forbid"):
    """Conversations that are accepted if they are pending and within all limits."""

    dialogues: Annotated[list[UUID], Field(min_length=1, max_length=MOST_AT_ONCE)]


class FittingOut(Schema):
    """Number of those accepted now; the others wait for a decision of their own, or have one."""

    accepted: int


class DialogueBonusIn(Schema, extra="forbid"):
    """A bonus for both speakers of an accepted conversation."""

    amount: Annotated[Decimal, Field(gt=0, le=LARGEST_BONUS, max_digits=6, decimal_places=2)]


class DialogueBonusOut(Schema):
    """Number of people who get the bonus."""

    people: int


@router.get(
    "/studies/{slug:code}/review", response=answers(ReviewedPageOut, 400, 404, 422), openapi_extra=PEOPLE
)
def reviewed_dialogues(
    request: AuthenticatedHttpRequest, code: str, state: State = "", cursor: Cursor = "", limit: Limit = 25
) -> dict[str, Any]:
    """List the finished conversations of a study with their measures, to accept or reject them."""
    study = _study(request, code)
    rows = queries.dialogues_to_review(study, state)
    found, following = page_of(rows, f"review {code} {state}", cursor, limit)
    return page(_reviewed(study, rows.filter(pk__in=[each.pk for each in found])), following)


@router.get("/studies/{slug:code}/review/limits", response=answers(dict[str, float | None], 404))
def review_limits(request: AuthenticatedHttpRequest, code: str) -> dict[str, float | None]:
    """Get the limits beyond which a conversation is marked, by key; null is not checked."""
    return services.limits_of(_study(request, code))


@router.patch(
    "/studies/{slug:code}/review/limits", response=answers(dict[str, float | None], 404, has_body=True)
)
def change_review_limits(
    request: AuthenticatedHttpRequest, code: str, sent: Body[dict[str, Value | None]]
) -> dict[str, float | None]:
    """Change some limits; earlier decisions stay. Shares are from 0 to 1."""
    study = _study(request, code)
    for key, value in sent.items():
        if key not in LIMITS:
            raise InvalidFieldsError({key[:40]: [f"There are these limits: {', '.join(LIMITS)}."]})
        if LIMITS[key].is_share and value is not None and value > 1:
            raise InvalidFieldsError({key: [f"{value:g} is no share. Send a number from 0 to 1, or null."]})
    services.set_limits(study, services.limits_of(study) | sent)
    return services.limits_of(study)


@router.post(
    "/studies/{slug:code}/review/accept",
    response=answers(FittingOut, 404, has_body=True),
    openapi_extra=PEOPLE,
)
def accept_fitting_dialogues(request: AuthenticatedHttpRequest, code: str, sent: FittingIn) -> FittingOut:
    """Accept those of up to 100 conversations that are pending and within all limits."""
    study = _study(request, code)
    return FittingOut(accepted=services.accept_fitting(study, sent.dialogues, by=request.user))


@router.put(
    "/studies/{slug:code}/review/{uuid:dialogue}",
    response=answers(ReviewedOut, 404, 409, has_body=True),
    openapi_extra=PEOPLE,
)
def decide_about_dialogue(
    request: AuthenticatedHttpRequest, code: str, dialogue: UUID, sent: VerdictIn
) -> ReviewedOut:
    """Accept or reject a conversation, or take the decision back. Repeating an acceptance changes nothing."""
    study = _study(request, code)
    found = _dialogue(study, dialogue)
    with refusals_as_conflicts():
        _decide(request, found, sent)
    return _reviewed(study, queries.dialogues_to_review(study).filter(pk=found.pk))[0]


def _decide(request: AuthenticatedHttpRequest, dialogue: Dialogue, sent: VerdictIn) -> None:
    if sent.state == "accepted":
        services.accept([dialogue], by=request.user)
        if Decision.objects.filter(dialogue=dialogue, state=Decision.State.REJECTED).exists():
            raise ValidationError(_("It is rejected. Take that back first, with the state “pending”."))
    elif sent.state == "rejected":
        services.reject(dialogue, reason=sent.reason, by=request.user)
    else:
        services.reset_decision(dialogue)


@router.post(
    "/studies/{slug:code}/review/{uuid:dialogue}/bonus",
    response=answers(DialogueBonusOut, 404, 409, has_body=True),
    openapi_extra=PAYMENTS,
)
def reward_dialogue(
    request: AuthenticatedHttpRequest, code: str, dialogue: UUID, sent: DialogueBonusIn
) -> DialogueBonusOut:
    """Give both speakers of an accepted conversation a bonus."""
    found = _dialogue(_study(request, code, Permission.PAY), dialogue)
    with refusals_as_conflicts():
        return DialogueBonusOut(people=services.reward(found, sent.amount, by=request.user))


def _reviewed(study: Study, dialogues: QuerySet[Dialogue]) -> list[ReviewedOut]:
    return [_row(each) for each in queries.review_rows(dialogues, services.limits_of(study))]


def _row(row: queries.ReviewRow) -> ReviewedOut:
    decision = row.decision
    return ReviewedOut(
        dialogue=row.dialogue.public_id,
        state=decision.state if decision else queries.PENDING,
        reason=decision.reason if decision else "",
        by=decision.by.username if decision and decision.by else None,
        at=decision.at if decision else None,
        measures={key: value for key, (value, _is_beyond) in row.measured.items()},
        broken=row.broken,
    )


def _study(request: AuthenticatedHttpRequest, code: str, permission: Permission = Permission.CHANGE) -> Study:
    studies = studies_of(request.user, permission).filter(task__in=keys_with_conversations())
    return get_object_or_404(studies, code=code)


def _dialogue(study: Study, dialogue: UUID) -> Dialogue:
    found: Dialogue = get_object_or_404(queries.dialogues_to_review(study), public_id=dialogue)
    return found
