import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, InterfaceError, OperationalError, connection, transaction
from django.db.models import F, Q
from django.urls import reverse
from django.utils import timezone

from turnwise.crowd.models import Participation, Withdrawal
from turnwise.crowd.places.ending import save_proposed_exclusions, save_signs
from turnwise.judging.queries import judgments_by_study, judgments_in
from turnwise.live.jobs import REPORTS, describe_failure, exclusive_lock, is_locked
from turnwise.live.published_events import Event, EventType, publish
from turnwise.quality import flagging
from turnwise.reports import descriptions, queries
from turnwise.reports.descriptions import departures_of
from turnwise.reports.models import Chart, Report
from turnwise.reports.report_kinds import TaskWithReport, task_with_report
from turnwise.studies.models import Bundle, LastExport, Study
from turnwise.studies.queries import counts_of
from turnwise.studies.services import close_by_rule
from turnwise.studies.tasks import keys_of

if TYPE_CHECKING:
    from turnwise.charts.drawing import Drawing

log = logging.getLogger(__name__)

IN_PROGRESS = (Report.State.QUEUED, Report.State.RUNNING)
# A busy study finishes conversations every few seconds; one report for all of them is enough.
PAUSE_BETWEEN_REPORTS = timedelta(seconds=10)
PAUSE_BETWEEN_INTERIM_EVENTS = timedelta(hours=1)
# Redis can lose the message that starts a queued report; after this time it is sent again.
RESEND_AFTER = timedelta(seconds=60)
# A limit, because a computation that kills its process each time would be restarted forever.
MAX_ATTEMPTS = 3
PROCESS_DIED = (
    f"The process that computed the report ended {MAX_ATTEMPTS} times before it finished, most likely for "
    "lack of memory. Give the Celery worker more memory (its log and the system log say how much it had), "
    "then compute the report again."
)


def queue_report(study: Study, *, now: datetime | None = None) -> Report:
    """The study's report in progress; queues one if there is none."""
    at_work = study.reports.filter(state__in=IN_PROGRESS).first()
    if at_work:
        return at_work
    try:
        with transaction.atomic():
            return Report.objects.create(
                study=study,
                results_version=study.results_version,
                judgments=judgments_in(study),
                requested_at=now or timezone.now(),
            )
    except IntegrityError:  # another process queued one at the same moment
        return study.reports.get(state__in=IN_PROGRESS)


def build_report(report_id: int) -> None:
    """Compute a queued report. Only one process computes it at a time; a finished report is not changed."""
    with exclusive_lock(REPORTS, report_id) as mine:
        if not mine or not _begin(report_id):
            return
        try:
            _store_ready(report_id, _compute(report_id))
        except (OperationalError, InterfaceError):
            # A lost or full database is no fault of the report: it is computed again.
            log.exception("Report %s was interrupted.", report_id)
            connection.close()
        except Exception as error:
            log.exception("Report %s failed.", report_id)
            _store(report_id, state=Report.State.FAILED, reason=describe_failure(error))
        else:
            update_worker_flags(report_id)


def update_worker_flags(report_id: int) -> None:
    """Update the quality flags of workers in a report's study. Failure does not affect the report."""
    study = Report.objects.select_related("study").get(pk=report_id).study
    if study.rehearsal_of_id is not None:  # its workers are programs
        return
    try:
        flagging.update_flags(study)
    except Exception:
        log.exception("The quality flags of workers in %s could not be updated.", study)


def _begin(report_id: int) -> bool:
    waiting, now = Report.objects.filter(pk=report_id, state__in=IN_PROGRESS), timezone.now()
    waiting.filter(attempts__gte=MAX_ATTEMPTS).update(
        state=Report.State.FAILED, reason=PROCESS_DIED, finished_at=now
    )
    begun = waiting.update(state=Report.State.RUNNING, started_at=now, attempts=F("attempts") + 1)
    if begun:
        _delete_withdrawn(report_id)
    return bool(begun)


def _delete_withdrawn(report_id: int) -> None:
    """Delete older results, which may quote data withdrawn since."""
    study = Report.objects.values("study").filter(pk=report_id)
    last = Withdrawal.objects.filter(participation__study__in=study).order_by("-at").first()
    if last:
        older = Report.objects.filter(study__in=study, requested_at__lte=last.at).exclude(
            state__in=IN_PROGRESS
        )
        older.delete()


def _store(report_id: int, **values: Any) -> None:
    Report.objects.filter(pk=report_id).update(finished_at=timezone.now(), **values)


@dataclass(frozen=True, slots=True)
class _ReadyReport:
    results_version: int
    judgments: int
    result: dict[str, Any]
    departures: list[str] | None
    charts: "dict[str, Drawing]"


def _compute(report_id: int) -> _ReadyReport:
    """Compute everything that a ready report stores, from one snapshot of the database."""
    from turnwise.charts.drawing import drawings

    before = Report.objects.select_related("study").get(pk=report_id).study
    task_with_report(before).prepare(before)
    with queries.snapshot():
        study = Report.objects.select_related("study").get(pk=report_id).study
        compute = descriptions.computation(study)
        judgments, departures = judgments_in(study), departures_of(study)
    result = compute()
    return _ReadyReport(study.results_version, judgments, result, departures, drawings(result))


