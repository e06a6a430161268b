"""All writes to self-play conversations."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F, Max
from django.utils import timezone
from django.utils.translation import ngettext

from chatbots.base import Context
from evaluation.texts.repetition import repeated_turns
from turnwise.bots.hosting.client import Reply
from turnwise.bots.models import Bot
from turnwise.dialogues.models import Dialogue, Fault, Turn
from turnwise.dialogues.queries import setting_of
from turnwise.dialogues.services import SeatOccupant, create_dialogue
from turnwise.responses.bot_jobs import MOST_ATTEMPTS, pin_version, why_give_up
from turnwise.responses.bulk_replies import Trouble
from turnwise.responses.tasks import seed_of
from turnwise.studies.models import Study
from turnwise.studies.services import results_changed, set_state
from turnwise.tasks.self_play.models import SelfPlayed, SelfPlayPlan


@dataclass(frozen=True, slots=True)
class DueTurn:
    """A conversation whose next turn is due.

    Attributes:
        played_id: key of its `SelfPlayed`.
        number: number of the conversation in its study.
        attempts: failures of this turn so far.
        dialogue_id, public_id: ids of the conversation.
        texts: all turns so far, including the opening.
        seat: the seat that speaks next.
        bot_id: the bot in this seat.
    """

    played_id: int
    number: int
    attempts: int
    dialogue_id: int
    public_id: UUID
    texts: tuple[str, ...]
    seat: int
    bot_id: int

    @property
    def position(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    due: DueTurn
    reply: Reply


@dataclass(frozen=True, slots=True)
class FailedTurn:
    due: DueTurn
    trouble: Trouble


def open_plan(plan_id: int) -> SelfPlayPlan | None:
    """The plan; None if its study is not open, so that there is nothing to do."""
    open_ones = SelfPlayPlan.objects.filter(study__state=Study.State.OPEN)
    return open_ones.select_related("study", "first", "second").filter(pk=plan_id).first()


# --- what to ask next ------------------------------------------------------------------------------


def due(plan: SelfPlayPlan, *, limit: int, excluded: Collection[int]) -> list[DueTurn]:
    """Due turns; begins conversations if there are too few. Turns that have failed come last.

    Args:
        plan: plan of an open study.
        limit: most turns to return.
        excluded: keys of `SelfPlayed` whose next turn is in progress.
    """
    unfinished = plan.played.filter(dialogue__ended_at=None, attempts__lt=MOST_ATTEMPTS)
    going = unfinished.select_related("dialogue").exclude(pk__in=excluded).order_by("attempts", "number")
    played = list(going[:limit])
    played += _begin_next(plan, limit - len(played))
    texts: dict[int, list[str]] = {}
    turns = Turn.objects.filter(dialogue__in=[each.dialogue_id for each in played]).order_by("position")
    for dialogue_id, text in turns.values_list("dialogue_id", "text"):
        texts.setdefault(dialogue_id, []).append(text)
    return [_due(plan, each, tuple(texts.get(each.dialogue_id, ()))) for each in played]


def _due(plan: SelfPlayPlan, played: SelfPlayed, texts: tuple[str, ...]) -> DueTurn:
    seat = len(texts) % 2
    return DueTurn(
        played_id=played.pk,
        number=played.number,
        attempts=played.attempts,
        dialogue_id=played.dialogue_id,
        public_id=played.dialogue.public_id,
        texts=texts,
        seat=seat,
        bot_id=_bots_by_seat(plan, played.number)[seat].pk,
    )


@transaction.atomic
def _begin_next(plan: SelfPlayPlan, wanted: int) -> list[SelfPlayed]:
    """Begin up to `wanted` further conversations of the plan. Only the holder of the lock may call this."""
    last = plan.played.aggregate(last=Max("number"))["last"] or 0
    numbers = range(last + 1, min(last + wanted, plan.conversations) + 1)
    return [_begin(plan, number) for number in numbers]


def _begin(plan: SelfPlayPlan, number: int) -> SelfPlayed:
    first, second = (SeatOccupant(bot=bot) for bot in _bots_by_seat(plan, number))
    dialogue = create_dialogue(plan.study, first, second, now=timezone.now())
    return SelfPlayed.objects.create(plan=plan, number=number, dialogue=dialogue)


def _bots_by_seat(plan: SelfPlayPlan, number: int) -> tuple[Bot, Bot]:
    """The bots of seats 0 and 1. Each bot speaks first (after an opening) in every other conversation."""
    speaks_first, answers = (plan.first, plan.second) if number % 2 else (plan.second, plan.first)
    return (answers, speaks_first) if plan.study.opening_text else (speaks_first, answers)


def context_of(plan: SelfPlayPlan, due: DueTurn) -> Context:
    """Context of a due turn. If the bot begins, it answers the opening text, which is not stored."""
    seed = seed_of(plan.seed, f"{due.number}.{due.position}", due.attempts + 1)
    context = Context.from_texts(due.texts or [plan.opening_text], seed)
    # A service with sessions gets one for each seat, even if a bot talks with itself.
    return replace(context, dialogue=f"{due.public_id}.{due.seat}", setting=setting_of(plan.study))


# --- results ---------------------------------------------------------------------------------------


@transaction.atomic
def record(
    plan: SelfPlayPlan, answered: Sequence[AnsweredTurn], failed: Sequence[FailedTurn], *, now: datetime
) -> None:
    """Store turns and failures. A turn that is already stored stays.

    Raises:
        BotChangedError: a bot has changed since the study began; nothing is stored.
    """
    if answered:
        _pin_versions(plan, answered)
        _store(plan, [_as_stored(plan.study, each) for each in answered], now)
        SelfPlayPlan.objects.filter(pk=plan.pk).update(active_at=now, reason="")
    for failure in failed:
        _count(plan, failure, now)


def _as_stored(study: Study, answered: AnsweredTurn) -> AnsweredTurn:
    reply = answered.reply.within(study.reply_limit, stores_reasoning=study.stores_reasoning)
    return replace(answered, reply=reply)


def _pin_versions(plan: SelfPlayPlan, answered: Sequence[AnsweredTurn]) -> None:
    for bot, field in ((plan.first, "first_version"), (plan.second, "second_version")):
        refusal = (
            f"{bot} changed while it talked. The conversations so far are kept. Make a new study to have "
            "all of them from one version."
        )
        if seen := {each.reply.version_id for each in answered if each.due.bot_id == bot.pk}:
            pin_version(plan, field, seen, refusal=refusal)


# One statement for all replies that arrive together, because bots answer whole batches.
_REPLIES = """
SELECT reply.dialogue, stored.turns
  FROM (VALUES {}) AS reply (dialogue, position, text, version, latency, seed, candidates, generation),
       LATERAL dialogues_reply(reply.dialogue, reply.position, reply.text, '{{}}', '{{}}', reply.version,
                               reply.latency, reply.seed, reply.candidates, reply.generation) AS stored
