"""A worker's battles: beginning them, choosing their bots, and what the page shows of the one under way.

    begin ──▶ Batch of so many battles ──▶ Battle 1 ──▶ vote or failure ──▶ Battle 2 ──▶ … ──▶ finish

Where workers vote after each message, they say after a vote whether they go on or begin the next battle.

The two conversations of a battle are ordinary ones without asks (`dialogues.models.Battle`). A vote is a
judgment of the pair of both (`votes.py`), so reports and files of pairs need nothing else.
"""

import random
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Any

from django.db import transaction
from django.db.models import F, Sum
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from turnwise.bots.models import Bot
from turnwise.crowd import refusals
from turnwise.crowd.languages import language_of_questions
from turnwise.crowd.models import Assignment, Outcome
from turnwise.crowd.places.assignment import admit
from turnwise.crowd.places.ending import complete
from turnwise.crowd.places.reservation import (
    HOLD,
    bots_admitting,
    current_phase_assignments,
    holding,
)
from turnwise.dialogues.models import Battle, Dialogue, Seat
from turnwise.dialogues.queries import seats_of_battle
from turnwise.dialogues.seat_context import SeatContext
from turnwise.judging.asks import asks_of_readers
from turnwise.judging.models import Batch
from turnwise.live.frames import RefusedError
from turnwise.studies.models import Study, StudyBot
from turnwise.studies.queries import active_bots_of

_random = random.SystemRandom()

REFUSALS = {
    "no_such_task": _("There is no such task. Open your study link again."),
    "battle_over": _("This comparison is over. Everything is saved. Please continue with the next one."),
    "voted_otherwise": _(
        "You have already voted in this comparison: “%(vote)s”. That vote is saved and counts. The new one "
        "is not saved."
    ),
    "moved_on": _(
        "The conversation has gone on, perhaps in another tab. Read the newest replies, then vote again."
    ),
    "vote_early": _("Both chatbots have to answer before you can compare them."),
    "unvoted": _("There is still something to compare. What you have done so far is saved."),
}


def refusal(reason: str) -> RefusedError:
    """Refusal with one of the sentences of this task."""
    return RefusedError(reason, REFUSALS[reason])


@dataclass(frozen=True, slots=True)
class ArenaContext:
    """A worker's part in an arena study: the facts that do not change while they take part."""

    assignment_id: int
    participation_id: int
    worker_id: int
    study_id: int
    study_code: str
    ask_numbers: tuple[int, ...]
    """Numbers of the questions about every pair of conversations."""
    votes_each: bool
    """True if workers vote after each message, false if once at the end."""


@dataclass(frozen=True, slots=True)
class OpenBattle:
    """A battle with the worker's seats in both of its conversations, left and right."""

    battle: Battle
    seats: tuple[SeatContext, SeatContext]


def target_battles(study: Study) -> int:
    """Number of battles that the study asks for: each counts as a conversation with both of its bots."""
    total: int = study.study_bots.aggregate(total=Sum("target"))["total"] or 0
    return total // 2


def voted_battles(study: Study) -> int:
    """Number of battles with a vote that count towards the study's target."""
    counted = current_phase_assignments(Study.objects.filter(pk=study.pk))
    return Battle.objects.filter(assignment__in=counted, left__ending=Dialogue.Ending.COMPLETE).count()


def battles_left(study: Study, now: datetime) -> int:
    """Number of battles that neither have a vote nor are promised to workers who take part."""
    counted = current_phase_assignments(Study.objects.filter(pk=study.pk)).filter(holding(now))
    promised = Batch.objects.filter(assignment__in=counted).aggregate(n=Sum(F("size") - F("done")))["n"] or 0
    return max(0, target_battles(study) - voted_battles(study) - promised)


@transaction.atomic
def begin(participation_id: int, *, now: datetime | None = None) -> Assignment:
    """Admit a worker and begin their first battle. Idempotent.

    Raises:
        EntryRefusedError: the study is not open or full, or fewer than two of its bots are available.
    """
    now = now or timezone.now()
    assignment = admit(participation_id, now=now)
    if assignment.outcome or Batch.objects.filter(assignment=assignment).exists():
        return assignment
    # Counting what is left and promising it are one step.
    study = Study.objects.select_for_update(no_key=True).get(pk=assignment.study_id)
    size = min(study.judging.batch_size, battles_left(study, now))
    if not size:
        raise refusals.full(may_become_free=battles_left(study, now + HOLD) > 0)
    if len(bots_admitting([row.bot for row in bots_in(study)], now=now)) < 2:
        raise refusals.no_bot()
    batch = Batch.objects.create(
        assignment=assignment,
        study=study,
        worker_id=assignment.participation.worker_id,
        language=language_of_questions(study),
        size=size,
    )
    _begin_battle(batch, study, now)
    return assignment


def bots_in(study: Study) -> list[StudyBot]:
    """Bots that can meet others: active ones with a target, for which no person answers."""
    return [row for row in active_bots_of(study).order_by("pk") if not row.bot.is_operated]


