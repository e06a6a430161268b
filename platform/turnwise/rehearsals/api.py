"""REST API of rehearsals: start one, follow it, read its findings, delete it."""

from datetime import datetime
from functools import partial

from django.db import transaction
from django.http import Http404
from django.shortcuts import get_object_or_404
from ninja import Body, Field, Router, Schema, Status
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.jobs import NOT_STARTED, is_sent
from turnwise.rehearsals import run
from turnwise.rehearsals import tasks as jobs
from turnwise.rehearsals.models import Attempt
from turnwise.rehearsals.rehearsed_task import MOST_WORKERS
from turnwise.rehearsals.services import delete_rehearsal as delete
from turnwise.rehearsals.services import enough_workers
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of
from turnwise.trash.api import DeletionOut, deletion_out

router = Router(tags=["studies"])


class FindingOut(Schema):
    """An injected effect, compared with the report."""

    holds: bool | None = Field(description="Whether the report shows it; null if that cannot be told.")
    words: str


class RehearsalOut(Schema):
    """The newest rehearsal of a study."""

    state: str = Field(description="none, queued, running, done or failed.")
    reason: str = Field(description="Why it failed; empty otherwise.")
    workers: int = Field(description="Simulated workers; before the first rehearsal, how many are enough.")
    done: int = Field(description="Workers who are through.")
    study: str | None = Field(description="Code of the rehearsed copy, with its report and bundle.")
    verdict: str = Field(description="What came of it; empty before the end.")
    holds: bool | None = Field(description="Whether all findings hold.")
    findings: list[FindingOut]
    finished_at: datetime | None


class RehearsalIn(Schema, extra="forbid"):
    """A rehearsal to start."""

    workers: int | None = Field(
        None, ge=1, le=MOST_WORKERS, description="Simulated workers; null: as many as are enough."
    )


@router.get("/studies/{slug:code}/rehearsal", response=answers(RehearsalOut, 404))
def rehearsal(request: AuthenticatedHttpRequest, code: str) -> RehearsalOut:
    """Get the progress and the findings of a study's newest rehearsal."""
    return _status(_study(request, code))


@router.post(
    "/studies/{slug:code}/rehearsal", response=answers(RehearsalOut, 404, 409, 503, status=202, has_body=True)
)
def start_rehearsal(
    request: AuthenticatedHttpRequest, code: str, sent: Body[RehearsalIn | None] = None
) -> Status[RehearsalOut]:
    """Let simulated workers try the study; an earlier rehearsal is replaced."""
    study = _study(request, code)
    workers = (sent.workers if sent else None) or enough_workers(study)
    with refusals_as_conflicts():
        run.create_attempt(study, workers, by=request.user)
    if not is_sent(partial(jobs.rehearse.delay, study.pk, workers)):
        run.fail_attempt(study, str(NOT_STARTED))
        raise HttpError(503, str(NOT_STARTED))
    return Status(202, _status(study))


@router.delete("/studies/{slug:code}/rehearsal", response=answers(DeletionOut, 404))
def delete_rehearsal(request: AuthenticatedHttpRequest, code: str) -> DeletionOut:
    """Delete a study's rehearsal with its simulated workers; it can be put back for a day."""
    study = _study(request, code)
    copy = Study.objects.filter(rehearsal_of=study).first()
    if copy is None:
        raise Http404
    with transaction.atomic():
        return deletion_out(delete(copy).store(copy.title, by=request.user, study=study))


def _study(request: AuthenticatedHttpRequest, code: str) -> Study:
    return get_object_or_404(studies_of(request.user).filter(rehearsal_of=None), code=code)


def _status(study: Study) -> RehearsalOut:
    attempt = Attempt.objects.filter(study=study).first()
    attempt = run.refresh_attempt(attempt) if attempt else None
    copy = Study.objects.filter(rehearsal_of=study).select_related("outcome").first()
    outcome = getattr(copy, "outcome", None)
    return RehearsalOut(
        state=attempt.state if attempt else "none",
        reason=attempt.reason if attempt else "",
        workers=attempt.workers if attempt else enough_workers(study),
        done=attempt.done if attempt else 0,
        study=copy.code if copy else None,
        verdict=outcome.verdict if outcome else "",
        holds=outcome.holds if outcome else None,
        findings=[FindingOut(**each) for each in outcome.findings] if outcome else [],
        finished_at=outcome.finished_at if outcome else None,
    )
