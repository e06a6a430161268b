"""State changes of an audit: start, record replies, stop, conclude."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import cache

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils.translation import gettext

from chatbots.base import Context
from chatbots.identity import audit as asking
from chatbots.identity.audit import LINES, SILENCE, TALKS, Answered, Probe, Question
from chatbots.identity.labels import Label
from chatbots.identity.replies import Reply as Category
from chatbots.identity.rule_accuracy import held_back_accuracy
from chatbots.replies import ReplyOutcome, Response
from turnwise.accounts.models import User
from turnwise.audits.models import Audit, AuditedReply
from turnwise.bots.hosting.client import Reply
from turnwise.bots.models import Bot
from turnwise.responses import bot_jobs
from turnwise.responses.bot_jobs import MOST_ATTEMPTS
from turnwise.responses.bulk_replies import Trouble

Line = tuple[int, int]
"""A line of a scripted talk: number of the talk, and of the line, both from 0."""
Missing = Probe | Line


@cache
def audit_questions() -> Sequence[Question]:
    """The questions that ship."""
    return asking.questions()


def start(bot: Bot, *, by: User | None) -> Audit:
    """Queue an audit of the bot's current version; `by` is None for the daily timer.

    Raises:
        ValidationError: the bot cannot be asked, or is being asked already.
    """
    if bot.is_outside:
        raise ValidationError(
            gettext("%(title)s is not run here, so it cannot be asked.") % {"title": bot.title}
        )
    if bot.is_operated:
        raise ValidationError(
            gettext("A person answers in place of %(title)s, so it cannot be asked.") % {"title": bot.title}
        )
    if not bot.active:
        raise ValidationError(
            gettext("%(title)s is switched off. Switch it on, then start the audit.") % {"title": bot.title}
        )
    values = {"questions": asking.version(), "started_by": by, "by_timer": by is None}
    try:
        with transaction.atomic():
            return Audit.objects.create(bot=bot, **values)
    except IntegrityError:
        raise ValidationError(
            gettext("An audit of %(title)s is in progress. Wait until it is complete, or stop it.")
            % {"title": bot.title}
        ) from None


def begin(audit_id: int, *, now: datetime) -> Audit | None:
    """Mark an audit as under way; None if it is over."""
    return bot_jobs.begin(Audit.objects.select_related("bot"), audit_id, now=now)


def missing(audit: Audit, *, most: int) -> list[Missing]:
    """Questions or lines still to be asked, failed ones last: first the talks, then the questions."""
    had: dict[tuple[str, int], int] = {}
    for question, turn, attempts, error in audit.replies.values_list("question", "turn", "attempts", "error"):
        had[question, turn] = attempts if error else MOST_ATTEMPTS
    lines = [(talk, line) for talk in range(TALKS) if (line := _next_line(had, talk)) < LINES]
    lacking: list[tuple[int, Missing]] = [(had.get(_key(each), 0), each) for each in lines]
    if not lacking:
        lacking = [
            (attempts, probe)
            for probe in asking.probes(audit_questions(), seed=audit.seed)
            if (attempts := had.get(_key(probe), 0)) < MOST_ATTEMPTS
        ]
    return [each for _, each in sorted(lacking, key=lambda pair: pair[0])[:most]]


def _next_line(had: Mapping[tuple[str, int], int], talk: int) -> int:
    """Number of the first line that the bot has still to answer."""
    return next((n for n in range(LINES) if had.get(_key((talk, n)), 0) < MOST_ATTEMPTS), LINES)


def _key(missing: Missing) -> tuple[str, int]:
    if isinstance(missing, Probe):
        return missing.question.id, missing.turn
    talk, line = missing
    return f"talk-{talk}", 2 * line + 1


def context_of(missing: Missing, talks: Mapping[int, Sequence[str]], *, seed: int) -> Context:
    """Context for a missing reply, given the bot's replies in each talk so far."""
    if isinstance(missing, Probe):
        return asking.context_of(missing, () if missing.talk is None else talks[missing.talk])
    talk, line = missing
    return asking.talk_context(talk, talks.get(talk, [])[:line], seed=seed)


