"""REST API of reports: read a study's newest figures, or compute them again."""

from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from ninja import Field, Router, Schema

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.live.http_responses import answers
from turnwise.live.jobs import is_sent
from turnwise.reports import queries, services
from turnwise.reports import tasks as jobs
from turnwise.reports.report_kinds import TaskWithReport
from turnwise.studies.models import Study
from turnwise.studies.queries import readable_studies_of, studies_of
from turnwise.studies.tasks import keys_of

NONE_YET = "There is no report yet. The first one is computed a few seconds after the first results."

router = Router(tags=["studies"])


class ReportOut(Schema):
    """A study's newest figures and the state of the newest computation."""

    state: str = Field(description="State of the newest computation: none, queued, running, ready or failed.")
    notice: str = Field(description="Why the figures are outdated or missing; empty if they are the newest.")
    computed_at: datetime | None = Field(description="Time of computation; null if there are no figures.")
    result: dict[str, Any] | None = Field(
        description="Every number and sentence, as in report.json of a bundle; null if there are none."
    )


def _with_report(studies: QuerySet[Study], code: str) -> Study:
    return get_object_or_404(studies.filter(task__in=keys_of(TaskWithReport)), code=code)


def _report_out(study: Study) -> ReportOut:
    newest, shown = queries.newest_report(study), queries.newest_result(study)
    return ReportOut(
        state=newest.state if newest else "none",
        notice=services.staleness(study, shown, newest) if newest else NONE_YET,
        computed_at=shown.finished_at if shown else None,
        result=shown.result if shown else None,
    )


@router.get("/studies/{slug:code}/report", response=answers(ReportOut, 404))
def report(request: AuthenticatedHttpRequest, code: str) -> ReportOut:
    """The newest figures of a study that you may read."""
    return _report_out(_with_report(readable_studies_of(request.user), code))


@router.post("/studies/{slug:code}/report", response=answers(ReportOut, 404))
def compute(request: AuthenticatedHttpRequest, code: str) -> ReportOut:
    """Compute the figures of your study now. They are also computed a few seconds after results change."""
    study = _with_report(studies_of(request.user), code)
    queued = services.queue_report(study)
    is_sent(partial(jobs.build_report.delay, queued.pk))
    return _report_out(study)