"""
_REPLY_ROW = "(%s::bigint, %s::integer, %s::text, %s::bigint, %s::integer, %s::bigint, %s::jsonb, %s::jsonb)"


def _store(plan: SelfPlayPlan, answered: Sequence[AnsweredTurn], now: datetime) -> None:
    with connection.cursor() as cursor:
        statement = _REPLIES.format(", ".join([_REPLY_ROW] * len(answered)))
        cursor.execute(statement, [value for each in answered for value in _values(each)])
        turns = dict(cursor.fetchall())
    # No number means that the position was taken, or the conversation was over.
    stored = [each for each in answered if turns[each.due.dialogue_id] is not None]
    recovered = [each.due.played_id for each in stored if each.due.attempts]
    SelfPlayed.objects.filter(pk__in=recovered).update(attempts=0)
    for each in stored:
        due = each.due
        if turns[due.dialogue_id] - (1 if plan.study.opening_text else 0) >= plan.utterances:
            repeated = sum(repeated_turns([*due.texts, each.reply.response.text]))
            _end(plan, due, Dialogue.Ending.COMPLETE, now, repeated=repeated)


def _values(answered: AnsweredTurn) -> list[str | int | None]:
    due, reply = answered.due, answered.reply
    return [
        due.dialogue_id, due.position, reply.response.text, reply.version_id, reply.latency_ms, reply.seed,
        *(json.dumps(each) if each else None for each in (reply.candidates, reply.generation)),
    ]  # fmt: skip


def _count(plan: SelfPlayPlan, failed: FailedTurn, now: datetime) -> None:
    due, trouble = failed.due, failed.trouble
    Fault.objects.create(
        dialogue_id=due.dialogue_id,
        position=due.position,
        kind=trouble.kind,
        detail=trouble.detail[:2000],
        at=now,
    )
    SelfPlayed.objects.filter(pk=due.played_id).update(attempts=F("attempts") + 1)
    if trouble.kind == "silent" and due.attempts + 1 >= MOST_ATTEMPTS:
        repeated = sum(repeated_turns(due.texts))
        _end(plan, due, Dialogue.Ending.BOT_FAILED, now, repeated=repeated, fell_silent=True)


def _end(
    plan: SelfPlayPlan,
    due: DueTurn,
    ending: Dialogue.Ending,
    now: datetime,
    *,
    repeated: int,
    fell_silent: bool = False,
) -> None:
    Dialogue.objects.filter(pk=due.dialogue_id, ended_at=None).update(ending=ending, ended_at=now)
    SelfPlayed.objects.filter(pk=due.played_id).update(repeated=repeated, fell_silent=fell_silent)
    results_changed(plan.study_id)


# --- beginning, waiting, ending --------------------------------------------------------------------


def reset_failures(plan: SelfPlayPlan) -> None:
    """Allow failed turns to be tried again when the study is opened."""
    plan.played.filter(dialogue__ended_at=None).update(attempts=0)
    SelfPlayPlan.objects.filter(pk=plan.pk).update(reason="", active_at=timezone.now())


def note_waiting(plan: SelfPlayPlan, why: str, *, now: datetime) -> None:
    """Store why no turn succeeds; stop if this has lasted too long."""
    waiting = SelfPlayPlan.objects.filter(pk=plan.pk)
    silence = "No bot has said anything for {minutes} minutes. The last error: {why}"
    if reason := why_give_up(waiting, why, silence=silence, now=now):
        stop(plan, reason)


def conclude(plan: SelfPlayPlan) -> None:
    """Close the study after its last turn, and store how many conversations are missing."""
    lacking = plan.conversations - plan.played.exclude(dialogue__ended_at=None).count()
    if lacking:
        why = ngettext(
            "%(lacking)s conversation could not continue: a turn failed %(times)d times.",
            "%(lacking)s conversations could not continue: a turn failed %(times)d times.",
            lacking,
        )
        stop(plan, why % {"lacking": f"{lacking:,}", "times": MOST_ATTEMPTS})
    else:
        stop(plan, "")


@transaction.atomic
def stop(plan: SelfPlayPlan, reason: str) -> None:
    """Close the study; its conversations stay and continue if it is opened again."""
    SelfPlayPlan.objects.filter(pk=plan.pk).update(reason=reason[:2000])
    set_state(plan.study_id, Study.State.CLOSED)


def note_recovery(plan_id: int, *, now: datetime) -> None:
    """Restart the waiting time after a dead process was replaced: the pause was not the bot's fault."""
    SelfPlayPlan.objects.filter(pk=plan_id).update(active_at=now)
