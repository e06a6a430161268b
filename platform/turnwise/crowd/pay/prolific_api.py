"""REST API of a study at Prolific: its state there, its places, bonuses, and requests about people."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, TypeVar

from django.shortcuts import get_object_or_404
from ninja import Field, Router, Schema
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import PAYMENTS, PEOPLE
from turnwise.crowd.models import PanelAct, StudyPanel
from turnwise.crowd.panels.prolific import (
    NoTokenError,
    OutcomeUnknownError,
    ProlificApi,
    RefusedByPanelError,
)
from turnwise.crowd.pay import panel_acts
from turnwise.crowd.pay.payment_views import MOST_PLACES
from turnwise.live.cursors import NEXT, Cursor, Limit, PathKey, page, page_of
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.studies.rest.lookup import study_at
from turnwise.studies.sharing.permissions import Permission

router = Router(tags=["studies"])
T = TypeVar("T")
NO_TOKEN = (
    "This study names no token for Prolific. Set `token` and `their_study` of its panel “prolific” with "
    "PUT …/panels."
)


class ProlificOut(Schema):
    """State of a study at Prolific."""

    name: str
    status: str = Field(description="As Prolific calls it, such as UNPUBLISHED, ACTIVE or PAUSED.")
    places: int
    taken: int = Field(description="Places that people have taken.")


class SteerIn(Schema, extra="forbid"):
    """A change of the study at Prolific."""

    action: Literal["PUBLISH", "PAUSE", "START", "STOP"]


class PlacesIn(Schema, extra="forbid"):
    """The number of places at Prolific."""

    places: int = Field(ge=1, le=MOST_PLACES)


class BonusesOut(Schema):
    """Bonuses that were requested at Prolific."""

    people: int
    total: Decimal
    currency: str


class RequestOut(Schema):
    """A request to Prolific about a person."""

    id: int
    worker: str
    kind: str = Field(description="approve, reject, bonus or message.")
    state: str = Field(description="waiting, sending, done, failed or unsure.")
    amount: Decimal | None
    text: str
    by: str
    tries: int
    problem: str
    done_at: datetime | None


class RequestsOut(Schema):
    """A page of requests, the newest first."""

    items: list[RequestOut]
    next: str | None = NEXT


class SettledIn(Schema, extra="forbid"):
    """What you found at Prolific about a request that failed or whose outcome is unknown."""

    was_done: bool = Field(description="If not, it is sent again.")


@router.get("/studies/{slug:code}/prolific", response=answers(ProlificOut, 404, 409))
def prolific_state(request: AuthenticatedHttpRequest, code: str) -> ProlificOut:
    """Get the state of a study at Prolific, asked just now."""
    return _state(_setup(request, code))


@router.post("/studies/{slug:code}/prolific/state", response=answers(ProlificOut, 404, 409, has_body=True))
def steer_prolific(request: AuthenticatedHttpRequest, code: str, sent: SteerIn) -> ProlificOut:
    """Publish, pause, start or stop the study at Prolific."""
    setup = _setup(request, code)
    _from_prolific(lambda: ProlificApi(setup).transition(sent.action))
    return _state(setup)


@router.put("/studies/{slug:code}/prolific/places", response=answers(ProlificOut, 404, 409, has_body=True))
def set_prolific_places(request: AuthenticatedHttpRequest, code: str, sent: PlacesIn) -> ProlificOut:
    """Set the number of places at Prolific."""
    setup = _setup(request, code)
    _from_prolific(lambda: ProlificApi(setup).set_places(sent.places))
    return _state(setup)


@router.post(
    "/studies/{slug:code}/prolific/bonuses", response=answers(BonusesOut, 404, 409), openapi_extra=PAYMENTS
)
def request_prolific_bonuses(request: AuthenticatedHttpRequest, code: str) -> BonusesOut:
    """Pay over Prolific what is due beyond approval: bonuses and partial pay. Nobody is paid twice."""
    study = _setup(request, code, Permission.PAY).study
    people, total = panel_acts.pay_bonuses(study, by=request.user.get_username())
    return BonusesOut(people=people, total=total, currency=study.pay_currency)


@router.get(
    "/studies/{slug:code}/prolific/requests",
    response=answers(RequestsOut, 400, 404, 409, 422),
    openapi_extra=PEOPLE,
)
def prolific_requests(
    request: AuthenticatedHttpRequest, code: str, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the requests to Prolific about people: approvals, rejections, bonuses and messages."""
    rows = _setup(request, code).study.panel_acts.select_related("participation")
    found, following = page_of(rows, f"prolific requests {code}", cursor, limit, newest_first=True)
    return page([_request(each) for each in found], following)


@router.post(
    "/studies/{slug:code}/prolific/requests/{int:act}/settle",
    response=answers(RequestOut, 404, 409, has_body=True),
    openapi_extra=PAYMENTS,
)
def settle_prolific_request(
    request: AuthenticatedHttpRequest, code: str, act: PathKey, sent: SettledIn
) -> RequestOut:
    """Note whether a request was carried out at Prolific, if that was unknown or it failed."""
    study = _setup(request, code, Permission.PAY).study
    found: PanelAct = get_object_or_404(study.panel_acts, pk=act)
    with refusals_as_conflicts():
        panel_acts.settle(found, was_done=sent.was_done)
    return _request(study.panel_acts.select_related("participation").get(pk=act))


def _setup(
    request: AuthenticatedHttpRequest, code: str, permission: Permission = Permission.CHANGE
) -> StudyPanel:
    study = study_at(request, code, permission)
    setup = study.panels.select_related("study__owner").filter(panel="prolific").exclude(token="").first()
    if setup is None:
        raise HttpError(409, NO_TOKEN)
    return setup


def _state(setup: StudyPanel) -> ProlificOut:
    found = _from_prolific(lambda: ProlificApi(setup).study())
    return ProlificOut(name=found.name, status=found.status, places=found.places, taken=found.taken)


def _from_prolific(ask: Callable[[], T]) -> T:
    """Answer of Prolific, or a problem document that says why there is none."""
    try:
        return ask()
    except (NoTokenError, RefusedByPanelError) as error:
        raise HttpError(409, str(error)) from None
    except OutcomeUnknownError as error:
        raise HttpError(503, f"{error} It is unknown whether this was carried out: look there.") from None


def _request(row: PanelAct) -> RequestOut:
    return RequestOut(
        id=row.pk,
        worker=row.participation.pseudonym,
        kind=row.kind,
        state=row.state,
        amount=row.amount,
        text=row.text,
        by=row.by,
        tries=row.tries,
        problem=row.problem,
        done_at=row.done_at,
    )
