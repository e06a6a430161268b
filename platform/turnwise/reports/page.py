"""What the page of a report shows."""

import logging
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string

from turnwise.accounts.models import User
from turnwise.audits.identity_leaks import blindness
from turnwise.audits.queries import audits_of_bots
from turnwise.bots import drift_check
from turnwise.bots.models import Bot
from turnwise.crowd.queries import progress
from turnwise.crowd.redaction import unreviewed
from turnwise.dialogues.queries import outside_dialogue_counts
from turnwise.judges.drift_checks import services as judge_checks
from turnwise.reports import queries, services
from turnwise.reports.descriptions import method
from turnwise.reports.drilldown import charts_of, published_of
from turnwise.reports.models import Report
from turnwise.reports.report_kinds import ReportedTask, TaskWithReport, task_with_report
from turnwise.studies.models import Study
from turnwise.studies.queries import incomplete_progress, progress_of
from turnwise.studies.sharing.permissions import Permission, permissions_of

log = logging.getLogger(__name__)


def context_of(study: Study, task: TaskWithReport, user: User | AnonymousUser) -> dict[str, Any]:
    """Variables of the template `task.report` for one reader."""
    newest, at = queries.newest_report(study), progress(study)
    granted = permissions_of(user, study)
    changes = Permission.CHANGE in granted
    shown = newest if newest and newest.state == Report.State.READY else queries.newest_result(study)
    judged = isinstance(task, ReportedTask)
    charts = charts_of(study, shown)
    beside = (shown.result or {}).get("beside", ()) if shown else ()
    return {
        "study": study,
        "report": shown,
        "result": shown.result if shown else None,
        "charts": charts[0],
        "beside": [
            (each, charts[ask], published_of(study, each["question_set"]))
            for ask, each in enumerate(beside, 1)
        ],
        "staleness": services.staleness(study, shown, newest),
        "stamp": queries.stamp(study, newest, at),
        "progress": at,
        "filling": incomplete_progress(study, *progress_of(study)),
        "drift": drift_check.alarms(Bot.objects.filter(study_bots__study=study)),
        "drifted_judges": judge_checks.alarms(study.judge_runs.all()),
        "from_elsewhere": outside_dialogue_counts(study),
        "published": published_of(study, study.question_set),
        "outcome": getattr(study, "outcome", None),
        "may_change": changes,
        "may_bundle": Permission.BUNDLE in granted,
        "may_publish": Permission.SHARE in granted,
        "unreviewed": unreviewed(study) if changes else "",
        "can_rehearse": task.has_rehearsals,
        "audits": audits_of_bots(study, user),
        "blindness": blindness(study),
        "departures": shown.departures if shown else None,
        "analysed": task.analysed if isinstance(task, ReportedTask) else "",
        "method": method(study, shown.result) if judged and shown and shown.result else None,
    }


def render_in_advance(report_id: int) -> None:
    """Render a new report once, so that its cached parts are ready for the first reader.

    A report that cannot be rendered stays stored; the page then tells its reader.
    """
    report = Report.objects.filter(pk=report_id, state=Report.State.READY).select_related(
        "study__owner", "study__outcome"
    )
    try:
        for ready in report:
            task = task_with_report(ready.study)
            render_to_string(task.report, context_of(ready.study, task, ready.study.owner))
    except Exception:
        log.exception("The page of report %s could not be rendered in advance.", report_id)
