"""All writes of runs and their responses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from evaluation.texts.lengths import MAX_REPLY_CHARS
from turnwise.accounts.models import User
from turnwise.bots.hosting.client import Reply
from turnwise.bots.models import Bot
from turnwise.contexts.models import Context, ContextSetVersion
from turnwise.responses import bot_jobs
from turnwise.responses.bot_jobs import MOST_ATTEMPTS
from turnwise.responses.bulk_replies import Trouble
from turnwise.responses.models import Response, ResponseFault, ResponseRun, Source

MOST_REPETITIONS = 7


@dataclass(frozen=True, slots=True)
class Missing:
    """A response that a run does not have yet."""

    context: Context
    repetition: int


def start_run(
    version: ContextSetVersion,
    bot: Bot,
    *,
    owner: User,
    seed: int,
    repetitions: int = 1,
    stores_reasoning: bool = False,
) -> ResponseRun:
    """Queue a run of a bot over all contexts of a version.

    Args:
        version: of a context set.
        bot: that is to respond.
        owner: the person who starts the run.
        seed: from which the seeds of all responses are derived.
        repetitions: number of responses to each context.
        stores_reasoning: store the text in which the model reasons before it responds.

    Raises:
        ValidationError: the bot is switched off, or the number of repetitions is out of bounds.
    """
    if not bot.active:
        raise ValidationError(
            gettext("%(title)s is switched off. Switch it on under Bots, or choose another.")
            % {"title": bot.title}
        )
    if not 1 <= repetitions <= MOST_REPETITIONS:
        raise ValidationError(
            gettext("%(repetitions)s repetitions are not possible; choose 1 to %(most_repetitions)s.")
            % {"repetitions": repetitions, "most_repetitions": MOST_REPETITIONS}
        )
    return ResponseRun.objects.create(
        context_version=version,
        source=Source.BOT,
        system=bot.title,
        owner=owner,
        bot=bot,
        decoding=bot.configuration,
        seed=seed,
        repetitions=repetitions,
        stores_reasoning=stores_reasoning,
    )


def begin(run_id: int, *, now: datetime) -> ResponseRun | None:
    """Mark a run as running; None if it has ended."""
    of_bots = ResponseRun.objects.filter(source=Source.BOT).select_related("context_version", "bot")
    return bot_jobs.begin(of_bots, run_id, now=now)


_MISSING = """
SELECT c.id, r.n
  FROM contexts_context c
 CROSS JOIN generate_series(1, %(repetitions)s) AS r(n)
  LEFT JOIN responses_responsefault f ON (f.run_id, f.context_id, f.repetition) = (%(run)s, c.id, r.n)
 WHERE c.version_id = %(version)s
   AND COALESCE(f.attempts, 0) < %(most_attempts)s
   AND NOT EXISTS (SELECT FROM responses_response a
                    WHERE (a.run_id, a.context_id, a.repetition) = (%(run)s, c.id, r.n))
 ORDER BY COALESCE(f.attempts, 0), r.n, c.position
 LIMIT %(most)s
