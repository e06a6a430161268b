"""The newest stored results of studies."""

from collections.abc import Sequence

from turnwise.comparisons import protocols
from turnwise.comparisons.side_by_side import Reported
from turnwise.judging.queries import judgments_given
from turnwise.reports.models import Report
from turnwise.reports.services import covers
from turnwise.studies.models import Study


def newest_reports(studies: Sequence[Study]) -> list[Reported]:
    """The newest ready reports of these studies, in their order; those without one are absent."""
    ready = Report.objects.filter(study__in=studies, state=Report.State.READY)
    newest = {report.study_id: report for report in ready.order_by("study_id", "-pk").distinct("study_id")}
    called, judged = protocols.names(studies), judgments_given()
    return [
        Reported(
            pk=study.pk,
            study=called[study.pk],
            code=study.code,
            report=newest[study.pk].pk,
            computed=f"{newest[study.pk].finished_at:%Y-%m-%dT%H:%M:%SZ}",
            covers=newest[study.pk].results_version,
            newest=study.results_version,
            result=newest[study.pk].result or {"columns": [], "bots": []},
            asked=[(ask.number, ask.about) for ask in study.asked],
            is_stale=not covers(newest[study.pk], study, judged.get(study.pk, 0)),
        )
        for study in studies
        if study.pk in newest
    ]
