"""Contents of a report's page: figures, charts with links to their data, and published results.

The link of a chart's mark leads to the conversations or items behind it.
"""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string
from django.urls import reverse

from evaluation.files.writing import figure
from evaluation.protocols import protocol_with_scores
from turnwise.accounts.models import User
from turnwise.audits.identity_leaks import blindness
from turnwise.audits.queries import audits_of_bots
from turnwise.bots import drift_check
from turnwise.bots.models import Bot
from turnwise.charts.interactive_plots import plot
from turnwise.charts.layout import parse_chart_name
from turnwise.charts.marks import DrilldownLink
from turnwise.crowd.queries import progress
from turnwise.crowd.redaction import unreviewed
from turnwise.dialogues.queries import outside_dialogue_counts
from turnwise.judges.drift_checks import services as judge_checks
from turnwise.labels.explorer import score_key, scores_of
from turnwise.questions.question_sets import question_set
from turnwise.reports import queries, services
from turnwise.reports.answers import unique_bot_names
from turnwise.reports.descriptions import method
from turnwise.reports.models import Chart, Report
from turnwise.reports.report_kinds import ReportedTask, TaskWithReport, task_with_report
from turnwise.studies.models import Study
from turnwise.studies.queries import incomplete_progress, progress_of
from turnwise.studies.sharing.permissions import Permission, permissions_of
from turnwise.studies.tasks import task_of


def drilldown_link(study: Study) -> DrilldownLink:
    """Links from the marks of this study's charts to conversations or items."""
    task = task_of(study)
    if task.has_conversations:
        return _ConversationLinks(study)
    if isinstance(task, ReportedTask):
        return _ItemLinks(study, reverse(task.read_at, args=[study.pk]))
    return _no_link


class _ConversationLinks:
    def __init__(self, study: Study) -> None:
        self._address = reverse("labels:dialogues", args=[study.pk])
        bots = list(study.study_bots.values_list("bot_id", "bot__title", "bot__name"))
        called = unique_bot_names(study, bots)
        self._slugs = {called[pk]: name for pk, _title, name in bots}

    def __call__(
        self, system: str, *, reply: int = 0, question: str = "", score: str = "", ask: int = 0
    ) -> str:
        # Other systems, such as people, do not filter the list.
        wanted = {
            "bot": self._slugs.get(system, ""),
            "replies": str(reply) if reply > 1 else "",
            "score": score_key(ask, score) if score else "",
        }
        return _with_query(self._address, wanted)


class _ItemLinks:
    def __init__(self, study: Study, address: str) -> None:
        self._address = address
        self._scores = scores_of(study)

    def __call__(
        self, system: str, *, reply: int = 0, question: str = "", score: str = "", ask: int = 0
    ) -> str:
        # The list of items filters by one question: for a score, by its first term.
        _number, found = self._scores.get(score_key(ask, score), (ask, None))
        made_of = found.terms[0].question if found else ""
        wanted = {"ask": str(ask) if ask else "", "question": question or made_of, "system": system}
        return _with_query(self._address, wanted)


def _no_link(system: str, *, reply: int = 0, question: str = "", score: str = "", ask: int = 0) -> str:
    return ""


def _with_query(address: str, wanted: Mapping[str, str]) -> str:
    given = {name: value for name, value in wanted.items() if value}
    return f"{address}?{urlencode(given)}" if given else address


def charts_of(study: Study, report: Report | None) -> dict[int, dict[str, Chart]]:
    """Stored charts of a report, by number of the ask and by kind as templates name it.

    Each chart gets a function `plot` with its numbers, None if the page's script does not draw its kind. The
    template calls it, so that a cached part of the page costs nothing.
    """
    found: dict[int, dict[str, Chart]] = defaultdict(dict)
    if report is None or not report.result:
        return found
    results, where = [report.result, *report.result.get("beside", ())], drilldown_link(study)
    for chart in report.charts.all():
        kind, ask = parse_chart_name(chart.name)
        chart.plot = partial(plot, kind, results[ask], partial(where, ask=ask))  # type: ignore[attr-defined]
        found[ask][kind.replace("-", "_")] = chart
    return found


def published_of(study: Study, key: str) -> dict[str, Any] | None:
    """Published results comparable with the study's, for the question set of this key; None without any.

    Has titles and rows of scores, and the agreement of the publication's raters on each question.
    """
    protocol = protocol_with_scores(study.protocol, key)
    if protocol is None:
        return None
    questions = question_set(key)
    scores = [
        score
        for score in questions.scores
        if any(score.key in system.scores for system in protocol.published)
    ]
    if not scores:
        return None
    columns = [[system.scores.get(score.key) for system in protocol.published] for score in scores]
    cells = zip(*map(_with_equal_decimals, columns), strict=True)
    rows = list(zip((system.system for system in protocol.published), cells, strict=True))
    agreed = protocol.agreement or {}
    agreement = [
        (question.wording, agreed[question.key]) for question in questions.questions if question.key in agreed
    ]
    titles = [score.title for score in scores]
    return {"protocol": protocol, "titles": titles, "rows": rows, "agreement": agreement}


def _with_equal_decimals(column: Sequence[float | None]) -> list[str]:
    """Figures of a column, all with the same number of decimals: as many as needed, 2 at most."""
    decimals = max(len(f"{value:.2f}".rstrip("0").partition(".")[2]) for value in column if value is not None)
    return ["" if value is None else figure(value, decimals) for value in column]


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
