"""REST API of comparisons: the scores of several studies, as the page *Compare* and its file have them."""

from typing import Annotated, Any

from ninja import Field, Query, Router, Schema
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import too_often
from turnwise.comparisons.forms import MOST_STUDIES
from turnwise.comparisons.protocols import differences, protocols_of
from turnwise.comparisons.side_by_side import CSV_COLUMNS, csv_rows, newest_reports
from turnwise.live.http_responses import answers
from turnwise.live.problems import InvalidFieldsError
from turnwise.reports.report_kinds import ReportedTask
from turnwise.studies.models import Study
from turnwise.studies.queries import readable_real_studies_of
from turnwise.studies.tasks import keys_of

router = Router(tags=["studies"])
Codes = Annotated[
    list[str],
    Query(..., min_length=1, max_length=MOST_STUDIES, description="Codes of studies that have opened."),
]


class ComparisonOut(Schema):
    """Scores of several studies."""

    rows: list[dict[str, Any]] = Field(
        description=f"One for each study, ask, system and score: {', '.join(CSV_COLUMNS)}."
    )
    without_report: list[str] = Field(description="Codes of studies whose report is not ready yet.")
    differences: list[str] = Field(description="In what the protocols of the studies differ.")


@router.get("/comparisons", response=answers(ComparisonOut, 400, 422, 429))
def compare_studies(request: AuthenticatedHttpRequest, study: Codes) -> ComparisonOut:
    """Compare the scores of studies that you may read. Nothing is stored: the address is the comparison."""
    if too_often(request, "compare", rate="60/m", key="user"):
        raise HttpError(429, "Studies can be compared 60 times a minute. Wait a little.")
    studies = _studies(request, study)
    reports = newest_reports(studies)
    ready = {report.code for report in reports}
    return ComparisonOut(
        rows=[dict(zip(CSV_COLUMNS, row, strict=True)) for row in csv_rows(reports)],
        without_report=[each.code for each in studies if each.code not in ready],
        differences=[str(each.aspect) for each in differences(protocols_of(studies))],
    )


def _studies(request: AuthenticatedHttpRequest, codes: list[str]) -> list[Study]:
    readable = readable_real_studies_of(request.user).exclude(state=Study.State.DRAFT)
    known = {each.code: each for each in readable.filter(task__in=keys_of(ReportedTask), code__in=codes)}
    for code in codes:
        if code not in known:
            says = f"You may read no study “{code[:40]}” with a report. GET /api/studies lists all."
            raise InvalidFieldsError({"study": [says]})
    return [known[code] for code in dict.fromkeys(codes)]