@transaction.atomic
def _store_ready(report_id: int, computed: _ReadyReport) -> None:
    """Store a computed report. Charts are large and can be drawn again, so only the newest stay."""
    report = Report.objects.select_for_update().get(pk=report_id)
    Chart.objects.filter(report__study_id=report.study_id).delete()
    Chart.objects.bulk_create(
        Chart(report=report, name=name, svg=drawn.svg, narrow_svg=drawn.narrow_svg)
        for name, drawn in computed.charts.items()
    )
    undecided = _undecided(report.study_id)
    flagged = computed.result.get("flagged") or {"workers": []}
    save_signs(report.study_id, {each["worker"]: each["reason"] for each in flagged["workers"]})
    proposed = computed.result.get("proposed") or {"workers": []}
    save_proposed_exclusions(
        report.study_id, {each["worker"]: each["reason"] for each in proposed["workers"]}
    )
    _store(
        report_id,
        state=Report.State.READY,
        results_version=computed.results_version,
        judgments=computed.judgments,
        result=computed.result,
        departures=computed.departures,
    )
    if rule_figures := computed.result.get("stopping"):
        close_by_rule(report.study_id, rule_figures)
    _publish_ready(report)
    if new := _undecided(report.study_id) - undecided:
        _publish_waiting(report.study, len(new))


def _undecided(study_id: int) -> set[int]:
    """Keys of participations with signs of carelessness or fraud, about which nobody has decided."""
    waiting = Participation.objects.filter(study=study_id, excluded_at=None).exclude(signs="")
    return set(waiting.values_list("pk", flat=True))


def _publish_ready(report: Report) -> None:
    """Publish a report; of a study that still fills, at most one an hour."""
    study = report.study
    finished, wanted = counts_of([study]).get(study.pk, (0, 0))
    is_complete = study.state == Study.State.CLOSED or 0 < wanted <= finished
    publish(
        Event(
            EventType.REPORT_READY,
            study_id=study.pk,
            data={"study": study.code, "report": report.pk, "complete": is_complete},
            links={
                "page": reverse("reports:study", args=[study.pk]),
                "api": f"/api/studies/{study.code}/report",
            },
            at_most_every=None if is_complete else PAUSE_BETWEEN_INTERIM_EVENTS,
        )
    )


def _publish_waiting(study: Study, new: int) -> None:
    publish(
        Event(
            EventType.PARTICIPANT_WAITING,
            study_id=study.pk,
            data={"study": study.code, "participants": new},
            links={
                "page": reverse("crowd:participants", args=[study.pk], query={"state": "signs"}),
                "api": f"/api/studies/{study.code}/participants",
            },
        )
    )


def stale_studies(now: datetime) -> list[Study]:
    """Studies whose newest report, of any state, does not cover their newest results.

    A judgment counts once it is saved, even if its rater never finishes. It does not raise the study's
    `results_version`, because all raters would wait for that row; the number of judgments shows the change.
    """
    judged = judgments_by_study()
    opened = Study.objects.exclude(state=Study.State.DRAFT).filter(task__in=keys_of(TaskWithReport))
    with_results = opened.filter(Q(results_version__gt=0) | Q(pk__in=judged))
    reports = Report.objects.filter(study__in=with_results).order_by("study_id", "-pk").distinct("study_id")
    newest = {report.study_id: report for report in reports.defer("result")}
    return [
        study
        for study in with_results
        if _is_stale(study, newest.get(study.pk), judged.get(study.pk, 0), now)
    ]


def _is_stale(study: Study, newest: Report | None, judgments: int, now: datetime) -> bool:
    if newest is None:
        return True
    rests = newest.state not in IN_PROGRESS and newest.requested_at < now - PAUSE_BETWEEN_REPORTS
    return rests and not covers(newest, study, judgments)


def covers(report: Report | Bundle | LastExport, study: Study, judgments: int) -> bool:
    """Return whether a report or export includes the study's newest results."""
    return report.results_version >= study.results_version and report.judgments >= judgments


def lost_reports(now: datetime) -> list[int]:
    """Ids of queued reports whose message seems lost, and of running ones whose process has died."""
    waiting = Report.objects.filter(state=Report.State.QUEUED, requested_at__lt=now - RESEND_AFTER)
    running = Report.objects.filter(state=Report.State.RUNNING).values_list("pk", flat=True)
    return [*waiting.values_list("pk", flat=True), *(pk for pk in running if not is_locked(REPORTS, pk))]


def staleness(study: Study, shown: Report | None, newest: Report | None) -> str:
    """Sentence that says why the figures are outdated; empty if they are the newest or there are none."""
    if newest is None:
        return ""  # the page explains how it fills
    if newest.state == Report.State.FAILED:
        remark = " The figures below are from the last one that worked." if shown else ""
        return f"The last computation failed: {newest.reason}{remark}"
    if newest.state in IN_PROGRESS:
        return "A new report is being computed." if shown else "The first report is being computed."
    if not covers(newest, study, judgments_in(study)):
        return "Results have changed since this report was computed. A new one starts in a few seconds."
    return ""
