"""Everything that may happen to the conversations that bots have with each other."""

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
from turnwise.dialogues.services import Taken, seat_two
from turnwise.responses.bot_jobs import MOST_ATTEMPTS, pin_version, why_give_up
from turnwise.responses.bulk_replies import Trouble
from turnwise.responses.tasks import seed_of
from turnwise.studies.models import Study
from turnwise.studies.services import results_changed, set_state
from turnwise.tasks.self_play.models import SelfPlayed, SelfPlayPlan


@dataclass(frozen=True, slots=True)
class Due:
    """A conversation whose next turn is to be asked for.

    Attributes:
        played_id: of `SelfPlayed`.
        number: of the conversation in its study.
        attempts: how often this turn has failed.
        dialogue_id, public_id: of the conversation.
        texts: what was said, the opening first.
        seat: whose turn it is.
        bot_id: who sits there.
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
class Said:
    due: Due
    reply: Reply


@dataclass(frozen=True, slots=True)
class Failed:
    due: Due
    trouble: Trouble


def plan_at_work(plan_id: int) -> SelfPlayPlan | None:
    """The plan; None if its study is not open, so that nothing is to be done."""
    open_ones = SelfPlayPlan.objects.filter(study__state=Study.State.OPEN)
    return open_ones.select_related("study", "first", "second").filter(pk=plan_id).first()


# --- what to ask next ------------------------------------------------------------------------------


def due(plan: SelfPlayPlan, *, most: int, but: Collection[int]) -> list[Due]:
    """Conversations to go on with, begun here if there are too few; those that failed come last.

    Args:
        plan: of a study that is open.
        most: how many.
        but: keys of `SelfPlayed` whose next turn was asked for already.
    """
    unfinished = plan.played.filter(dialogue__ended_at=None, attempts__lt=MOST_ATTEMPTS)
    going = unfinished.select_related("dialogue").exclude(pk__in=but).order_by("attempts", "number")
    played = list(going[:most])
    played += _begun(plan, most - len(played))
    texts: dict[int, list[str]] = {}
    turns = Turn.objects.filter(dialogue__in=[each.dialogue_id for each in played]).order_by("position")
    for dialogue_id, text in turns.values_list("dialogue_id", "text"):
        texts.setdefault(dialogue_id, []).append(text)
    return [_due(plan, each, tuple(texts.get(each.dialogue_id, ()))) for each in played]


def _due(plan: SelfPlayPlan, played: SelfPlayed, texts: tuple[str, ...]) -> Due:
    seat = len(texts) % 2
    return Due(
        played_id=played.pk,
        number=played.number,
        attempts=played.attempts,
        dialogue_id=played.dialogue_id,
        public_id=played.dialogue.public_id,
        texts=texts,
        seat=seat,
        bot_id=_seated(plan, played.number)[seat].pk,
    )


@transaction.atomic
def _begun(plan: SelfPlayPlan, wanted: int) -> list[SelfPlayed]:
    """The next conversations, as many as are wanted and left. Only the holder of the lock begins any."""
    last = plan.played.aggregate(last=Max("number"))["last"] or 0
    numbers = range(last + 1, min(last + wanted, plan.conversations) + 1)
    return [_begin(plan, number) for number in numbers]


def _begin(plan: SelfPlayPlan, number: int) -> SelfPlayed:
    first, second = (Taken(bot=bot) for bot in _seated(plan, number))
    dialogue = seat_two(plan.study, first, second, now=timezone.now())
    return SelfPlayed.objects.create(plan=plan, number=number, dialogue=dialogue)


def _seated(plan: SelfPlayPlan, number: int) -> tuple[Bot, Bot]:
    """Who sits where. Each bot speaks first, after an opening text, in every other conversation."""
    speaks_first, answers = (plan.first, plan.second) if number % 2 else (plan.second, plan.first)
    return (answers, speaks_first) if plan.study.opening_text else (speaks_first, answers)


def context_of(plan: SelfPlayPlan, due: Due) -> Context:
    """What the bot answers. A first turn of its own answers the opening text, which is not kept."""
    seed = seed_of(plan.seed, f"{due.number}.{due.position}", due.attempts + 1)
    context = Context.from_texts(due.texts or [plan.opening_text], seed)
    # A service that keeps a session has one for each side, also of a bot that talks with itself.
    return replace(context, dialogue=f"{due.public_id}.{due.seat}")


# --- what came of it -------------------------------------------------------------------------------


@transaction.atomic
def record(plan: SelfPlayPlan, said: Sequence[Said], failed: Sequence[Failed], *, now: datetime) -> None:
    """Store turns and failures. A turn that is there already stays: each is stored once.

    Raises:
        BotChangedError: a bot is not any more what it was when the study began; nothing is stored.
    """
    if said:
        _pin_versions(plan, said)
        _store(plan, said, now)
        SelfPlayPlan.objects.filter(pk=plan.pk).update(active_at=now, reason="")
    for failure in failed:
        _count(plan, failure, now)


def _pin_versions(plan: SelfPlayPlan, said: Sequence[Said]) -> None:
    for bot, field in ((plan.first, "first_version"), (plan.second, "second_version")):
        refusal = (
            f"{bot} changed while it talked. The conversations so far are kept. Make a new study to have "
            "all of them from one version."
        )
        if seen := {each.reply.version_id for each in said if each.due.bot_id == bot.pk}:
            pin_version(plan, field, seen, refusal=refusal)


# One statement for all that a bot said at once: it answers whole batches.
_REPLIES = """
SELECT said.dialogue, stored.turns
  FROM (VALUES {}) AS said (dialogue, position, text, version, latency, seed, candidates, remarks),
       LATERAL dialogues_reply(said.dialogue, said.position, said.text, '{{}}', '{{}}', said.version,
                               said.latency, said.seed, said.candidates, said.remarks) AS stored
