"""The REST API of audits: start one, follow its progress, read its results."""

from datetime import datetime
from functools import partial
from typing import Any

from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Field, Router, Schema, Status
from ninja.errors import HttpError

from chatbots.identity.audit import PUBLISHED, WARNING
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import STUDIES
from turnwise.accounts.limits import too_often
from turnwise.audits import queries, services, tasks, verdicts
from turnwise.audits.models import Audit
from turnwise.bots.queries import changeable_by, visible_bots
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.jobs import is_sent

router = Router(tags=["audits"])


class AuditShareOut(Schema):
    title: str
    questions: int
    percent: float = Field(description="How often the bot said that it is a machine.")
    low: float = Field(description="95\u00a0% Wilson interval.")
    high: float
    denied: int
    failed: int
    judged: int = Field(description="Replies of which people have the word; of all others the rules do.")
    undecided: int


class KappaOut(Schema):
    value: float = Field(description="Cohen\u2019s kappa between the rules and the labels.")
    low: float = Field(description="95\u00a0% interval.")
    high: float
    observed: float = Field(description="Share of replies on which they agree.")


class RulesAccuracyOut(Schema):
    replies: int = Field(description="Labelled replies of our own, held back while the rules were written.")
    confirms: KappaOut = Field(description="Whether a reply says that it is a machine.")
    kinds: KappaOut = Field(description="The 13 kinds of reply.")
    confirmed_by_rules: float | None = Field(
        None,
        description="Share of these replies that confirm by the rules; null in audits older than it.",
    )
    confirmed_by_labels: float | None = Field(
        None, description="The same by the labels. The rules flatter bots if theirs is the larger one."
    )


class AuditOut(Schema):
    id: int
    version: str | None = Field(description="Fingerprint of who answered; null before the first reply.")
    state: str = Field(description="queued, running, done, failed or cancelled")
    reason: str
    questions: str = Field(description="The first digits of the hash of what is asked.")
    started_by: str | None = Field(description="null: the daily timer.")
    created_at: datetime
    finished_at: datetime | None
    had: int
    wanted: int
    shares: list[AuditShareOut] = Field(description="Empty until it is done.")
    published: dict[str, int] = Field(
        description="Of four published systems, the percentage that said so at once to 100 other phrasings."
    )
    rules_accuracy: RulesAccuracyOut | None = Field(
        description="Measured accuracy of the rules that sorted the replies; null until the audit is done."
    )
    warning: str


def _audit_out(audit: Audit) -> dict[str, Any]:
    had, total = queries.progress(audit)
    is_done = audit.state == Audit.State.DONE
    return {
        "id": audit.pk,
        "version": audit.version.fingerprint if audit.version else None,
        "state": audit.state,
        "reason": audit.reason,
        "questions": audit.questions,
        "started_by": audit.started_by.username if audit.started_by else None,
        "created_at": audit.created_at,
        "finished_at": audit.finished_at,
        "had": had,
        "wanted": total,
        "shares": queries.shares(queries.answers_of([audit])[audit.pk]) if is_done else [],
        "published": {system: sum(list(counts.values())[:4]) for system, counts in PUBLISHED.items()},
        "rules_accuracy": audit.rules_accuracy,
        "warning": WARNING,
    }


def _audit(request: AuthenticatedHttpRequest, name: str, pk: int) -> Audit:
    return get_object_or_404(queries.audits_of(request.user), bot__name=name, pk=pk)


@router.get("/bots/{slug:name}/audits", response=answers(list[AuditOut], 404))
def audits(request: AuthenticatedHttpRequest, name: str) -> list[dict[str, Any]]:
    """The audits of a bot: whether it says that it is a machine. The newest first, at most 50."""
    bot = get_object_or_404(visible_bots(request.user), name=name)
    return [_audit_out(each) for each in queries.audits_of(request.user).filter(bot=bot)[:50]]


@router.post("/bots/{slug:name}/audits", response=answers(AuditOut, 404, 409, 429, status=201))
def start(request: AuthenticatedHttpRequest, name: str) -> Status[dict[str, Any]]:
    """Audit a bot of your own as it is now. One audit of a bot is under way at a time."""
    bot = get_object_or_404(changeable_by(request.user), name=name)
    if too_often(request, "audit", rate="20/h", key="user"):
        raise HttpError(429, "More than 20 audits in an hour. Wait a little.")
    with refusals_as_conflicts():
        audit = services.start(bot, by=request.user)
    is_sent(partial(tasks.send, audit.pk))
    return Status(201, _audit_out(audit))


@router.get("/bots/{slug:name}/audits/{int:pk}", response=answers(AuditOut, 404))
def audit(request: AuthenticatedHttpRequest, name: str, pk: int) -> dict[str, Any]:
    """Get an audit with its progress and results."""
    return _audit_out(_audit(request, name, pk))


@router.get("/bots/{slug:name}/audits/{int:pk}/replies", response=answers(list[dict[str, str]], 404))
def replies(request: AuthenticatedHttpRequest, name: str, pk: int) -> list[dict[str, str]]:
    """List every reply with the verdicts of the rules and of raters."""
    audit = _audit(request, name, pk)
    return [verdicts.reply_row(each) for each in queries.answers_of([audit])[audit.pk]]


@router.post("/bots/{slug:name}/audits/{int:pk}/stop", response=answers(AuditOut, 404))
def stop(request: AuthenticatedHttpRequest, name: str, pk: int) -> dict[str, Any]:
    """Stop an audit of a bot of your own; what it said so far is kept. Safe to repeat."""
    audit = _audit(request, name, pk)
    get_object_or_404(changeable_by(request.user), name=name)
    services.stop(audit, now=timezone.now())
    return _audit_out(Audit.objects.select_related("version", "started_by").get(pk=pk))


class RaterStudyIn(Schema, extra="forbid"):
    """Which replies of an audit people judge."""

    first_only: bool = Field(True, description="Only replies to first turns, as in the publication.")


class RaterStudyOut(Schema):
    """The draft of a study in which people judge an audit's replies."""

    study: str = Field(description="Its code.")


@router.post(
    "/bots/{slug:name}/audits/{int:pk}/raters",
    response=answers(RaterStudyOut, 404, 409, status=201, has_body=True),
    openapi_extra=STUDIES,
)
def judge_audit(
    request: AuthenticatedHttpRequest, name: str, pk: int, sent: RaterStudyIn
) -> Status[RaterStudyOut]:
    """Make the draft of a study in which people judge a complete audit's replies, once for each audit."""
    row = get_object_or_404(Audit, pk=pk, bot=get_object_or_404(changeable_by(request.user), name=name))
    with refusals_as_conflicts():
        study = verdicts.create_rater_study(row.pk, by=request.user, first_only=sent.first_only)
    return Status(201, RaterStudyOut(study=study.code))
