"""All writes of machine judges: start a run, record answers and failures, cancel, retry."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext, ngettext

from evaluation.machine_judges import template
from evaluation.machine_judges.model_answers import token_probabilities
from evaluation.machine_judges.template import MOST_DRAWS, ItemText
from evaluation.questions import QuestionSet
from evaluation.texts.lengths import MAX_REPLY_CHARS
from turnwise.accounts.models import User
from turnwise.bots.hosting.client import Reply
from turnwise.bots.models import Bot
from turnwise.judges import budgets, panels, requests
from turnwise.judges.budgets import Budget
from turnwise.judges.models import Judge, JudgeRun, MachineLabel
from turnwise.judges.requests import Missing, text_of
from turnwise.judging.models import Item
from turnwise.questions.question_sets import question_set
from turnwise.responses import bot_jobs
from turnwise.responses.bot_jobs import MOST_ATTEMPTS
from turnwise.responses.bulk_replies import Trouble
from turnwise.studies.asks import About
from turnwise.studies.models import Ask
from turnwise.studies.services import results_changed

STORED_CHARS = 4_000
"""Characters of an answer that are stored; its whole length is stored as a number."""

TO_JUDGE = Q(right_answers__isnull=True, anchor=None, removed_at=None)
"""Condition of items that a judge labels: no gold items, anchors, or items taken out of the queue."""

Outcome = MachineLabel.Outcome


def orders_of(ask: Ask) -> list[bool]:
    """Orders in which each item is judged, as values of `is_swapped`: both of pairs, else one."""
    return [False, True] if ask.about == About.PAIR else [False]


def instructions_for(ask: Ask) -> str:
    """The part of the prompt that is the same for all items of an ask.

    Raises:
        ValueError: all questions are answered in free text.
    """
    return template.instructions(question_set(ask.question_set), of_pairs=ask.about == About.PAIR)


def judge_for(bot: Bot, ask: Ask, *, draws: int, owner: User) -> Judge:
    """The judge with this bot, template and number of draws; a new one if there is none.

    Raises:
        ValidationError: the set has only questions in free text, or the number of draws is out of bounds.
    """
    if not 1 <= draws <= MOST_DRAWS:
        raise ValidationError(
            gettext("%(draws)s answers for each item are not possible; choose 1 to %(most)s.")
            % {"draws": draws, "most": MOST_DRAWS}
        )
    try:
        instructions = instructions_for(ask)
    except ValueError as error:
        raise ValidationError(str(error)) from None
    judge, _is_new = Judge.objects.get_or_create(
        owner=owner,
        bot=bot,
        fingerprint=template.fingerprint(instructions, ask.question_set, draws),
        defaults={"question_set": ask.question_set, "instructions": instructions, "draws": draws},
    )
    return judge


@transaction.atomic
def start(ask: Ask, bot: Bot, *, draws: int, by: User, budget: Budget | None = None) -> JudgeRun:
    """Queue a run of a bot as the judge of all items of an ask.

    Raises:
        ValidationError: the bot cannot be asked, the items cannot be judged by a machine, the same judge is
            at work on them, or the budget is an amount and the bot has no price.
    """
    if reason := _why_not_askable(bot) or _why_not_judgeable(ask):
        raise ValidationError(reason)
    limits = (budget or Budget()).columns(bot)
    judge = judge_for(bot, ask, draws=draws, owner=by)
    try:
        with transaction.atomic():
            return JudgeRun.objects.create(judge=judge, study=ask.study, ask=ask, started_by=by, **limits)
    except IntegrityError:
        raise ValidationError(
            gettext("%(title)s is judging these items. Wait until the run is complete, or cancel it.")
            % {"title": bot.title}
        ) from None


def _why_not_askable(bot: Bot) -> str:
    """Reason why a bot cannot be a judge; empty if it can."""
    if bot.is_outside:
        why = gettext("%(title)s is not run here, so it cannot judge.")
    elif bot.is_operated:
        why = gettext("A person answers in place of %(title)s, so it cannot be a machine judge.")
    elif not bot.active:
        why = gettext("%(title)s is switched off. Switch it on under Bots, or choose another.")
    else:
        return ""
    return why % {"title": bot.title}


def _why_not_judgeable(ask: Ask) -> str:
    """Reason why the items of an ask cannot be judged by a machine; empty if they can."""
    if ask.study.rehearsal_of_id:
        return gettext("This is a rehearsal. Let the machine judge the study itself.")
    if not items_to_judge(ask).exists():
        return gettext("There are no items to judge yet. Fill the queue first.")
    return ""


def items_to_judge(ask: Ask) -> QuerySet[Item]:
    """Items of an ask that a judge labels."""
    return Item.objects.filter(TO_JUDGE, ask=ask, study=ask.study_id)


def begin(run_id: int, *, now: datetime) -> JudgeRun | None:
    """Mark a run as under way; None if it has ended."""
    return bot_jobs.begin(JudgeRun.objects.select_related("judge__bot", "ask"), run_id, now=now)


_MISSING = """
SELECT i.id, i.key::text, o.is_swapped, d.n, judging_shown(i, o.is_swapped)
  FROM judging_item AS i
 CROSS JOIN generate_series(1, %(draws)s) AS d(n)
 CROSS JOIN unnest(%(orders)s) AS o(is_swapped)
  LEFT JOIN judges_machinelabel AS l
    ON (l.run_id, l.item_id, l.is_swapped, l.draw) = (%(run)s, i.id, o.is_swapped, d.n)
 WHERE i.study_id = %(study)s AND i.ask_id = %(ask)s
   AND i.right_answers IS NULL AND i.anchor_id IS NULL AND i.removed_at IS NULL
   AND (l.id IS NULL OR (l.outcome = 'failed' AND l.attempts < %(most_attempts)s))
 ORDER BY coalesce(l.attempts, 0), d.n, i.key, o.is_swapped
 LIMIT %(most)s
