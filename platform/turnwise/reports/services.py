import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, InterfaceError, OperationalError, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from turnwise.crowd.models import Withdrawal
from turnwise.crowd.places.ending import note_proposals, note_signs
from turnwise.judging.queries import judgments_given, judgments_in
from turnwise.live.jobs import REPORTS, is_worked_on, only_here, why_ended
from turnwise.quality import flagging
from turnwise.reports import descriptions, queries
from turnwise.reports.models import Chart, Report
from turnwise.reports.report_kinds import TaskWithReport, with_report
from turnwise.studies.models import Bundle, LastExport, Study
from turnwise.studies.tasks import keys_of

if TYPE_CHECKING:
    from turnwise.charts.drawing import Drawing

log = logging.getLogger(__name__)

AT_WORK = (Report.State.QUEUED, Report.State.RUNNING)
# A busy study finishes conversations every few seconds; one report for all of them is enough.
PAUSE_BETWEEN_REPORTS = timedelta(seconds=10)
# The message that starts a queued report can be lost with Redis; then it is sent again.
RESEND_AFTER = timedelta(seconds=60)
# A computation that fails says why; one whose process dies each time would be begun for ever.
MOST_ATTEMPTS = 3
DIED = (
    f"The process that computed it ended {MOST_ATTEMPTS} times before it was done, most likely because it "
    "ran out of memory. Give the Celery worker more (its log and the system's say how much it had), then "
    "compute the report again."
)


def queue_report(study: Study, *, now: datetime | None = None) -> Report:
    """The study's report at work, queued now if there is none."""
    at_work = study.reports.filter(state__in=AT_WORK).first()
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
    except IntegrityError:  # another process queued one in the same moment
        return study.reports.get(state__in=AT_WORK)


def build_report(report_id: int) -> None:
    """Compute a queued report. Runs at most once at a time; a report that is done stays as it is."""
    with only_here(REPORTS, report_id) as mine:
        if not mine or not _begin(report_id):
            return
        try:
            _store_ready(report_id, _computed(report_id))
        except (OperationalError, InterfaceError):
            # The database went away, or had no room: that says nothing of the report, which is begun again.
            log.exception("Report %s was broken off.", report_id)
            connection.close()
        except Exception as error:
            log.exception("Report %s failed.", report_id)
            _store(report_id, state=Report.State.FAILED, reason=why_ended(error))
        else:
            look_at_workers(report_id)


def look_at_workers(report_id: int) -> None:
    """Find the flags of the workers of a report's study; a report is no worse without."""
    study = Report.objects.select_related("study").get(pk=report_id).study
    if study.rehearsal_of_id is not None:  # its workers are programs
        return
    try:
        flagging.look(study)
    except Exception:
        log.exception("The workers of %s could not be looked at.", study)


def _begin(report_id: int) -> bool:
    waiting, now = Report.objects.filter(pk=report_id, state__in=AT_WORK), timezone.now()
    waiting.filter(attempts__gte=MOST_ATTEMPTS).update(
        state=Report.State.FAILED, reason=DIED, finished_at=now
    )
    begun = waiting.update(state=Report.State.RUNNING, started_at=now, attempts=F("attempts") + 1)
    if begun:
        _forget_withdrawn(report_id)
    return bool(begun)


def _forget_withdrawn(report_id: int) -> None:
    """Delete results that rest on what somebody has withdrawn since: they quote it, too."""
    study = Report.objects.values("study").filter(pk=report_id)
    last = Withdrawal.objects.filter(participation__study__in=study).order_by("-at").first()
    if last:
        older = Report.objects.filter(study__in=study, requested_at__lte=last.at).exclude(state__in=AT_WORK)
        older.delete()


def _store(report_id: int, **values: Any) -> None:
    Report.objects.filter(pk=report_id).update(finished_at=timezone.now(), **values)


@dataclass(frozen=True, slots=True)
class _Computed:
    results_version: int
    judgments: int
    result: dict[str, Any]
    charts: "dict[str, Drawing]"


def _computed(report_id: int) -> _Computed:
    """Everything that a ready report stores, from one snapshot of the database."""
    from turnwise.charts.drawing import drawings

    before = Report.objects.select_related("study").get(pk=report_id).study
    with_report(before).prepare(before)
    with queries.snapshot():
        study = Report.objects.select_related("study").get(pk=report_id).study
        compute = descriptions.computation(study)
        judgments = judgments_in(study)
    result = compute()
    return _Computed(study.results_version, judgments, result, drawings(result))


@transaction.atomic
def _store_ready(report_id: int, computed: _Computed) -> None:
    """Store what was computed. Charts take room and can be drawn again, so only the newest are kept."""
    report = Report.objects.select_for_update().get(pk=report_id)
    Chart.objects.filter(report__study_id=report.study_id).delete()
    Chart.objects.bulk_create(
        Chart(report=report, name=name, svg=drawn.svg, narrow_svg=drawn.narrow_svg)
        for name, drawn in computed.charts.items()
    )
    flagged = computed.result.get("flagged") or {"workers": []}
    note_signs(report.study_id, {each["worker"]: each["reason"] for each in flagged["workers"]})
    proposed = computed.result.get("proposed") or {"workers": []}
    note_proposals(report.study_id, {each["worker"]: each["reason"] for each in proposed["workers"]})
    _store(
        report_id,
        state=Report.State.READY,
        results_version=computed.results_version,
        judgments=computed.judgments,
        result=computed.result,
    )


def stale_studies(now: datetime) -> list[Study]:
    """Studies whose newest report, of any state, does not cover their newest results.

    A judgment counts as soon as it is saved, whether or not its rater ever finishes. It does not raise its
    study's `results_version`, a row for which all raters would queue: their batches' counts say as much.
    """
    judged = judgments_given()
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
    rests = newest.state not in AT_WORK and newest.requested_at < now - PAUSE_BETWEEN_REPORTS
    return rests and not covers(newest, study, judgments)


def covers(report: Report | Bundle | LastExport, study: Study, judgments: int) -> bool:
    """Whether nothing has happened in the study since the report, or the export, read it."""
    return report.results_version >= study.results_version and report.judgments >= judgments


def lost_reports(now: datetime) -> list[int]:
    """Queued reports whose message seems lost, and running ones whose process has died."""
    waiting = Report.objects.filter(state=Report.State.QUEUED, requested_at__lt=now - RESEND_AFTER)
    running = Report.objects.filter(state=Report.State.RUNNING).values_list("pk", flat=True)
    return [*waiting.values_list("pk", flat=True), *(pk for pk in running if not is_worked_on(REPORTS, pk))]


def staleness(study: Study, shown: Report | None, newest: Report | None) -> str:
    """Why the figures shown are not the newest, in a sentence; empty if they are, or if there are none."""
    if newest is None:
        return ""  # the page says how it fills
    if newest.state == Report.State.FAILED:
        kept = " The figures below are from the last one that worked." if shown else ""
        return f"The last computation failed: {newest.reason}{kept}"
    if newest.state in AT_WORK:
        return "A new report is being computed." if shown else "The first report is being computed."
    if not covers(newest, study, judgments_in(study)):
        return "Results have changed since this report was computed. A new one starts in a few seconds."
    return ""
