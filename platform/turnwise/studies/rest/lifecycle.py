"""Calls about the life of a study: checks before opening, open, close, copy, archive and restore."""

from collections.abc import Callable

from django.core.exceptions import ValidationError
from ninja import Field, Router, Schema, Status
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import TooManyAtOnceError
from turnwise.bots.trial import Greeting
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.studies import services
from turnwise.studies.models import Study
from turnwise.studies.opening_checks import checks, obstacle_among, open_study, try_bots
from turnwise.studies.rest.calls import StudyOut, study_out
from turnwise.studies.rest.lookup import study_at

router = Router(tags=["studies"])
CHECK_RUNNING = "You are having bots checked already, so nothing was tried or changed. Wait for the answer."


class CheckOut(Schema):
    """A check before the opening."""

    title: str = Field(description="What is checked.")
    says: str = Field(description="The result in a sentence.")
    holds: bool
    cure: str = Field(description="What to do if it fails; empty if it does not prevent the opening.")


class GreetingOut(Schema):
    """Answer of a bot to a greeting."""

    bot: str
    answered: bool
    says: str = Field(description="Its reply, or why there is none.")


class ChecksOut(Schema):
    """All checks before the opening."""

    can_open: bool = Field(description="Whether no check prevents the opening.")
    checks: list[CheckOut]
    bots: list[GreetingOut] = Field(description="Answers of its bots; empty unless they were greeted.")


class OpenedOut(Schema):
    """An opened study, and how its bots answered."""

    study: StudyOut
    bots: list[GreetingOut] = Field(description="A bot that does not answer gets no workers.")


@router.get("/studies/{slug:code}/checks", response=answers(ChecksOut, 404))
def opening_checks(request: AuthenticatedHttpRequest, code: str) -> ChecksOut:
    """Check a study before it opens; its bots are not asked."""
    return _checks(study_at(request, code), [])


@router.post("/studies/{slug:code}/checks", response=answers(ChecksOut, 404, 429))
def greet_bots(request: AuthenticatedHttpRequest, code: str) -> ChecksOut:
    """Check a study before it opens, and greet each of its bots once."""
    study = study_at(request, code)
    try:
        return _checks(study, try_bots(study, to=request.user))
    except TooManyAtOnceError:
        raise HttpError(429, CHECK_RUNNING) from None


def _checks(study: Study, greetings: list[Greeting]) -> ChecksOut:
    found = checks(study)
    return ChecksOut(
        can_open=obstacle_among(found) is None,
        checks=[
            CheckOut(title=str(each.title), says=str(each.says), holds=each.holds, cure=str(each.cure))
            for each in found
        ],
        bots=_greetings(greetings),
    )


def _greetings(greetings: list[Greeting]) -> list[GreetingOut]:
    return [GreetingOut(bot=str(each.bot), answered=each.answered, says=each.says) for each in greetings]


@router.post("/studies/{slug:code}/open", response=answers(OpenedOut, 404, 409, 429))
def open_for_workers(request: AuthenticatedHttpRequest, code: str) -> OpenedOut:
    """Open a study to workers, if no check prevents it and at least one of its bots answers."""
    study = study_at(request, code)
    try:
        greetings = open_study(study, to=request.user)
    except ValidationError as error:
        raise HttpError(409, " ".join(error.messages)) from None
    except TooManyAtOnceError:
        raise HttpError(429, CHECK_RUNNING) from None
    return OpenedOut(study=study_out(study_at(request, code)), bots=_greetings(greetings))


@router.post("/studies/{slug:code}/close", response=answers(StudyOut, 404, 409))
def close(request: AuthenticatedHttpRequest, code: str) -> StudyOut:
    """Close a study; work under way may be finished."""
    study = study_at(request, code)
    return _done(request, code, lambda: services.set_state(study.pk, Study.State.CLOSED))


@router.post("/studies/{slug:code}/archive", response=answers(StudyOut, 404, 409))
def archive(request: AuthenticatedHttpRequest, code: str) -> StudyOut:
    """Leave a study out of lists; nothing is deleted. Safe to repeat."""
    study = study_at(request, code)
    return _done(request, code, lambda: services.archive(study.pk))


@router.post("/studies/{slug:code}/restore", response=answers(StudyOut, 404, 409))
def restore(request: AuthenticatedHttpRequest, code: str) -> StudyOut:
    """Show an archived study in lists again. Safe to repeat."""
    study = study_at(request, code)
    return _done(request, code, lambda: services.unarchive(study.pk))


@router.post("/studies/{slug:code}/copy", response=answers(StudyOut, 404, status=201))
def copy(request: AuthenticatedHttpRequest, code: str) -> Status[StudyOut]:
    """Copy a study as a draft of your own, without its workers and results."""
    return Status(201, study_out(services.clone(study_at(request, code), owner=request.user)))


def _done(request: AuthenticatedHttpRequest, code: str, act: Callable[[], object]) -> StudyOut:
    with refusals_as_conflicts():
        act()
    return study_out(study_at(request, code))