"""


def missing(run: ResponseRun, *, most: int) -> list[Missing]:
    """Missing responses, earlier failures last; empty if none will be tried any more."""
    values = {
        "run": run.pk,
        "version": run.context_version_id,
        "repetitions": run.repetitions,
        "most_attempts": MOST_ATTEMPTS,
        "most": most,
    }
    with connection.cursor() as cursor:
        cursor.execute(_MISSING, values)
        found = cursor.fetchall()
    contexts = Context.objects.in_bulk([context for context, _ in found])
    return [Missing(contexts[context], repetition) for context, repetition in found]


@transaction.atomic
def record(
    run: ResponseRun,
    answered: Sequence[tuple[Missing, Reply]],
    failed: Sequence[tuple[Missing, Trouble]],
    *,
    now: datetime,
) -> None:
    """Store replies and failures. An existing response is kept.

    Raises:
        BotChangedError: the bot has changed since the run began; nothing was stored.
    """
    if answered:
        bot_jobs.pin_version(
            run,
            "bot_version",
            {reply.version_id for _, reply in answered},
            refusal=f"{run.system} changed while it responded. Its responses so far are kept. Start a new "
            "run to have all of them from one version.",
        )
        rows = [_response(run, missing, reply, now) for missing, reply in answered]
        Response.objects.bulk_create(rows, ignore_conflicts=True)
        ResponseRun.objects.filter(pk=run.pk).update(active_at=now, reason="")
    for missing, trouble in failed:
        _count_failure(run, missing, trouble, now)


def _response(run: ResponseRun, missing: Missing, reply: Reply, now: datetime) -> Response:
    reply = reply.within(MAX_REPLY_CHARS, stores_reasoning=run.stores_reasoning)
    return Response(
        run=run,
        context=missing.context,
        repetition=missing.repetition,
        text=reply.response.text,
        created_at=now,
        bot_version_id=reply.version_id,
        latency_ms=reply.latency_ms,
        seed=reply.seed,
        candidates=reply.candidates or None,
        generation=reply.generation,
    )


def _count_failure(run: ResponseRun, missing: Missing, trouble: Trouble, now: datetime) -> None:
    which = {"run": run, "context": missing.context, "repetition": missing.repetition}
    values = {"kind": trouble.kind, "detail": trouble.detail[:2000], "at": now}
    fault, is_new = ResponseFault.objects.get_or_create(**which, defaults=values)
    if not is_new:
        ResponseFault.objects.filter(pk=fault.pk).update(attempts=F("attempts") + 1, **values)


def conclude(run_id: int, *, now: datetime) -> None:
    """End a run for which nothing more will be tried."""
    run = ResponseRun.objects.select_related("context_version").get(pk=run_id)
    lacking = run.context_version.size * run.repetitions - run.responses.count()
    if lacking:
        why = ngettext(
            "%(lacking)s response failed %(times)d times. The errors are below.",
            "%(lacking)s responses failed %(times)d times. The errors are below.",
            lacking,
        )
        fail(run, why % {"lacking": f"{lacking:,}", "times": MOST_ATTEMPTS}, now)
    else:
        bot_jobs.end(run, ResponseRun.State.DONE, "", now=now)


def fail(run: ResponseRun, reason: str, now: datetime) -> None:
    bot_jobs.end(run, ResponseRun.State.FAILED, reason, now=now)


def note_waiting(run: ResponseRun, why: str, *, now: datetime) -> None:
    """Store why the run does not move; give it up if that has lasted too long."""
    silence = "The bot gave no response for {minutes} minutes. Its last message: {why}"
    bot_jobs.note_waiting(run, why, silence=silence, now=now)


def cancel(run: ResponseRun, *, now: datetime) -> bool:
    """Stop a run and keep its responses. True if it had not ended before."""
    return bot_jobs.end(run, ResponseRun.State.CANCELLED, "", now=now)


@transaction.atomic
def retry(run_id: int) -> ResponseRun:
    """Resume a run that failed or was cancelled. Only missing responses are asked for.

    Raises:
        ValidationError: the run is in progress, complete, or not a bot's.
    """
    run = ResponseRun.objects.select_for_update().get(pk=run_id)
    over = (ResponseRun.State.FAILED, ResponseRun.State.CANCELLED)
    if run.source != Source.BOT or run.state not in over:
        raise ValidationError(
            gettext("This run is “%(value)s”, so there is nothing to continue.")
            % {"value": run.get_state_display()}
        )
    ResponseFault.objects.filter(run=run).update(attempts=0)
    run.state, run.reason, run.finished_at = ResponseRun.State.QUEUED, "", None
    run.save(update_fields=["state", "reason", "finished_at"])
    return run


@transaction.atomic
def store_file(
    version: ContextSetVersion,
    responses: Mapping[tuple[int, int], str],
    *,
    system: str,
    owner: User,
) -> ResponseRun:
    """Store a complete run of a system that cannot run here.

    Args:
        version: the version whose contexts were answered.
        responses: texts by primary key of the context and repetition, checked by `files.parse`.
        system: name in reports.
        owner: owner of the run.
    """
    now = timezone.now()
    run = ResponseRun.objects.create(
        context_version=version,
        source=Source.FILE,
        system=system,
        owner=owner,
        repetitions=max(repetition for _, repetition in responses),
        state=ResponseRun.State.DONE,
        active_at=now,
        finished_at=now,
    )
    rows = (
        Response(run=run, context_id=context, repetition=repetition, text=text, created_at=now)
        for (context, repetition), text in responses.items()
    )
    while batch := list(islice(rows, 1000)):
        Response.objects.bulk_create(batch)
    return run