def find_context(code: str, worker_id: int) -> ArenaContext:
    """Find the worker's part in the arena study with this code.

    Raises:
        RefusedError: the worker takes part in no such study.
    """
    batch = (
        Batch.objects.filter(study__code=code, study__task="arena", worker=worker_id)
        .select_related("assignment", "study__judging")
        .first()
    )
    if batch is None:
        raise RefusedError("unknown_dialogue", REFUSALS["no_such_task"])
    study = batch.study
    return ArenaContext(
        assignment_id=batch.assignment_id,
        participation_id=batch.assignment.participation_id,
        worker_id=worker_id,
        study_id=study.pk,
        study_code=study.code,
        ask_numbers=tuple(ask.number for ask in asks_of_readers(study)),
        votes_each=study.judging.judges_each_exchange,
    )


def lock_batch(context: ArenaContext) -> Batch:
    """Lock the worker's batch; all changes of battles do so first.

    Raises:
        RefusedError: the worker's part is over.
    """
    rows = Batch.objects.select_related("assignment", "study")
    batch = rows.select_for_update(of=("self",), no_key=True).get(assignment=context.assignment_id)
    if Assignment.objects.get(pk=context.assignment_id).outcome:
        raise RefusedError("ended")
    return batch


def open_battle(context: ArenaContext, number: int | None = None) -> OpenBattle | None:
    """The battle under way; None if there is none, or if it has another `number`."""
    battles = Battle.objects.filter(assignment=context.assignment_id, left__ended_at=None)
    battle = battles.select_related("assignment").first()
    if battle is None or number not in (None, battle.number):
        return None
    return OpenBattle(battle, seats_of_battle(battle))


@transaction.atomic
def current_battle(context: ArenaContext, *, now: datetime | None = None) -> OpenBattle | None:
    """The battle under way, or the next one, which begins now; None if the worker has done all."""
    found = open_battle(context)
    if found:
        return found
    try:
        batch = lock_batch(context)
    except RefusedError:
        return None
    if open_battle(context) is None and batch.done < batch.size:
        _begin_battle(batch, batch.study, now or timezone.now())
    return open_battle(context)


def _begin_battle(batch: Batch, study: Study, now: datetime) -> None:
    """Begin the next battle of a worker; no battle begins if the study has fewer than two bots left."""
    chosen = _choose_bots(study, now)
    if chosen is None:
        return
    left, right = (_create_side(study, batch.worker_id, bot, now) for bot in chosen)
    number = Battle.objects.filter(assignment=batch.assignment_id).count() + 1
    Battle.objects.create(assignment_id=batch.assignment_id, number=number, left=left, right=right)


def _create_side(study: Study, worker_id: int, bot: Bot, now: datetime) -> Dialogue:
    dialogue = Dialogue.objects.create(
        study=study,
        started_at=now,
        language=study.only_language,
        opening_turns=0,
        min_turns=study.min_turns,
        max_turns=study.max_turns,
    )
    Seat.objects.bulk_create(
        [Seat(dialogue=dialogue, number=0, worker_id=worker_id), Seat(dialogue=dialogue, number=1, bot=bot)]
    )
    return dialogue


def _choose_bots(study: Study, now: datetime) -> list[Bot] | None:
    """Choose two bots, in random order: those of the pair that has met least often, by chance among several.

    Bots that have reached their target meet only where no other pair is left.
    """
    able = bots_in(study)
    admitting = bots_admitting([row.bot for row in able], now=now)
    available = [row for row in able if row.bot_id in admitting]
    rows = available if len(available) > 1 else able
    if len(rows) < 2:
        return None
    met = _meetings(study)
    fought = Counter(bot for pair, times in met.items() for bot in pair for _ in range(times))

    def need(pair: tuple[StudyBot, StudyBot]) -> tuple[bool, int, float]:
        filled = [fought[row.bot_id] / row.target for row in pair]
        return max(filled) >= 1, met[frozenset(row.bot_id for row in pair)], sum(filled)

    pairs = list(combinations(rows, 2))
    _random.shuffle(pairs)
    chosen = min(pairs, key=need)
    return _random.sample([row.bot for row in chosen], 2)


def _meetings(study: Study) -> Counter[frozenset[int]]:
    """Count the battles of every two bots, without those in which one of them failed."""
    counted = current_phase_assignments(Study.objects.filter(pk=study.pk))
    bots = Battle.objects.filter(
        assignment__in=counted, left__seats__bot__isnull=False, right__seats__bot__isnull=False
    ).exclude(left__ending=Dialogue.Ending.BOT_FAILED)
    return Counter(map(frozenset, bots.values_list("left__seats__bot", "right__seats__bot")))


@transaction.atomic
def finish(context: ArenaContext, *, now: datetime | None = None) -> None:
    """End the work; the worker's completion code becomes valid. Idempotent.

    Raises:
        RefusedError: a battle is under way or still to come.
    """
    if Assignment.objects.get(pk=context.assignment_id).outcome:
        return
    batch = lock_batch(context)
    if open_battle(context) or (batch.done < batch.size and len(bots_in(batch.study)) > 1):
        raise refusal("unvoted")
    complete(batch.assignment_id, Outcome.COMPLETE, now=now or timezone.now())


def page_state(context: ArenaContext) -> tuple[OpenBattle | None, dict[str, Any]]:
    """The battle under way, begun if need be, and how far the worker is."""
    found = current_battle(context)
    batch = Batch.objects.select_related("assignment").filter(assignment=context.assignment_id).first()
    is_over = batch is None or bool(batch.assignment.outcome)
    done, size = (batch.done, batch.size) if batch else (0, 0)
    return found, {"done": done, "size": size, "is_over": is_over, "may_finish": found is None}
