"""REST API of the agreement of chatters with readers: read it, and have it computed."""

from typing import Annotated, Any

from django.http import Http404
from django.utils import timezone
from ninja import Field, Query, Router, Schema
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.judging import tasks
from turnwise.judging.readers import reader_comparison
from turnwise.live.http_responses import answers
from turnwise.studies.models import Ask
from turnwise.studies.rest.lookup import study_at

router = Router(tags=["studies"])
AskNumber = Annotated[int, Query(0, ge=0, le=32767, description="Number of the ask.")]


class ReaderAgreementOut(Schema):
    """Agreement of those who chatted with readers of another study who judged the same."""

    ask: int = Field(description="Number of the ask.")
    state: str = Field(
        description="Of the newest comparison: none, queued, running, ready, failed, or nothing-in-common if "
        "no reader has judged what a chatter judged."
    )
    outdated: bool = Field(description="Whether labels were added or changed since.")
    reason: str = Field(description="Why it failed; else empty.")
    bots: list[dict[str, Any]] = Field(
        description="By bot: its title (`bot`), how many `turns` both judged, and in `scores` the score of "
        "each party, their difference, and Cohen's kappa."
    )


@router.get("/studies/{slug:code}/readers", response=answers(ReaderAgreementOut, 404, 422))
def reader_agreement(request: AuthenticatedHttpRequest, code: str, ask: AskNumber) -> ReaderAgreementOut:
    """Read how far the chatters' labels agree with those of readers."""
    return _agreement(_ask(request, code, ask))


@router.post("/studies/{slug:code}/readers", response=answers(ReaderAgreementOut, 404, 409, 422))
def compare_with_readers(request: AuthenticatedHttpRequest, code: str, ask: AskNumber) -> ReaderAgreementOut:
    """Have the labels of chatters and readers compared. The earlier result stays until then."""
    compared = _ask(request, code, ask)
    now = timezone.now()
    if reader_comparison.comparison_status(compared, now=now) is None:
        raise HttpError(409, "No reader has judged what a chatter of this study judged.")
    tasks.start_comparison(compared, now=now)
    return _agreement(compared)


def _ask(request: AuthenticatedHttpRequest, code: str, number: int) -> Ask:
    for ask in study_at(request, code).work_asks:
        if ask.number == number:
            return ask
    raise Http404


def _agreement(ask: Ask) -> ReaderAgreementOut:
    status = reader_comparison.comparison_status(ask, now=timezone.now())
    known = status.agreement if status else None
    return ReaderAgreementOut(
        ask=ask.number,
        state=known.state if known else "none" if status else "nothing-in-common",
        outdated=bool(status and status.is_outdated),
        reason=known.reason if known else "",
        bots=known.figures if known else [],
    )
