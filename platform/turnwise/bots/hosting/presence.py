"""Presence of bots: each process announces its resident bots every second, and others read it.

The announcements are in the database rather than in Redis, so that pages, jobs and the assignment of workers
can join them in their queries.
"""

import math
import os
import socket
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import BooleanField, Exists, ExpressionWrapper, FilteredRelation, OuterRef, Q, Value
from django.db.models.functions import Now
from django.utils import timezone

from chatbots.hosting.health import State
from turnwise.bots import budgets, operators
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import OPERATED, Bot, BotCopy

ANNOUNCED_EVERY_SECONDS = 1.0
OLD_AFTER_SECONDS = 1.5
# A process that has been silent for this long counts as dead.
SILENT_AFTER = timedelta(seconds=10)
# Hosts load a new bot within this time; until then it counts as loading.
LOADED_WITHIN = timedelta(seconds=10)
FORGOTTEN_AFTER = timedelta(minutes=10)
# A killed process is usually restarted at once; for this long its bots count as starting.
BACK_WITHIN_SECONDS = 15.0

# States in which a bot accepts requests.
ANSWERING = (State.LOADING, State.READY)

STATE_PHRASES: dict[str, str] = {
    State.FAILED: "could not be loaded",
    State.FAILING: "keeps failing",
    State.STUCK: "hangs in an answer",
}

# Keys of a copy's health that anyone may see: figures only.
PUBLIC_HEALTH_KEYS = ("queued", "computing", "served", "busy", "late", "failed", "cut", "median_seconds",
        "p95_seconds", "latencies", "batches", "memory_bytes")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Copy:
    """A bot that another process has resident."""

    bot_id: int
    channel: str
    host: str
    state: State
    reply_seconds: float
    """The bot's own limit for a reply; 0: none."""


def announce(channel: str) -> None:
    """Announce the bots of this process, and withdraw those it no longer hosts."""
    mine = resident_bots.hosted_bots()
    rows = [
        BotCopy(
            bot_id=hosted.row.pk,
            channel=channel,
            host=f"{socket.gethostname()} {os.getpid()}"[:120],
            state=hosted.resident.state,
            health=hosted.health(),
            seen_at=Now(),
        )
        for hosted in mine
    ]
    BotCopy.objects.filter(channel=channel).exclude(bot__in=[row.bot_id for row in rows]).delete()
    BotCopy.objects.filter(seen_at__lt=Now() - FORGOTTEN_AFTER).delete()
    BotCopy.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["bot", "channel"],
        update_fields=["host", "state", "health", "seen_at"],
    )


def withdraw(channel: str) -> None:
    """Withdraw all announcements of a process."""
    BotCopy.objects.filter(channel=channel).delete()


def available(bots: Collection[Bot]) -> set[int]:
    """Ids of those bots that would answer: hosted somewhere, or loadable here on demand; not over budget."""
    fresh = BotCopy.objects.filter(bot__in=bots, seen_at__gt=Now() - SILENT_AFTER, state__in=ANSWERING)
    over = budgets.reached_in_this_month().filter(bot__in=bots)
    # One statement for both: dealing asks for this.
    rows = fresh.values_list("bot", Value(False)).union(over.values_list("bot", Value(True)))
    over_budget = {bot for bot, is_over in rows if is_over}
    elsewhere = {bot for bot, is_over in rows if not is_over}
    return (elsewhere | {bot.pk for bot in bots if _answers_here(bot)}) - over_budget


def _answers_here(bot: Bot) -> bool:
    if bot.is_operated:
        return False
    hosted = resident_bots.hosted_here(bot.pk)
    return hosted.resident.state in ANSWERING if hosted else resident_bots.is_named_here(bot.name)


def bot_states(active: Iterable[str] | None = None) -> dict[str, str]:
    """Best state in any process, or "not hosted", or "over budget", by name of these active bots, or of all.

    A bot in whose place a person answers is ready while somebody is at the operator's page.
    """
    among = Bot.objects.filter(active=True) if active is None else Bot.objects.filter(name__in=set(active))
    heard_of = FilteredRelation("copies", condition=Q(copies__seen_at__gt=Now() - SILENT_AFTER))
    somebody = Exists(operators.present_operators(now=timezone.now()).filter(bot=OuterRef("pk")))
    is_over = Q(budget__reached_in=budgets.month_of(budgets.today()))
    reported = among.annotate(
        fresh=heard_of, somebody=somebody, over=ExpressionWrapper(is_over, BooleanField())
    )
    rows = list(reported.values_list("name", "adapter", "somebody", "active", "fresh__state", "over"))
    best = {name: _default_state(adapter, is_there) for name, adapter, is_there, *_ in rows}
    ranks = [state.value for state in (State.READY, State.LOADING, State.FAILING, State.STUCK, State.FAILED)]
    local = [(hosted.row.name, hosted.resident.state.value) for hosted in resident_bots.hosted_bots()]
    elsewhere = [(name, state) for name, _, _, is_active, state, _ in rows if is_active and state]
    for name, state in [*local, *elsewhere]:
        if name in best and state in ranks:
            best_state = best[name]
            best[name] = min(best_state, state, key=ranks.index) if best_state in ranks else state
    return best | {name: budgets.OVER_BUDGET for name, *_, is_over in rows if is_over}


