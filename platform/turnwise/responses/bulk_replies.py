"""Asking a bot for many replies, a slice of time at once. Whatever is cut off is asked for again."""

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
    BotRestingError,
    BotSilentError,
    ChatbotError,
)
from turnwise.bots.hosting import client
from turnwise.live.jobs import why_ended

log = logging.getLogger(__name__)

# Other jobs wait for the slice to end, and the worker's heartbeat too.
SLICE_SECONDS = 15.0
# Nobody waits before a screen: a slow bot has longer for a response than in a conversation.
DEADLINE_SECONDS = 120.0
# So many contexts are asked at once when they are answered quickly, so that a bot can batch them.
MOST_AT_ONCE = 32
# What is missing is looked up for so many at once: the look-up reads the whole set.
STOCK = 512
QUICK_SECONDS, SLOW_SECONDS = 2.0, 6.0
# Before a bot that takes no request now is asked again.
PAUSE_SECONDS = 1.0

# After so many failures in a row the bot is broken, not the context.
MOST_FAILURES_IN_A_ROW = 20
WAITING = ("busy", "late", "resting")

M = TypeVar("M")


class BotChangedError(Exception):
    """A bot is not any more what it was when the work began: its replies could not be compared."""


def run_slice(name: str, work: Coroutine[Any, Any, bool], give_up: Callable[[str], None]) -> bool:
    """Do a slice of work of that name. What goes wrong in it ends the work, which is told why.

    Returns:
        Whether there is more to do.

    Raises:
        InterfaceError, OperationalError: the database is away or restarts; the timer takes the work up once
            it is back.
    """
    try:
        # A loop of its own and not async_to_sync: each step's connection may be closed after it.
        return asyncio.run(work)
    except (InterfaceError, OperationalError):
        raise
    except BotChangedError as error:
        give_up(str(error))
    except Exception as error:
        log.exception("%s failed.", name)
        give_up(why_ended(error))
    return False


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a bot gave no reply.

    Attributes:
        kind: busy, late or resting, which are waited out; silent; failed.
        detail: the error in words.
    """

    kind: str
    detail: str


_KINDS = {BotRestingError: "resting", BotBusyError: "busy", BotLateError: "late", BotSilentError: "silent"}


async def asked(bot_id: int, context: Context) -> client.Reply | Trouble:
    """A bot's reply, for which nobody waits before a screen."""
    deadline = max(DEADLINE_SECONDS, settings.BOT_DEADLINE_SECONDS)
    try:
        return await client.reply(bot_id, context, deadline=deadline)
    except ChatbotError as error:
        kinds = (kind for known, kind in _KINDS.items() if isinstance(error, known))
        return Trouble(next(kinds, "failed"), str(error))


class Work(ABC, Generic[M]):
    """Replies that are wanted of a bot, each named by an M; each method is one step of the database."""

    @property
    def most_at_once(self) -> int:
        """Requests before the bot at one time, at most."""
        return MOST_AT_ONCE

    @abstractmethod
    def has_ended(self) -> bool:
        """Whether somebody stopped it, or it is over."""

    @abstractmethod
    def missing(self, most: int) -> list[M]:
        """What is still to be had, what failed before last; empty if no more will be tried."""

    @abstractmethod
    def request(self, missing: M) -> tuple[int, Context]:
        """The bot's key and what it is to answer."""

    @abstractmethod
    def record(self, answered: Sequence[tuple[M, client.Reply]], failed: Sequence[tuple[M, Trouble]]) -> None:
        """Store replies and failures."""

    @abstractmethod
    def conclude(self) -> None:
        """End it: nothing more will be tried."""

    @abstractmethod
    def give_up(self, why: str) -> None:
        """End it: the bot is broken."""

    @abstractmethod
    def note_waiting(self, why: str) -> None:
        """Say why it does not move, or give it up if that has lasted too long."""


@dataclass(slots=True)
class Failures:
    """Failed requests in a row, and why the bot counts as broken.

    Attributes:
        reason: why it does after too many, with `{times}` and `{last}`.
        in_a_row: failures since the last reply.
        broken: why the bot is broken; empty if it is not.
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


def divided(troubles: Sequence[tuple[M, Trouble]], *, is_alone: bool) -> tuple[list[tuple[M, Trouble]], ...]:
    """The requests that only have to wait, and those whose failure counts.

    Too many requests at once, or requests too early, are no failure of what was asked for. One that was late
    although it was alone counts all the same: it is asked for last, so that it does not hold up others.
    """
    waiting = [each for each in troubles if each[1].kind in WAITING]
    counted = [each for each in troubles if each[1].kind not in WAITING]
    return waiting, waiting if is_alone and waiting and waiting[0][1].kind == "late" else counted


@dataclass(slots=True)
class Slice(Generic[M]):
    """A slice of such work."""

    doing: Work[M]
    until: float
    at_once: int = 1
    failures: Failures = field(
        default_factory=lambda: Failures("The bot failed {times} times in a row. Its last message: {last}")
    )
    stock: list[M] = field(default_factory=list)

    async def work(self) -> bool:
        """Ask until the time is over; whether there is more to do."""
        while time.monotonic() < self.until:
            if await database_sync_to_async(self.doing.has_ended)():
                return False
            wanted = await self._wanted()
            if not wanted:
                await database_sync_to_async(self.doing.conclude)()
                return False
            if not await self._ask(wanted) and not self.failures.broken:
                return True
            if self.failures.broken:
                await database_sync_to_async(self.doing.give_up)(self.failures.broken)
                return False
        return True

    async def _wanted(self) -> list[M]:
        """The next replies to ask for; those that fail come again once all others were asked for."""
        if not self.stock:
            self.stock = await database_sync_to_async(self.doing.missing)(STOCK)
        wanted, self.stock = self.stock[: self.at_once], self.stock[self.at_once :]
        return wanted

    async def _ask(self, wanted: Sequence[M]) -> bool:
        """Ask for some replies and store them; False if the bot cannot take any now."""
        began = time.monotonic()
        outcomes = await asyncio.gather(*(asked(*self.doing.request(each)) for each in wanted))
        pairs = list(zip(wanted, outcomes, strict=True))
        answered = [(each, found) for each, found in pairs if not isinstance(found, Trouble)]
        troubles = [(each, found) for each, found in pairs if isinstance(found, Trouble)]
        alone = len(wanted) == 1
        waiting, failed = divided(troubles, is_alone=alone)
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
