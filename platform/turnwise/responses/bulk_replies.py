"""Asking a bot for many replies, one slice of time after the other. Interrupted requests are repeated."""

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import InterfaceError, OperationalError

from chatbots.base import Context
from chatbots.errors import (
    BotBusyError,
    BotLateError,
    BotNotHostedError,
    BotSilentError,
    ChatbotError,
    CircuitOpenError,
)
from turnwise.bots.hosting import client
from turnwise.bots.hosting.spending import BudgetReachedError
from turnwise.live.jobs import describe_failure

log = logging.getLogger(__name__)

# Other jobs and the worker's heartbeat wait for the end of a slice.
SLICE_SECONDS = 15.0
# No person waits for these replies, so a slow bot has more time than in a conversation.
DEADLINE_SECONDS = 120.0
# Most parallel requests, reached if replies are quick, so that a bot can batch them.
MOST_AT_ONCE = 32
# Missing replies found by one query, since each query reads the whole set.
LOOKAHEAD = 512
QUICK_SECONDS, SLOW_SECONDS = 2.0, 6.0
# Pause before a busy bot is asked again.
PAUSE_SECONDS = 1.0

# After this many failures in a row, the fault is the bot's and not the context's.
MOST_FAILURES_IN_A_ROW = 20
WAITING = ("busy", "late", "resting", "absent")

M = TypeVar("M")


class BotChangedError(Exception):
    """The bot has changed since the work began, so its replies are not comparable."""


def run_slice(name: str, work: Coroutine[Any, Any, bool], give_up: Callable[[str], None]) -> bool:
    """Run one slice of work. Errors end the work, which is told the reason.

    Returns:
        True if there is more to do.

    Raises:
        InterfaceError, OperationalError: the database is unavailable; the timer resumes the work later.
    """
    try:
        # Not async_to_sync, so that each step's connection can be closed after it.
        return asyncio.run(work)
    except (InterfaceError, OperationalError):
        raise
    except BotChangedError as error:
        give_up(str(error))
    except Exception as error:
        log.exception("%s failed.", name)
        give_up(describe_failure(error))
    return False


@dataclass(frozen=True, slots=True)
class Trouble:
    """Reason why a bot gave no reply.

    Attributes:
        kind: "busy", "late", "resting" or "absent" (hosted nowhere), after which the job waits; "silent";
            "failed".
        detail: the error message.
    """

    kind: str
    detail: str


_KINDS: dict[type[ChatbotError], str] = {
    BudgetReachedError: "resting",
    CircuitOpenError: "resting",
    BotBusyError: "busy",
    BotLateError: "late",
    BotNotHostedError: "absent",  # a host loads a new bot some seconds after it was registered
    BotSilentError: "silent",
}


async def ask_bot(bot_id: int, context: Context) -> client.Reply | Trouble:
    """A bot's reply, with the long deadline, or the reason why there is none."""
    deadline = max(DEADLINE_SECONDS, settings.BOT_DEADLINE_SECONDS)
    try:
        return await client.reply(bot_id, context, deadline=deadline)
    except ChatbotError as error:
        kinds = (kind for known, kind in _KINDS.items() if isinstance(error, known))
        return Trouble(next(kinds, "failed"), str(error))


class Work(ABC, Generic[M]):
    """Replies wanted from a bot, each identified by an M. Each method is one database step."""

    @property
    def most_at_once(self) -> int:
        """Limit of parallel requests to the bot."""
        return MOST_AT_ONCE

    @abstractmethod
    def has_ended(self) -> bool:
        """True if the work was stopped or is complete."""

    @abstractmethod
    def missing(self, most: int) -> list[M]:
        """Missing replies, earlier failures last; empty if none will be tried any more."""

    @abstractmethod
    def request(self, missing: M) -> tuple[int, Context]:
        """Key of the bot, and the context that it is to answer."""

    @abstractmethod
    def record(self, answered: Sequence[tuple[M, client.Reply]], failed: Sequence[tuple[M, Trouble]]) -> None:
        """Store replies and failures."""

    @abstractmethod
    def conclude(self) -> None:
        """End the work, since nothing more will be tried."""

    @abstractmethod
    def give_up(self, why: str) -> None:
        """End the work, since the bot is broken."""

    @abstractmethod
    def note_waiting(self, why: str) -> None:
        """Store why the work does not move, or give it up if that has lasted too long."""


