"""REST API of machine judges: start one, follow it, stop and continue it."""

from datetime import datetime
from functools import partial
from typing import Annotated, Any

from django.core.exceptions import ValidationError
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Field, Router, Schema, Status
from ninja.errors import HttpError
from pydantic import StringConstraints

from evaluation.machine_judges.template import MOST_DRAWS
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import too_often
from turnwise.judges import queries, services, tasks
from turnwise.judges.forms import JudgeForm
from turnwise.judges.models import JudgeRun
from turnwise.judging.plan_api import study_with_queue
from turnwise.live.cursors import NEXT, Cursor, Limit, PathKey, page, page_of
from turnwise.live.http_responses import answers
from turnwise.live.jobs import is_sent
from turnwise.live.problems import InvalidFieldsError
from turnwise.live.submitted_forms import filled_form

router = Router(tags=["studies"])


class JudgeIn(Schema, extra="forbid"):
    """A bot that is to judge the items of an ask."""

    bot: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)] = Field(
        description="Its name."
    )
    ask: int | None = Field(None, ge=1, le=1000, description="Number of the ask; null: the first.")
    draws: int = Field(1, ge=1, le=MOST_DRAWS, description="Answers for each item, whose mean counts.")


class JudgeOut(Schema):
    """A run of a machine judge."""

    id: int
    bot: str
    ask: int
    question_set: str
    draws: int
    state: str = Field(description="queued, running, done, failed or cancelled.")
    reason: str = Field(description="Why it failed or waits; empty otherwise.")
    had: int = Field(description="Answers that are final.")
    wanted: int
    outcomes: dict[str, int] = Field(description="Answers by outcome.")
    created_at: datetime


class JudgesOut(Schema):
    """A page of runs, the newest first."""

    items: list[JudgeOut]
    next: str | None = NEXT


@router.get("/studies/{slug:code}/judges", response=answers(JudgesOut, 400, 404, 422))
def judges(
    request: AuthenticatedHttpRequest, code: str, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the runs of machine judges in a study that you work on, the newest first."""
    rows = queries.runs_of(study_with_queue(request, code))
    found, following = page_of(rows, f"judges {code}", cursor, limit, newest_first=True)
    progress = queries.progress_by_run(found)
    return page([_judge_out(each, progress[each.pk]) for each in found], following)


@router.post("/studies/{slug:code}/judges", response=answers(JudgeOut, 404, 429, status=202, has_body=True))
def start_judge(request: AuthenticatedHttpRequest, code: str, sent: JudgeIn) -> Status[JudgeOut]:
    """Have a bot judge all items of an ask, beside people."""
    study = study_with_queue(request, code)
    if too_often(request, "judge", rate="60/h", key="user"):
        raise HttpError(429, "A judge can be started 60 times an hour. Wait a little.")
    asks = queries.judgeable_asks(study)
    chosen = next((ask for ask in asks if sent.ask in (None, ask.number)), None)
    if chosen is None:
        known = ", ".join(str(ask.number) for ask in asks) or "none"
        raise InvalidFieldsError({"ask": [f"A machine can judge the items of these asks: {known}."]})
    values = {"bot": sent.bot, "draws": sent.draws}
    form = filled_form(lambda data: JudgeForm(request.user, [chosen], data), values)
    try:
        run = services.start(chosen, form.cleaned_data["bot"], draws=sent.draws, by=request.user)
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return Status(202, _sent(run))


@router.get("/studies/{slug:code}/judges/{int:judge}", response=answers(JudgeOut, 404))
def one_judge(request: AuthenticatedHttpRequest, code: str, judge: PathKey) -> JudgeOut:
    """Get the progress of a machine judge."""
    return _out(_run(request, code, judge))


@router.post("/studies/{slug:code}/judges/{int:judge}/cancel", response=answers(JudgeOut, 404))
def cancel_judge(request: AuthenticatedHttpRequest, code: str, judge: PathKey) -> JudgeOut:
    """Stop a machine judge; its labels so far are kept. Safe to repeat."""
    services.cancel(_run(request, code, judge), now=timezone.now())
    return _out(_run(request, code, judge))


@router.post(
    "/studies/{slug:code}/judges/{int:judge}/continue", response=answers(JudgeOut, 404, 409, status=202)
)
def continue_judge(request: AuthenticatedHttpRequest, code: str, judge: PathKey) -> Status[JudgeOut]:
    """Continue a machine judge that ended with missing answers, or whose queue has grown."""
    found = _run(request, code, judge)
    try:
        services.go_on(found.pk)
    except ValidationError as error:
        raise HttpError(409, " ".join(error.messages)) from None
    return Status(202, _sent(found))


def _sent(run: JudgeRun) -> JudgeOut:
    is_sent(partial(tasks.send, run.pk))  # else the timer sends it, once the queue is back
    return _out(queries.runs_of(run.study).get(pk=run.pk))


def _run(request: AuthenticatedHttpRequest, code: str, pk: int) -> JudgeRun:
    return get_object_or_404(queries.runs_of(study_with_queue(request, code)), pk=pk)


def _out(row: JudgeRun) -> JudgeOut:
    return _judge_out(row, queries.progress(row))


def _judge_out(row: JudgeRun, now_at: queries.Progress) -> JudgeOut:
    return JudgeOut(
        id=row.pk,
        bot=row.judge.bot.name,
        ask=row.ask.number,
        question_set=row.judge.question_set,
        draws=row.judge.draws,
        state=row.state,
        reason=row.reason,
        had=now_at.had,
        wanted=now_at.wanted,
        outcomes=dict(now_at.by_outcome),
        created_at=row.created_at,
    )