"""
_SAID = "(%s::bigint, %s::integer, %s::text, %s::bigint, %s::integer, %s::bigint, %s::jsonb, %s::jsonb)"


def _store(plan: SelfPlayPlan, said: Sequence[Said], now: datetime) -> None:
    with connection.cursor() as cursor:
        statement = _REPLIES.format(", ".join([_SAID] * len(said)))
        cursor.execute(statement, [value for each in said for value in _values(each)])
        turns = dict(cursor.fetchall())
    # Without a number, somebody else's turn is there, or the conversation is over.
    stored = [each for each in said if turns[each.due.dialogue_id] is not None]
    again = [each.due.played_id for each in stored if each.due.attempts]
    SelfPlayed.objects.filter(pk__in=again).update(attempts=0)
    for each in stored:
        due = each.due
        if turns[due.dialogue_id] - (1 if plan.study.opening_text else 0) >= plan.utterances:
            repeated = sum(repeated_turns([*due.texts, each.reply.response.text]))
            _end(plan, due, Dialogue.Ending.COMPLETE, now, repeated=repeated)


def _values(said: Said) -> list[str | int | None]:
    due, reply = said.due, said.reply
    return [
        due.dialogue_id, due.position, reply.response.text, reply.version_id, reply.latency_ms, reply.seed,
        *(json.dumps(each) if each else None for each in (reply.candidates, reply.remarks)),
    ]  # fmt: skip


def _count(plan: SelfPlayPlan, failed: Failed, now: datetime) -> None:
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
    due: Due,
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


def take_up_again(plan: SelfPlayPlan) -> None:
    """The study is opened, for the first time or once more: what failed is asked for again."""
    plan.played.filter(dialogue__ended_at=None).update(attempts=0)
    SelfPlayPlan.objects.filter(pk=plan.pk).update(reason="", active_at=timezone.now())


def note_waiting(plan: SelfPlayPlan, why: str, *, now: datetime) -> None:
    """Say why nothing moves; stop if that has lasted too long."""
    waiting = SelfPlayPlan.objects.filter(pk=plan.pk)
    silence = "No bot has said anything for {minutes} minutes. The last error: {why}"
    if reason := why_give_up(waiting, why, silence=silence, now=now):
        stop(plan, reason)


def conclude(plan: SelfPlayPlan) -> None:
    """Nothing more will be asked for: close the study, and say what is lacking."""
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
    """Close the study; its conversations stay, and opening it again goes on with them."""
    SelfPlayPlan.objects.filter(pk=plan.pk).update(reason=reason[:2000])
    set_state(plan.study_id, Study.State.CLOSED)


def taken_up(plan_id: int, *, now: datetime) -> None:
    """Note that work whose process had died goes on: how long it lay still is not the bot's fault."""
    SelfPlayPlan.objects.filter(pk=plan_id).update(active_at=now)