@dataclass(slots=True)
class Failures:
    """Count of failed requests in a row, and the reason why the bot counts as broken.

    Attributes:
        reason: text for too many failures, with placeholders `{times}` and `{last}`.
        in_a_row: failures since the last reply.
        broken: reason why the bot is broken; empty if it is not.
    """

    reason: str
    in_a_row: int = 0
    broken: str = ""

    def note(self, counted: int, troubles: Sequence[Trouble], *, has_answered: bool) -> None:
        """Count failures. Hosting rests a bot that keeps failing; one that cannot be loaded fails at once."""
        self.in_a_row = 0 if has_answered else self.in_a_row + counted
        resting = [each.detail for each in troubles if each.kind == "resting"]
        if resting:
            self.broken = resting[0]
        elif self.in_a_row >= MOST_FAILURES_IN_A_ROW:
            self.broken = self.reason.format(times=self.in_a_row, last=troubles[-1].detail)


def split_troubles(
    troubles: Sequence[tuple[M, Trouble]], *, is_alone: bool
) -> tuple[list[tuple[M, Trouble]], ...]:
    """Split failed requests into those that only have to wait, and those whose failure counts.

    Requests that came too early or too many at once are not counted. A late request counts if it was alone,
    so that it is asked for last and does not hold up others.
    """
    waiting = [each for each in troubles if each[1].kind in WAITING]
    counted = [each for each in troubles if each[1].kind not in WAITING]
    return waiting, waiting if is_alone and waiting and waiting[0][1].kind == "late" else counted


@dataclass(slots=True)
class Slice(Generic[M]):
    """One slice of work on a bot's replies."""

    doing: Work[M]
    until: float
    at_once: int = 1
    failures: Failures = field(
        default_factory=lambda: Failures("The bot failed {times} times in a row. Its last message: {last}")
    )
    stock: list[M] = field(default_factory=list)

    async def work(self) -> bool:
        """Ask until the time is over; True if there is more to do."""
        while time.monotonic() < self.until:
            if await database_sync_to_async(self.doing.has_ended)():
                return False
            wanted = await self._next_requests()
            if not wanted:
                await database_sync_to_async(self.doing.conclude)()
                return False
            if not await self._ask(wanted) and not self.failures.broken:
                return True
            if self.failures.broken:
                await database_sync_to_async(self.doing.give_up)(self.failures.broken)
                return False
        return True

    async def _next_requests(self) -> list[M]:
        """Next replies to ask for; failed ones come again after all others."""
        if not self.stock:
            self.stock = await database_sync_to_async(self.doing.missing)(LOOKAHEAD)
        wanted, self.stock = self.stock[: self.at_once], self.stock[self.at_once :]
        return wanted

    async def _ask(self, wanted: Sequence[M]) -> bool:
        """Ask for some replies and store them; False if the bot cannot take requests now."""
        began = time.monotonic()
        outcomes = await asyncio.gather(*(ask_bot(*self.doing.request(each)) for each in wanted))
        pairs = list(zip(wanted, outcomes, strict=True))
        answered = [(each, outcome) for each, outcome in pairs if not isinstance(outcome, Trouble)]
        troubles = [(each, outcome) for each, outcome in pairs if isinstance(outcome, Trouble)]
        alone = len(wanted) == 1
        waiting, failed = split_troubles(troubles, is_alone=alone)
        await database_sync_to_async(self.doing.record)(answered, failed)
        self.failures.note(len(failed), [trouble for _, trouble in troubles], has_answered=bool(answered))
        self._adapt(time.monotonic() - began, overloaded=bool(waiting))
        if alone and waiting and not self.failures.broken:
            await database_sync_to_async(self.doing.note_waiting)(waiting[0][1].detail)
            await asyncio.sleep(PAUSE_SECONDS)
        return not (alone and waiting)

    def _adapt(self, seconds: float, *, overloaded: bool) -> None:
        if overloaded:
            self.at_once = 1
        elif seconds < QUICK_SECONDS:
            self.at_once = min(2 * self.at_once, self.doing.most_at_once)
        elif seconds > SLOW_SECONDS:
            self.at_once = max(1, self.at_once // 2)