def talks_of(audit: Audit) -> dict[int, list[str]]:
    """Replies of the bot by talk; `SILENCE` where it failed."""
    texts_by_key: dict[int, list[str]] = {}
    lines = audit.replies.filter(label="").order_by("question", "turn").values_list("question", "text")
    for question, text in lines:
        texts_by_key.setdefault(int(question.removeprefix("talk-")), []).append(text or SILENCE)
    return texts_by_key


@transaction.atomic
def record(
    audit: Audit,
    answered: Sequence[tuple[Missing, Reply]],
    failed: Sequence[tuple[Missing, Trouble]],
    *,
    now: datetime,
) -> None:
    """Store replies with the verdicts of the rules, and failures.

    Raises:
        BotChangedError: the bot's version has changed; nothing is stored.
    """
    if answered:
        bot_jobs.pin_version(
            audit,
            "version",
            {reply.version_id for _, reply in answered},
            refusal=f"{audit.bot.title} changed while it was being asked. What it said so far is kept. "
            "Start a new audit to have all of it from one version.",
        )
        rows = [_row(audit, missing, reply.response) for missing, reply in answered]
        AuditedReply.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["audit", "question", "turn"],
            update_fields=["text", "outcome", "category", "start", "end", "error"],
        )
        Audit.objects.filter(pk=audit.pk).update(active_at=now, reason="")
    for missing, trouble in failed:
        _count_failure(audit, missing, trouble)


def _row(audit: Audit, missing: Missing, response: Response) -> AuditedReply:
    """A reply as it is stored. A refused or filtered one may be empty, and is no failure."""
    text = response.text
    outcome = "" if response.outcome is ReplyOutcome.COMPLETE else response.outcome.value
    question, turn = _key(missing)
    if not isinstance(missing, Probe):
        return AuditedReply(audit=audit, question=question, turn=turn, text=text, outcome=outcome)
    finding = asking.sorted_by_rules(missing, text)
    return AuditedReply(
        audit=audit,
        question=question,
        turn=turn,
        label=finding.label,
        asked=finding.asked,
        text=text,
        outcome=outcome,
        category=finding.category or "",
        start=finding.start,
        end=finding.end,
    )


def _count_failure(audit: Audit, missing: Missing, trouble: Trouble) -> None:
    question, turn = _key(missing)
    values = {"error": trouble.detail[:2000] or trouble.kind}
    if isinstance(missing, Probe):
        values |= {"label": missing.question.label, "asked": missing.question.text}
    reply, is_new = audit.replies.get_or_create(question=question, turn=turn, defaults=values)
    if not is_new and reply.error:
        audit.replies.filter(pk=reply.pk).update(attempts=F("attempts") + 1, **values)


@transaction.atomic
def conclude(audit_id: int, *, now: datetime) -> None:
    """End an audit when no question is left, and store the accuracy of the rules that sorted its replies.

    Final failures count as no confirmation.
    """
    audit = Audit.objects.get(pk=audit_id)
    if audit.version_id is None:
        fail(audit, "The bot answered nothing. The errors are below.", now)
    elif bot_jobs.end(audit, Audit.State.DONE, "", now=now):
        Audit.objects.filter(pk=audit.pk).update(rules_accuracy=asdict(held_back_accuracy()))


def fail(audit: Audit, reason: str, now: datetime) -> None:
    bot_jobs.end(audit, Audit.State.FAILED, reason, now=now)


def note_waiting(audit: Audit, why: str, *, now: datetime) -> None:
    """Record why the audit waits; fail it if it has waited too long."""
    silence = "The bot gave no reply for {minutes} minutes. Its last message: {why}"
    bot_jobs.note_waiting(audit, why, silence=silence, now=now)


def stop(audit: Audit, *, now: datetime) -> bool:
    """Stop an audit; its replies stay. Returns whether it was under way."""
    return bot_jobs.end(audit, Audit.State.CANCELLED, "", now=now)


def answered(reply: AuditedReply) -> Answered:
    """Convert a stored reply for the statistics."""
    return Answered(
        reply.question,
        reply.turn,
        reply.asked,
        Label(reply.label),
        reply.text,
        Category(reply.category) if reply.category else None,
        reply.start,
        reply.end,
        reply.error,
    )
