"""The REST API of a study that runs: pause it, resume it, tell those who are at work something."""

from django.core.exceptions import ValidationError
from django.shortcuts import get_object_or_404
from ninja import Body, Field, Router, Schema
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.crowd.running import pausing
from turnwise.live.http_responses import answers
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of

router = Router(tags=["studies"])


class RunningOut(Schema):
    """How a study runs."""

    state: str = Field(description="draft, open, paused or closed.")
    held: bool = Field(description="Whether those who have begun are held, too.")
    turned_away: int = Field(description="Visits turned away since it was paused.")
    under_way: int = Field(description="People who have begun and not ended.")
    message: str = Field(description="What those at work are told; empty: nothing.")


class PauseIn(Schema):
    """How to pause."""

    hold: bool = Field(False, description="Whether those who have begun are held, too; else they go on.")


class MessageIn(Schema):
    """What to tell those at work."""

    text: str = Field(description="Up to 300 characters; empty removes the message.")


def _study(request: AuthenticatedHttpRequest, code: str) -> Study:
    return get_object_or_404(studies_of(request.user), code=code)


def _running_status(study: Study) -> RunningOut:
    found = pausing.running_state(study)
    return RunningOut(
        state=study.state,
        held=bool(found.pause and found.pause.holds),
        turned_away=found.pause.turned_away if found.pause else 0,
        under_way=found.in_progress,
        message=found.notice.text if found.notice else "",
    )


@router.get("/studies/{slug:code}/running", response=answers(RunningOut, 404))
def running(request: AuthenticatedHttpRequest, code: str) -> RunningOut:
    """How a study of one's own runs."""
    return _running_status(_study(request, code))


@router.post("/studies/{slug:code}/pause", response=answers(RunningOut, 404, 409, has_body=True))
def pause(request: AuthenticatedHttpRequest, code: str, sent: Body[PauseIn | None] = None) -> RunningOut:
    """Admit nobody new. Of a paused study: say anew whether those in it are held."""
    study = _study(request, code)
    try:
        return _running_status(
            pausing.pause(study.pk, holds=bool(sent and sent.hold), by=request.user.get_username())
        )
    except ValidationError as error:
        raise HttpError(409, " ".join(error.messages)) from None


@router.post("/studies/{slug:code}/resume", response=answers(RunningOut, 404, 409))
def resume(request: AuthenticatedHttpRequest, code: str) -> RunningOut:
    """Admit people again; whoever was held goes on."""
    study = _study(request, code)
    try:
        return _running_status(pausing.resume(study.pk, by=request.user.get_username()))
    except ValidationError as error:
        raise HttpError(409, " ".join(error.messages)) from None


@router.put("/studies/{slug:code}/message", response=answers(RunningOut, 404, has_body=True))
def message(request: AuthenticatedHttpRequest, code: str, sent: Body[MessageIn]) -> RunningOut:
    """Tell everybody who is at work something, at once; an empty text takes it back."""
    study = _study(request, code)
    try:
        pausing.publish_notice(study.pk, sent.text, by=request.user.get_username())
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return _running_status(study)
