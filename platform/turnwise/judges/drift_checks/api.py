"""REST API of the daily check of machine judges."""

from datetime import datetime
from typing import Any

from ninja import Field, Router, Schema

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.judges.api import JudgeOut, judge_out, judge_run
from turnwise.judges.drift_checks import services
from turnwise.judges.models import DriftCheck
from turnwise.live.cursors import NEXT, Cursor, Limit, PathKey, page, page_of
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.studies.sharing.permissions import Permission

router = Router(tags=["studies"])


class WatchIn(Schema, extra="forbid"):
    """Whether a judge is checked daily."""

    watched: bool


class DriftCheckOut(Schema):
    """A check: fixed items of a run that its judge answered again."""

    id: int
    at: datetime
    verdict: str = Field(
        description="repeated (the first check, with repeated answers), same, departed (an alarm), other "
        "(the bot has another version) or failed (not done: too few answers, or the budget)."
    )
    reason: str = Field(description="The verdict in words; empty if nothing has changed.")
    agreement: float | None = Field(description="Share of answers, from 0 to 1, that are those of the run.")
    expected: float | None = Field(description="Share of answers that repeats have in common, from 0 to 1.")
    p: float | None = Field(description="Exact p that the answers have changed; an alarm below 0.001.")


class DriftChecksOut(Schema):
    """A page of checks, the newest first."""

    items: list[DriftCheckOut]
    next: str | None = NEXT


@router.get("/studies/{slug:code}/judges/{int:judge}/checks", response=answers(DriftChecksOut, 400, 404, 422))
def judge_checks(
    request: AuthenticatedHttpRequest, code: str, judge: PathKey, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the daily checks of a machine judge, the newest first."""
    run = judge_run(request, code, judge, Permission.REVIEW)
    rows = DriftCheck.objects.filter(run=run)
    found, following = page_of(rows, f"judge checks {run.pk}", cursor, limit, newest_first=True)
    return page([DriftCheckOut.from_orm(each) for each in found], following)


@router.put(
    "/studies/{slug:code}/judges/{int:judge}/watch", response=answers(JudgeOut, 404, 409, has_body=True)
)
def watch_judge(request: AuthenticatedHttpRequest, code: str, judge: PathKey, sent: WatchIn) -> JudgeOut:
    """Begin or end the daily check of a machine judge. Safe to repeat."""
    run = judge_run(request, code, judge)
    with refusals_as_conflicts():
        services.set_watched(run.pk, watched=sent.watched)
    return judge_out(judge_run(request, code, judge))