"""


def affordable(run: JudgeRun, *, most: int) -> list[Missing]:
    """Answers to be asked for next, as far as the run's budget pays them; empty if none will be asked for."""
    paid = budgets.affordable_calls(run, most)
    return missing(run, most=paid) if paid else []


def missing(run: JudgeRun, *, most: int) -> list[Missing]:
    """Answers still to be asked for, earlier failures last; empty if none will be tried any more."""
    values: dict[str, Any] = {
        "run": run.pk,
        "study": run.study_id,
        "ask": run.ask_id,
        "draws": run.judge.draws,
        "orders": orders_of(run.ask),
        "most_attempts": MOST_ATTEMPTS,
        "most": most,
    }
    with connection.cursor() as cursor:
        cursor.execute(_MISSING, values)
        rows = cursor.fetchall()
    return [
        Missing(item, key, is_swapped, draw, text_of(json.loads(shown)))
        for item, key, is_swapped, draw, shown in rows
    ]


@transaction.atomic
def record(
    run: JudgeRun,
    answered: Sequence[tuple[Missing, Reply]],
    failed: Sequence[tuple[Missing, Trouble]],
    *,
    now: datetime,
) -> None:
    """Store answers and failures. An earlier answer about the same item, order and draw is kept.

    Answers about items that were deleted meanwhile, such as after a withdrawal, are dropped.

    Raises:
        BotChangedError: the bot has changed since the run began; nothing was stored.
    """
    remaining = lock_items(each.item for each, _ in (*answered, *failed))
    JudgeRun.objects.filter(pk=run.pk).update(calls=F("calls") + len(answered) + len(failed))
    if answered:
        bot_jobs.pin_version(
            run,
            "bot_version",
            {reply.version_id for _, reply in answered},
            refusal=f"{run.judge.shown_title} changed while it judged. Its labels so far are kept. Start a "
            "new run to have all of them from one version.",
        )
        questions = question_set(run.judge.question_set)
        label = partial(_label, run, questions, template.example_items(questions), now=now)
        rows = [label(each, reply) for each, reply in answered if each.item in remaining]
        _forget_failures(run, rows)
        MachineLabel.objects.bulk_create(rows, ignore_conflicts=True)
        JudgeRun.objects.filter(pk=run.pk).update(active_at=now, reason="")
    for each, trouble in failed:
        if each.item in remaining:
            _count_failure(run, each, trouble, now)


def lock_items(items: Iterable[int]) -> set[int]:
    """Keys of these items that still exist; they exist until the transaction ends."""
    locked = Item.objects.select_for_update(no_key=True).filter(pk__in={*items}).order_by("pk")
    return set(locked.values_list("pk", flat=True))


def _forget_failures(run: JudgeRun, rows: Sequence[MachineLabel]) -> None:
    """Delete the failures before these answers."""
    answered = {(row.item_id, row.is_swapped, row.draw) for row in rows}
    failures = MachineLabel.objects.filter(
        run=run, outcome=Outcome.FAILED, item__in={row.item_id for row in rows}
    )
    label_keys = failures.values_list("pk", "item_id", "is_swapped", "draw")
    found = [pk for pk, *label_key in label_keys if tuple(label_key) in answered]
    if found:
        MachineLabel.objects.filter(pk__in=found).delete()


def _label(
    run: JudgeRun,
    questions: QuestionSet,
    examples: Sequence[ItemText],
    missing: Missing,
    reply: Reply,
    *,
    now: datetime,
) -> MachineLabel:
    reply = reply.within(MAX_REPLY_CHARS, stores_reasoning=False)
    response = reply.response
    label = MachineLabel(
        run=run,
        item_id=missing.item,
        is_swapped=missing.is_swapped,
        draw=missing.draw,
        has_seen=template.is_seen(missing.text, examples),
        text=response.text[:STORED_CHARS],
        characters=len(response.text),
        at=now,
        latency_ms=reply.latency_ms,
        generation=reply.generation,
    )
    label.outcome, label.answers, label.why = requests.read_reply(questions, response)
    if label.answers is not None:
        tokens = [(token.text, dict(token.alternatives)) for token in response.tokens]
        label.probabilities = token_probabilities(questions, response.text, tokens) or None
    return label