def _default_state(adapter: str, is_somebody_there: bool) -> str:
    """State of a bot that no process announces."""
    if adapter != OPERATED:
        return "not hosted"
    return State.READY.value if is_somebody_there else "no operator"


def describe_unavailable(bot: Bot) -> str:
    """Explain why a bot does not answer in other processes; empty if none has it."""
    copies = BotCopy.objects.filter(bot=bot, seen_at__gt=Now() - SILENT_AFTER).exclude(state__in=ANSWERING)
    copy = copies.order_by("-seen_at").first()
    if copy is None:
        return ""
    last_line = last_error(copy.health).removeprefix("failed: ")
    phrase = STATE_PHRASES.get(copy.state, f"is {copy.state}")
    return f"{bot} {phrase} at {copy.host}. Last error: {last_line or 'none'}"


def last_error(health: Mapping[str, Any]) -> str:
    """Last line of a copy's last error; empty without an error."""
    return str(health.get("last_error", "")).rpartition("\n")[2]


def health_by_bot() -> dict[str, list[dict[str, Any]]]:
    """Public health figures of each copy, by name of the active bot; without addresses and errors."""
    by_bot: dict[str, list[dict[str, Any]]] = {}
    fresh = BotCopy.objects.filter(bot__active=True, seen_at__gt=Now() - SILENT_AFTER)
    for name, state, health in fresh.order_by("bot__name", "host").values_list(
        "bot__name", "state", "health"
    ):
        is_busy = state == State.READY and health.get("computing")
        public = {key: health[key] for key in PUBLIC_HEALTH_KEYS if key in health}
        by_bot.setdefault(name, []).append({"state": "busy" if is_busy else state, **public})
    return by_bot


class Directory:
    """Cached list of the copies of bots in other processes."""

    def __init__(self) -> None:
        """Start empty."""
        self._copies: dict[int, list[Copy]] = {}
        self._read_at = -60.0
        self._reading = threading.Lock()
        self._lost: dict[int, float] = {}
        self.own_channel = ""

    def is_older(self, seconds: float) -> bool:
        return time.monotonic() - self._read_at > seconds

    def refresh(self, seconds: float) -> None:
        """Read the list again if it is older; concurrent callers wait for it."""
        with self._reading:
            if self.is_older(seconds):
                self.read()

    def read(self) -> None:
        fresh = BotCopy.objects.filter(seen_at__gt=Now() - SILENT_AFTER).exclude(channel=self.own_channel)
        copies: dict[int, list[Copy]] = {}
        for bot, channel, host, state, reply_seconds in fresh.values_list(
            "bot", "channel", "host", "state", "health__reply_seconds"
        ):
            copies.setdefault(bot, []).append(Copy(bot, channel, host, State(state), reply_seconds or 0.0))
        self._copies, self._read_at = copies, time.monotonic()

    def answering(self, bot_id: int) -> list[Copy]:
        """Copies in other processes that accept requests: ready ones if there are any, else loading ones."""
        copies = [copy for copy in self._copies.get(bot_id, ()) if copy.state in ANSWERING]
        return [copy for copy in copies if copy.state is State.READY] or copies

    def forget(self, copy: Copy) -> None:
        """Drop a copy that is gone from the list."""
        self._copies[copy.bot_id] = [each for each in self._copies.get(copy.bot_id, ()) if each != copy]

    def mark_lost(self, copy: Copy) -> None:
        """Withdraw all announcements of a dead process; a live one announces itself again."""
        withdraw(copy.channel)
        self._lost[copy.bot_id] = time.monotonic()
        self.read()

    def is_expected_back(self, bot_id: int) -> bool:
        """True if the bot's process died just now, so that its replacement is probably starting."""
        return time.monotonic() - self._lost.get(bot_id, -math.inf) < BACK_WITHIN_SECONDS


DIRECTORY = Directory()
