"""REST API of machine judges: their runs, and their daily checks."""

from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal

from django.core.exceptions import ValidationError
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Field, Router, Schema, Status
from ninja.errors import HttpError
from pydantic import StringConstraints

from evaluation.machine_judges.panels import Rule
from evaluation.machine_judges.template import MOST_DRAWS
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import too_often
from turnwise.judges import panels, queries, removal, services, tasks
from turnwise.judges.budgets import Budget
from turnwise.judges.drift_checks import services as daily_checks
from turnwise.judges.forms import JudgeForm, PanelForm
from turnwise.judges.models import DriftCheck, JudgeRun
from turnwise.judging.plan_api import study_with_queue
from turnwise.live.cursors import NEXT, BodyKey, Cursor, Limit, PathKey, page, page_of
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.jobs import is_sent
from turnwise.live.problems import InvalidFieldsError
from turnwise.live.submitted_forms import filled_form
from turnwise.studies.sharing.permissions import Permission
from turnwise.trash.api import DeletionOut, deletion_out

router = Router(tags=["studies"])


class BudgetIn(Schema, extra="forbid"):
    """Limits of a run; null: no limit."""

    most_calls: int | None = Field(None, ge=1, le=10_000_000, description="Requests after which it stops.")
    most_cost: Decimal | None = Field(
        None,
        ge=Decimal("0.0001"),
        max_digits=12,
        decimal_places=4,
        description="Amount after which it stops, in the currency in which the bot has its prices.",
    )

    def budget(self) -> Budget:
        """The limits as the service takes them."""
        return Budget(self.most_calls, self.most_cost)


class JudgeIn(BudgetIn):
    """A bot that is to judge the items of an ask."""

    bot: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)] = Field(
        description="Its name."
    )
    ask: int | None = Field(None, ge=0, le=1000, description="Number of the ask; null: the first.")
    draws: int = Field(1, ge=1, le=MOST_DRAWS, description="Answers for each item, whose mean counts.")


class JudgeOut(Schema):
    """A run of a machine judge."""

    id: int
    bot: str | None = Field(description="Name of the bot; null for imported labels and panels.")
    name: str = Field(description="Name of the judge in files.")
    ask: int
    question_set: str
    draws: int
    state: str = Field(
        description="queued, running, done, failed, paused (at its budget) or cancelled.",
    )
    reason: str = Field(description="Why it failed or waits; empty otherwise.")
    had: int = Field(description="Answers that are final.")
    wanted: int
    outcomes: dict[str, int] = Field(description="Answers by outcome.")
    calls: int = Field(description="Requests to the bot, failed ones included.")
    most_calls: int | None = Field(description="Requests after which it stops; null: no limit.")
    most_cost: Decimal | None = Field(description="Amount after which it stops; null: no limit.")
    currency: str = Field(description="That of the amount; empty without one.")
    watched: bool = Field(description="Whether it answers some of its items again every day.")
    created_at: datetime


class JudgePanelIn(Schema, extra="forbid"):
    """Several complete judges that become one."""

    title: str = Field(min_length=1, max_length=120, description="Name of the panel.")
    members: list[BodyKey] = Field(min_length=1, max_length=50, description="Ids of complete judges.")
    rule: Literal["vote", "mean"] = Field(
        "vote", description="`vote`: the answer of most members; `mean`: of numbers and shares."
    )


class JudgesOut(Schema):
    """A page of runs, the newest first."""

    items: list[JudgeOut]
    next: str | None = NEXT


