"""Reads of self-play studies: progress, overlaps, faults, and the file of conversations."""

import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from django.core.cache import cache
from django.db.models import Count, F, Prefetch, Q, QuerySet, Sum

from evaluation.conversation.ngrams import SHARED, Overlap, overlap
from turnwise.dialogues.models import Fault, Turn
from turnwise.responses.bot_jobs import MOST_ATTEMPTS
from turnwise.studies.models import Study
from turnwise.studies.tasks import Rows
from turnwise.tasks.self_play.models import SelfPlayed, SelfPlayPlan

CACHE_SECONDS = 24 * 3600
# Number of conversations that are read at once for a file.
PER_READ = 200
ENDED = Q(dialogue__ended_at__isnull=False)


def ended_and_target(studies: QuerySet[Study]) -> Rows:
    """Rows of (study key, ended conversations, target)."""
    ended = Count("played", filter=Q(played__dialogue__ended_at__isnull=False))
    plans = SelfPlayPlan.objects.filter(study__in=studies).annotate(ended=ended)
    return plans.values_list("study", "ended", "conversations")


@dataclass(frozen=True, slots=True)
class SelfPlayProgress:
    """Progress and quality of the conversations.

    Attributes:
        ended: conversations that have ended.
        under_way: conversations that have begun but not ended.
        wanted: conversations that the plan asks for.
        turns: turns of the bots so far.
        repeats: turns in ended conversations that repeat an earlier one.
        of_turns: turns in ended conversations.
        in_circles: ended conversations in which at least half of the turns repeat an earlier one.
        silent: conversations that ended because a bot did not answer.
        failing: conversations whose next turn has failed.
        given_up: failing conversations that are not tried again until the study is reopened.
    """

    ended: int
    under_way: int
    wanted: int
    turns: int
    repeats: int
    of_turns: int
    in_circles: int
    silent: int
    failing: int
    given_up: int

    @property
    def repeats_percent(self) -> float:
        return 100 * self.repeats / self.of_turns if self.of_turns else 0.0


def progress(plan: SelfPlayPlan) -> SelfPlayProgress:
    counted_turns = F("dialogue__turns") - F("dialogue__opening_turns")
    half = Q(ENDED, repeated__gt=0, repeated__gte=counted_turns / 2.0)
    open_ = Q(dialogue__ended_at=None)
    found = plan.played.aggregate(
        ended=Count("pk", filter=ENDED),
        under_way=Count("pk", filter=open_),
        turns=Sum(counted_turns, default=0),
        repeats=Sum("repeated", default=0),
        of_turns=Sum(counted_turns, filter=ENDED, default=0),
        in_circles=Count("pk", filter=half),
        silent=Count("pk", filter=Q(fell_silent=True)),
        failing=Count("pk", filter=Q(open_, attempts__gt=0)),
        given_up=Count("pk", filter=Q(open_, attempts__gte=MOST_ATTEMPTS)),
    )
    return SelfPlayProgress(wanted=plan.conversations, **found)


def overlaps(plan: SelfPlayPlan, now_at: SelfPlayProgress) -> dict[int, Overlap]:
    """Pairs of ended conversations that share a run of turns, by the run's length; cached."""
    key = f"self_play.{plan.pk}.{now_at.ended}.overlaps"
    found: dict[int, Overlap] | None = cache.get(key)
    if found is None:
        found = {length: overlap(_texts(plan), length) for length in SHARED}
        cache.set(key, found, timeout=CACHE_SECONDS)
    return found


def _texts(plan: SelfPlayPlan) -> list[list[str]]:
    """Texts of the bots in each ended conversation, without the opening."""
    ended = Turn.objects.filter(dialogue__self_played__plan=plan, dialogue__ended_at__isnull=False)
    counted = ended.filter(position__gte=F("dialogue__opening_turns")).order_by("dialogue", "position")
    texts: dict[int, list[str]] = {}
    for dialogue, text in counted.values_list("dialogue", "text").iterator():
        texts.setdefault(dialogue, []).append(text)
    return list(texts.values())


def last_faults(plan: SelfPlayPlan, most: int) -> QuerySet[Fault]:
    """The plan's newest faults."""
    faults = Fault.objects.filter(dialogue__self_played__plan=plan).select_related("dialogue__self_played")
    return faults.order_by("-at", "-pk")[:most]


def stamp(plan: SelfPlayPlan, now_at: SelfPlayProgress) -> str:
    """A value that changes with everything that the study's page shows about its conversations."""
    counts = now_at.turns, now_at.ended, now_at.failing, now_at.silent, len(plan.reason)
    return "-".join([plan.study.state, *map(str, counts)])


def json_lines(plan: SelfPlayPlan) -> Generator[str]:
    """One line of JSON for each conversation, in the format of the transcript importer."""
    turns = Prefetch("dialogue__turn_set", Turn.objects.order_by("position"))
    played = plan.played.select_related("dialogue").prefetch_related(turns, "dialogue__seats__bot")
    for each in played.order_by("number").iterator(chunk_size=PER_READ):
        yield json.dumps(_conversation(each), ensure_ascii=False) + "\n"


def _conversation(played: SelfPlayed) -> dict[str, Any]:
    dialogue = played.dialogue
    bots = {seat.number: str(seat.bot) for seat in dialogue.seats.all()}
    twice = len(set(bots.values())) < 2
    speakers = {number: f"{name} ({number + 1})" if twice else name for number, name in bots.items()}
    return {
        "id": str(dialogue.public_id),
        "number": played.number,
        "ending": dialogue.ending or None,
        "bots": list(dict.fromkeys(bots.values())),
        "opening_turns": dialogue.opening_turns,
        "fell_silent": played.fell_silent,
        "repeated_turns": played.repeated,
        "turns": [
            {
                "speaker": speakers[turn.position % 2],
                "text": turn.text,
                "seed": turn.seed,
                "latency_ms": turn.latency_ms,
                **turn.how.exported(is_of_bot=turn.bot_version_id is not None, redactor=str),
            }
            for turn in dialogue.turn_set.all()
        ],
    }
