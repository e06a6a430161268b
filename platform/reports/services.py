import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from reports import queries
from reports.computing import computation
from reports.models import Chart, Report
from reports.plots import svgs
from responses.locks import REPORTS, is_worked_on, only_here
from studies.models import Study

log = logging.getLogger(__name__)

AT_WORK = (Report.State.QUEUED, Report.State.RUNNING)
# A busy study finishes conversations every few seconds; one report for all of them is enough.
PAUSE_BETWEEN_REPORTS = timedelta(seconds=10)
# The message that starts a queued report can be lost with Redis; then it is sent again.
RESEND_AFTER = timedelta(seconds=60)
# A computation that fails says why; one whose process dies each time would be begun for ever.
MOST_ATTEMPTS = 3
DIED = (
    f"The process that computed it ended {MOST_ATTEMPTS} times before it was done, most likely for want of "
    f"memory. Give the Celery worker more (its log and the system's say how much it had), then compute the "
    f"report anew."
)


def queue_report(study: Study, *, now: datetime | None = None) -> Report:
    """The study's report at work, queued now if there is none."""
    at_work = study.reports.filter(state__in=AT_WORK).first()
    if at_work:
        return at_work
    try:
        with transaction.atomic():
            return Report.objects.create(
                study=study, results_version=study.results_version, requested_at=now or timezone.now()
            )
    except IntegrityError:  # another process queued one in the same moment
        return study.reports.get(state__in=AT_WORK)


def build_report(report_id: int) -> None:
    """Compute a queued report. Runs at most once at a time; a report that is done stays as it is."""
    with only_here(REPORTS, report_id) as mine:
        if not mine or not _begin(report_id):
            return
        try:
            _store_ready(report_id, _computed(report_id))
        except Exception as error:
            log.exception("Report %s failed.", report_id)
            _store(report_id, state=Report.State.FAILED, reason=f"{type(error).__name__}: {error}"[:2000])


def _begin(report_id: int) -> bool:
    waiting, now = Report.objects.filter(pk=report_id, state__in=AT_WORK), timezone.now()
    waiting.filter(attempts__gte=MOST_ATTEMPTS).update(
        state=Report.State.FAILED, reason=DIED, finished_at=now
    )
    begun = waiting.update(state=Report.State.RUNNING, started_at=now, attempts=F("attempts") + 1)
    return bool(begun)


def _store(report_id: int, **values: Any) -> None:
    Report.objects.filter(pk=report_id).update(finished_at=timezone.now(), **values)


@dataclass(frozen=True, slots=True)
class _Computed:
    results_version: int
    result: dict[str, Any]
    charts: dict[str, str]


def _computed(report_id: int) -> _Computed:
    """Everything that a ready report stores, from one snapshot of the database."""
    with queries.snapshot():
        study = Report.objects.select_related("study").get(pk=report_id).study
        compute = computation(study)
    result = compute()
    return _Computed(study.results_version, result, svgs(result))


@transaction.atomic
def _store_ready(report_id: int, computed: _Computed) -> None:
    """Store what was computed. Charts take room and can be drawn again, so only the newest are kept."""
    report = Report.objects.select_for_update().get(pk=report_id)
    Chart.objects.filter(report__study_id=report.study_id).delete()
    Chart.objects.bulk_create(
        Chart(report=report, name=name, svg=svg) for name, svg in computed.charts.items()
    )
    _store(
        report_id,
        state=Report.State.READY,
        results_version=computed.results_version,
        result=computed.result,
    )


def stale_studies(now: datetime) -> list[Study]:
    """Studies whose newest report, of any state, does not cover their newest results."""
    stale = []
    for study in Study.objects.exclude(state=Study.State.DRAFT).filter(results_version__gt=0):
        newest = study.reports.defer("result").first()
        if newest is None or (
            newest.state not in AT_WORK
            and newest.results_version < study.results_version
            and newest.requested_at < now - PAUSE_BETWEEN_REPORTS
        ):
            stale.append(study)
    return stale


def lost_reports(now: datetime) -> list[int]:
    """Queued reports whose message seems lost, and running ones whose process has died."""
    waiting = Report.objects.filter(state=Report.State.QUEUED, requested_at__lt=now - RESEND_AFTER)
    running = Report.objects.filter(state=Report.State.RUNNING).values_list("pk", flat=True)
    return [*waiting.values_list("pk", flat=True), *(pk for pk in running if not is_worked_on(REPORTS, pk))]


def staleness(study: Study, shown: Report | None, newest: Report | None) -> str:
    """Why the figures shown are not the newest, in a sentence; empty if they are."""
    if newest is None:
        return "No report has been computed yet. It starts by itself once there is finished work."
    if newest.state == Report.State.FAILED:
        kept = " The figures below are from the last one that worked." if shown else ""
        return f"The last computation failed: {newest.reason}{kept}"
    if newest.state in AT_WORK:
        return "A new report is being computed." if shown else "The first report is being computed."
    if newest.results_version < study.results_version:
        return "Results have changed since this report was computed. A new one starts in a few seconds."
    return ""