@router.get("/studies/{slug:code}/judges", response=answers(JudgesOut, 400, 404, 422))
def judges(
    request: AuthenticatedHttpRequest, code: str, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the runs of machine judges in a study that you review or work on, the newest first."""
    rows = queries.runs_of(study_with_queue(request, code, Permission.REVIEW))
    found, following = page_of(rows, f"judges {code}", cursor, limit, newest_first=True)
    progress = queries.progress_by_run(found)
    return page([_judge_out(each, progress[each.pk]) for each in found], following)


@router.post("/studies/{slug:code}/judges", response=answers(JudgeOut, 404, 429, status=202, has_body=True))
def start_judge(request: AuthenticatedHttpRequest, code: str, sent: JudgeIn) -> Status[JudgeOut]:
    """Have a bot judge all items of an ask, beside people."""
    study = study_with_queue(request, code)
    _refuse_too_many(request)
    asks = queries.judgeable_asks(study)
    chosen = next((ask for ask in asks if sent.ask in (None, ask.number)), None)
    if chosen is None:
        known = ", ".join(str(ask.number) for ask in asks) or "none"
        raise InvalidFieldsError({"ask": [f"A machine can judge the items of these asks: {known}."]})
    values = {"bot": sent.bot, "draws": sent.draws}
    form = filled_form(lambda data: JudgeForm(request.user, [chosen], data), values)
    try:
        run = services.start(
            chosen, form.cleaned_data["bot"], draws=sent.draws, by=request.user, budget=sent.budget()
        )
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return Status(202, _sent(run))


@router.get("/studies/{slug:code}/judges/{int:judge}", response=answers(JudgeOut, 404))
def one_judge(request: AuthenticatedHttpRequest, code: str, judge: PathKey) -> JudgeOut:
    """Get the progress of a machine judge."""
    return judge_out(judge_run(request, code, judge, Permission.REVIEW))


@router.post("/studies/{slug:code}/judges/{int:judge}/cancel", response=answers(JudgeOut, 404))
def cancel_judge(request: AuthenticatedHttpRequest, code: str, judge: PathKey) -> JudgeOut:
    """Stop a machine judge; its labels so far are kept. Safe to repeat."""
    services.cancel(judge_run(request, code, judge), now=timezone.now())
    return judge_out(judge_run(request, code, judge))


@router.post(
    "/studies/{slug:code}/judges/{int:judge}/continue", response=answers(JudgeOut, 404, 409, status=202)
)
def continue_judge(request: AuthenticatedHttpRequest, code: str, judge: PathKey) -> Status[JudgeOut]:
    """Continue a machine judge that ended with missing answers, or whose queue has grown."""
    found = judge_run(request, code, judge)
    with refusals_as_conflicts():
        services.go_on(found.pk)
    return Status(202, _sent(found))


@router.put("/studies/{slug:code}/judges/{int:judge}/budget", response=answers(JudgeOut, 404, has_body=True))
def set_judge_budget(
    request: AuthenticatedHttpRequest, code: str, judge: PathKey, sent: BudgetIn
) -> JudgeOut:
    """Change the budget of a machine judge; one that it has stopped goes on once you continue it."""
    found = judge_run(request, code, judge)
    try:
        services.set_budget(found.pk, sent.budget())
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return judge_out(judge_run(request, code, judge))


@router.delete("/studies/{slug:code}/judges/{int:judge}", response=answers(DeletionOut, 404, 409))
def remove_judge(request: AuthenticatedHttpRequest, code: str, judge: PathKey) -> DeletionOut:
    """Remove a machine judge with its labels, which can be put back for a day."""
    found = judge_run(request, code, judge)
    with refusals_as_conflicts():
        deletion = removal.remove(found.pk, by=request.user)
    if deletion is None:  # somebody else was quicker
        raise Http404
    return deletion_out(deletion)


@router.post(
    "/studies/{slug:code}/judges/panels", response=answers(JudgeOut, 404, 409, 429, status=201, has_body=True)
)
def form_judge_panel(request: AuthenticatedHttpRequest, code: str, sent: JudgePanelIn) -> Status[JudgeOut]:
    """Form a panel of complete machine judges of one ask: its labels are what its members decide."""
    study = study_with_queue(request, code)
    _refuse_too_many(request)
    members = queries.possible_members(study)
    known = {str(each.pk) for each in members}
    if missing := [each for each in sent.members if str(each) not in known]:
        there = ", ".join(sorted(known)) or "none"
        says = f"{missing[0]} is no complete judge of the study. There are: {there}."
        raise InvalidFieldsError({"members": [says]})
    form = filled_form(lambda data: PanelForm(members, data), sent.model_dump())
    with refusals_as_conflicts():
        formed = panels.form_panel(
            form.chosen_members(), title=form.cleaned_data["title"], rule=Rule(sent.rule), by=request.user,
            now=timezone.now(),
        )  # fmt: skip
    return Status(201, judge_out(queries.runs_of(study).get(pk=formed.pk)))


def _refuse_too_many(request: AuthenticatedHttpRequest) -> None:
    if too_often(request, "judge", rate="60/h", key="user"):
        raise HttpError(429, "A judge can be started 60 times an hour. Wait a little.")


def _sent(run: JudgeRun) -> JudgeOut:
    is_sent(partial(tasks.send, run.pk))  # else the timer sends it, once the queue is back
    return judge_out(queries.runs_of(run.study).get(pk=run.pk))


def judge_run(
    request: AuthenticatedHttpRequest, code: str, pk: int, permission: Permission = Permission.CHANGE
) -> JudgeRun:
    """A run in a study of the person who asks."""
    return get_object_or_404(queries.runs_of(study_with_queue(request, code, permission)), pk=pk)


def judge_out(row: JudgeRun) -> JudgeOut:
    """Build the answer about a run with its progress."""
    return _judge_out(row, queries.progress(row))


def _judge_out(row: JudgeRun, now_at: queries.Progress) -> JudgeOut:
    return JudgeOut(
        id=row.pk,
        bot=row.judge.bot.name if row.judge.bot else None,
        name=row.judge.exported_name,
        ask=row.ask.number,
        question_set=row.judge.question_set,
        draws=row.judge.draws,
        state=row.state,
        reason=row.reason,
        had=now_at.had,
        wanted=now_at.wanted,
        outcomes=dict(now_at.by_outcome),
        calls=row.calls,
        most_calls=row.most_calls,
        most_cost=row.most_cost,
        currency=row.currency,
        watched=row.is_watched,
        created_at=row.created_at,
    )


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
        daily_checks.set_watched(run.pk, watched=sent.watched)
    return judge_out(judge_run(request, code, judge))
