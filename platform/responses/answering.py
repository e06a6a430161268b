"""A bot's run, a slice at a time. Whatever is cut off is asked for again, with the same seed."""

import asyncio
import hashlib
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from channels.db import database_sync_to_async
from django.conf import settings
from django.db import OperationalError
from django.utils import timezone

from bots import client
from chatbots.base import Context
from chatbots.errors import (
    BotBusyError,
    BotLateError,
    BotRestingError,
    BotSilentError,
    ChatbotError,
    last_line,
)
from live.locks import RUNS, only_here
from responses import services
from responses.models import ResponseRun
from responses.services import Answered, BotChangedError, Failed, Missing

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
Outcome = Answered | Failed


def seed_of(run_seed: int, key: str, repetition: int) -> int:
    """The seed of one response: 31 bits, the same on every machine.

    Args:
        run_seed: of the run.
        key: of the context, which is stable between versions of a set.
        repetition: from 1.
    """
    digest = hashlib.sha256(f"{run_seed}\n{repetition}\n{key}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def answer_slice(run_id: int, *, seconds: float = SLICE_SECONDS) -> bool:
    """Work on a run for a while. Does nothing if another process does. Safe to repeat.

    Returns:
        Whether there is more to do.
    """
    with only_here(RUNS, run_id) as ours:
        run = services.begin(run_id, now=timezone.now()) if ours else None
        if run is None:
            return False
        try:
            # A loop of its own and not async_to_sync: each step's connection may be closed after it.
            return asyncio.run(_Slice(run, time.monotonic() + seconds).work())
        except BotChangedError as error:
            services.fail(run_id, str(error), timezone.now())
            return False
        except OperationalError:
            raise  # the database is away or restarts: the timer takes the run up once it is back
        except Exception as error:
            log.exception("Run %s failed.", run_id)
            services.fail(run_id, last_line(error), timezone.now())
            return False


@dataclass(slots=True)
class _Slice:
    run: ResponseRun
    until: float
    at_once: int = 1
    failures: int = 0
    broken: str = ""
    stock: list[Missing] = field(default_factory=list)

    async def work(self) -> bool:
        while time.monotonic() < self.until:
            if await _has_ended(self.run.pk):
                return False
            wanted = await self._wanted()
            if not wanted:
                await _conclude(self.run.pk)
                return False
            if not await self._ask(wanted) and not self.broken:
                return True
            if self.broken:
                await _give_up(self.run.pk, self.broken)
                return False
        return True

    async def _wanted(self) -> list[Missing]:
        """The next responses to ask for; those that fail come again once all others were asked for."""
        if not self.stock:
            self.stock = await _missing(self.run, STOCK)
        wanted, self.stock = self.stock[: self.at_once], self.stock[self.at_once :]
        return wanted

    async def _ask(self, wanted: Sequence[Missing]) -> bool:
        """Ask for some responses and store them; False if the bot cannot take any now."""
        began = time.monotonic()
        outcomes = await asyncio.gather(*(_outcome(self.run, each) for each in wanted))
        answered = [each for each in outcomes if isinstance(each, Answered)]
        # Too much at once is our fault, and too early nobody's: neither counts against the context.
        waiting = [each for each in outcomes if isinstance(each, Failed) and each.kind in WAITING]
        failed = [each for each in outcomes if isinstance(each, Failed) and each not in waiting]
        alone = len(wanted) == 1
        if alone and waiting and waiting[0].kind == "late":
            failed = waiting  # asked last from now on, so that it does not hold up the others
        await _record(self.run, answered, failed)
        self.failures = 0 if answered else self.failures + len(failed)
        self._look_whether_broken([each for each in outcomes if isinstance(each, Failed)])
        self._adapt(time.monotonic() - began, overloaded=bool(waiting))
        if alone and waiting and not self.broken:
            await _note_waiting(self.run, waiting[0].detail)
            await asyncio.sleep(PAUSE_SECONDS)
        return not (alone and waiting)

    def _look_whether_broken(self, failed: Sequence[Failed]) -> None:
        """Hosting leaves a bot alone that fails again and again; one that cannot be loaded fails at once."""
        resting = [each.detail for each in failed if each.kind == "resting"]
        if resting:
            self.broken = resting[0]
        elif self.failures >= MOST_FAILURES_IN_A_ROW:
            self.broken = f"The bot failed {self.failures} times in a row. It said last: {failed[-1].detail}"

    def _adapt(self, seconds: float, *, overloaded: bool) -> None:
        if overloaded:
            self.at_once = 1
        elif seconds < QUICK_SECONDS:
            self.at_once = min(2 * self.at_once, MOST_AT_ONCE)
        elif seconds > SLOW_SECONDS:
            self.at_once = max(1, self.at_once // 2)


async def _outcome(run: ResponseRun, missing: Missing) -> Outcome:
    assert run.bot_id is not None
    assert run.seed is not None
    context = missing.context
    seed = seed_of(run.seed, context.key, missing.repetition)
    found = await asked(run.bot_id, Context.from_texts(context.turns, seed))
    if isinstance(found, Trouble):
        return Failed(missing, found.kind, found.detail)
    return Answered(missing, found)


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


@database_sync_to_async
def _has_ended(run_id: int) -> bool:
    return not ResponseRun.objects.filter(pk=run_id, state__in=services.AT_WORK).exists()


@database_sync_to_async
def _missing(run: ResponseRun, most: int) -> list[Missing]:
    return services.missing(run, most=most)


@database_sync_to_async
def _record(run: ResponseRun, answered: Sequence[Answered], failed: Sequence[Failed]) -> None:
    services.record(run, answered, failed, now=timezone.now())


@database_sync_to_async
def _conclude(run_id: int) -> None:
    services.conclude(run_id, now=timezone.now())


@database_sync_to_async
def _give_up(run_id: int, why: str) -> None:
    services.fail(run_id, why, timezone.now())


@database_sync_to_async
def _note_waiting(run: ResponseRun, why: str) -> None:
    services.note_waiting(run, why, now=timezone.now())