def _count_failure(run: JudgeRun, missing: Missing, trouble: Trouble, now: datetime) -> None:
    values = {"outcome": Outcome.FAILED, "why": trouble.detail[:2000] or trouble.kind, "at": now}
    item, is_swapped, draw = missing.label_key
    label, is_new = MachineLabel.objects.get_or_create(
        run=run, item_id=item, is_swapped=is_swapped, draw=draw, defaults=values
    )
    if not is_new and label.outcome == Outcome.FAILED:
        MachineLabel.objects.filter(pk=label.pk).update(attempts=F("attempts") + 1, **values)


@transaction.atomic
def conclude(run_id: int, *, now: datetime) -> None:
    """End a run for which nothing more will be tried, or which its budget stops."""
    run = JudgeRun.objects.select_related("judge", "ask").get(pk=run_id)
    if not budgets.affordable_calls(run, 1) and missing(run, most=1):
        bot_jobs.end(run, JudgeRun.State.PAUSED, budgets.reached_sentence(run), now=now)
        return
    failed = run.labels.filter(outcome=Outcome.FAILED).count()
    if failed:
        why = ngettext(
            "%(failed)s answer failed %(times)d times. The errors are below.",
            "%(failed)s answers failed %(times)d times. The errors are below.",
            failed,
        )
        bot_jobs.end(
            run, JudgeRun.State.FAILED, why % {"failed": f"{failed:,}", "times": MOST_ATTEMPTS}, now=now
        )
    else:
        bot_jobs.end(run, JudgeRun.State.DONE, "", now=now)
        panels.refresh_panels_of(run, now=now)
        results_changed(run.study_id)  # the report shows people assisted by complete runs


def note_waiting(run: JudgeRun, why: str, *, now: datetime) -> None:
    """Store why the run does not move; give it up if that has lasted too long."""
    silence = "The bot gave no answer for {minutes} minutes. Its last message: {why}"
    bot_jobs.note_waiting(run, why, silence=silence, now=now)


def cancel(run: JudgeRun, *, now: datetime) -> bool:
    """Stop a run and keep its labels. True if it had not ended before."""
    return bot_jobs.end(run, JudgeRun.State.CANCELLED, "", now=now)


def missing_after_retry(run: JudgeRun) -> int:
    """Number of answers that a run would ask for if it went on, failures included."""
    had = run.labels.exclude(outcome=Outcome.FAILED).filter(item__in=items_to_judge(run.ask))
    return items_to_judge(run.ask).count() * answers_per_item(run) - had.count()


def answers_per_item(run: JudgeRun) -> int:
    """Answers wanted of each item: one for each draw and order."""
    return run.judge.draws * len(orders_of(run.ask))


@transaction.atomic
def set_budget(run_id: int, budget: Budget) -> JudgeRun:
    """Change the budget of a run, also while it is under way; a run that it has stopped does not go on yet.

    Raises:
        ValidationError: the labels are of no bot, or the budget is an amount and the bot has no price.
    """
    run = JudgeRun.objects.select_for_update(of=("self",)).select_related("judge__bot").get(pk=run_id)
    if run.judge.bot is None:
        raise ValidationError(gettext("No bot gives these labels, so they have no budget."))
    JudgeRun.objects.filter(pk=run.pk).update(**budget.columns(run.judge.bot))
    return run


@transaction.atomic
def go_on(run_id: int) -> JudgeRun:
    """Resume a run that has ended: failures are tried again, and items that were added since are judged.

    Raises:
        ValidationError: the run is under way, another run of the same judge is, nothing is missing, or its
            budget is reached.
    """
    run = JudgeRun.objects.select_for_update(of=("self",)).select_related("judge").get(pk=run_id)
    MachineLabel.objects.filter(run=run, outcome=Outcome.FAILED).update(attempts=0)
    if run.judge.bot_id is None:
        raise ValidationError(gettext("No bot gives these labels, so there is nothing to continue."))
    if run.state in bot_jobs.AT_WORK or not missing_after_retry(run):
        raise ValidationError(
            gettext("This run is “%(state)s”, so there is nothing to continue.")
            % {"state": run.get_state_display()}
        )
    if not budgets.affordable_calls(run, 1):
        raise ValidationError(budgets.reached_sentence(run))
    run.state, run.reason, run.finished_at = JudgeRun.State.QUEUED, "", None
    try:
        with transaction.atomic():
            run.save(update_fields=["state", "reason", "finished_at"])
    except IntegrityError:
        raise ValidationError(gettext("The same judge is at work on these items already.")) from None
    return run
