"""What becomes public of a study's report: its snapshot, as a document with a hash."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Max
from django.utils.translation import gettext as _

from evaluation.files.writing import with_unit
from evaluation.report.publishing.preregistration import as_text, hash_of
from evaluation.report.publishing.public_results import public_questions, public_results
from turnwise.crowd.models import Withdrawal
from turnwise.questions.question_sets import question_set
from turnwise.reports.descriptions import method
from turnwise.reports.models import Report
from turnwise.reports.queries import newest_result
from turnwise.reports.report_kinds import ReportedTask, reported_task
from turnwise.studies.models import Preregistration, Study
from turnwise.studies.tasks import task_of

FORMAT = "turnwise-results/1"
MOST_BYTES = 2_000_000
_CHARTS = ("scores", "preferences")


@dataclass(frozen=True, slots=True)
class Licence:
    """A licence of published results: title, SPDX identifier and address of its text."""

    title: str
    spdx: str
    url: str


LICENCES = {
    each.spdx: each
    for each in (
        Licence("Creative Commons Attribution 4.0", "CC-BY-4.0", "https://creativecommons.org/licenses/by/4.0/"),
        Licence(
            "Creative Commons Attribution-ShareAlike 4.0", "CC-BY-SA-4.0",
            "https://creativecommons.org/licenses/by-sa/4.0/",
        ),
        Licence(
            "Creative Commons Attribution-NonCommercial 4.0", "CC-BY-NC-4.0",
            "https://creativecommons.org/licenses/by-nc/4.0/",
        ),
        Licence("Creative Commons Zero 1.0", "CC0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
        Licence(
            "Open Data Commons Attribution 1.0", "ODC-By-1.0", "https://opendatacommons.org/licenses/by/1-0/"
        ),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Details:
    """What the publisher says about a version: title, authors in order, and the licence's identifier."""

    title: str
    authors: Sequence[str]
    licence: str


def publishable_report(study: Study) -> Report:
    """The report of a study that can be published: the newest ready one.

    Raises:
        ValidationError: there is none, nothing was judged in it, or it has data that were withdrawn since.
    """
    if not isinstance(task_of(study), ReportedTask):
        raise ValidationError(
            _("Nothing is judged in “%(study)s”, so it has no scores to publish.") % {"study": study}
        )
    report = newest_result(study)
    if report is None or not report.result or not report.result.get("bots"):
        raise ValidationError(
            _(
                "“%(study)s” has no finished report with results. Wait until its report is ready, then "
                "publish it."
            )
            % {"study": study}
        )
    withdrawn = Withdrawal.objects.filter(participation__study=study).aggregate(at=Max("at"))["at"]
    if withdrawn and withdrawn >= report.requested_at:
        raise ValidationError(
            _(
                "Somebody withdrew after this report was computed. A new report without their data starts in "
                "a few seconds; publish that one."
            )
        )
    return report


def snapshot_of(study: Study, report: Report, details: Details, number: int, today: date) -> dict[str, Any]:
    """The public document of a version. It names no person but its authors.

    Raises:
        ValidationError: it is too large for a page.
    """
    assert report.result
    assert report.finished_at
    results = public_results(report.result)
    found = {
        "format": FORMAT,
        "title": details.title,
        "authors": list(details.authors),
        "licence": details.licence,
        "version": number,
        "published_on": today.isoformat(),
        "computed_on": report.finished_at.date().isoformat(),
        "turnwise": version("turnwise"),
        "conducted_by": study.organization,
        "task": str(reported_task(study).title),
        "languages": list(study.languages),
        "pay": _pay(study),
        "preregistration": _preregistration(study, report),
        "question_sets": [
            public_questions(question_set(key))
            for key in dict.fromkeys(each["question_set"] for each in results["asks"])
        ],
        "method": method(study, report.result).text,
        "results": results,
    }
    if len(as_text(found).encode()) > MOST_BYTES:
        raise ValidationError(
            _(
                "These results take more than %(most)s as a document, which is too large for a public page. "
                "Publish the bundle in a repository instead."
            )
            % {"most": with_unit(str(MOST_BYTES // 1_000_000), "MB")}
        )
    return found


def _pay(study: Study) -> dict[str, Any] | None:
    """Pay of each participant; None for a study that does not pay."""
    if not study.pay:
        return None
    return {
        "amount": str(study.pay_amount),
        "currency": study.pay_currency,
        "expected_minutes": study.expected_minutes,
    }


def _preregistration(study: Study, report: Report) -> dict[str, Any] | None:
    """Hash and day of the frozen plan; of departures, whose sentences may quote reasons, only the number."""
    plan = Preregistration.objects.filter(study=study).first()
    if plan is None:
        return None
    return {
        "sha256": plan.sha256,
        "frozen_on": plan.frozen_at.date().isoformat(),
        "departures": len(report.departures or ()),
    }


def charts_of(report: Report) -> list[dict[str, Any]]:
    """Charts of scores or preferences of each ask, as stored."""
    return [
        {"name": chart.name, "svg": chart.svg, "narrow_svg": chart.narrow_svg}
        for chart in report.charts.all()
        if chart.name.partition("-")[0] in _CHARTS
    ]


def comparable_key(snapshot: Mapping[str, Any]) -> str:
    """Key shared by versions with the same protocol, kind and main question set; "" without protocol."""
    results = snapshot["results"]
    protocol = results["protocol"]["key"]
    main = next(
        each for each in snapshot["question_sets"] if each["key"] == results["asks"][0]["question_set"]
    )
    return f"{protocol}:{results['evaluation']}:{main['sha256'][:16]}" if protocol else ""


__all__ = [
    "LICENCES",
    "Details",
    "as_text",
    "charts_of",
    "comparable_key",
    "hash_of",
    "publishable_report",
    "snapshot_of",
]
