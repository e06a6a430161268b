"""The life of a bot's thread: load the bot, answer who waits, release it.

One bot kept in memory on its own thread, behind a bounded queue that serves every dialogue of the process.

    caller ── respond ──▶ queue (bounded) ── batch ──▶ thread with the bot
       ◀── answer, or BotBusyError, BotLateError, BotFailedError ──┘

A caller always hears something before its deadline. Its own clock decides that, never the bot: an answer that
comes later finds nobody waiting and is thrown away. Threads do not survive a fork: make residents in the
process that uses them.
"""

import asyncio
import atexit
import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import NoReturn, Self
from weakref import WeakKeyDictionary

from chatbots.base import Answering, Bot, Context, Response
from chatbots.errors import last_line
from chatbots.hosting.health import Health, Outcome, State
from chatbots.hosting.requests import Request
from chatbots.hosting.response_checks import check_bot, checked_batch, circumstances
from chatbots.hosting.waiting import WaitingRoom

logger = logging.getLogger(__name__)


def serve(room: WaitingRoom, load: Callable[[], Bot], loaded: Callable[[], None]) -> None:
    """Answer everybody in the waiting room until it is closed. Returns when the bot is released.

    Args:
        room: where requests wait.
        load: makes the bot; may take minutes.
        loaded: called once, when the bot is loaded or cannot be.
    """
    try:
        bot = load()
        check_bot(bot)
        answering = bot.answering()
    except BaseException as error:  # a bot that calls sys.exit() must not leave its callers waiting
        room.fail(error)
        return
    else:
        room.ready()
    finally:
        loaded()
    _Serving(room, bot).until_closed(answering)


class _Serving:
    """Answers with a loaded bot."""

    def __init__(self, room: WaitingRoom, bot: Bot) -> None:
        self._room, self._bot = room, bot

    def until_closed(self, answering: Answering | None) -> None:
        """Serve whole batches, or with newcomers joining if the bot has begun so; then release the bot."""
        bot = self._bot
        try:
            while self._room.is_open:
                if answering is None:
                    self._serve(self._room.next_batch(bot.max_batch, bot.max_wait))
                elif not self._serve_joining(answering):
                    answering = bot.answering()
        except BaseException as error:
            logger.exception("Bot '%s' cannot go on.", self._room.name)
            self._room.fail(error)
        try:
            bot.close()
        except Exception:
            logger.exception("Bot '%s' raised an error while it was closed.", self._room.name)

    def _serve(self, batch: Sequence[Request]) -> None:
        """Compute and deliver. A batch that fails is asked again one by one, to fail only the guilty."""
        if not (batch := [request for request in batch if request.is_awaited(time.monotonic())]):
            return
        self._room.be_patient_with(batch)
        outcomes = self._attempt([request.context for request in batch])
        if outcomes is None:
            for request in batch:
                self._serve([request])
            return
        self._room.judge(batch, outcomes)
        for request, outcome in zip(batch, outcomes, strict=True):
            request.deliver(outcome)

    def _attempt(self, contexts: list[Context]) -> list[Outcome] | None:
        """One outcome per context; None if several contexts failed together and one may be to blame."""
        try:
            with self._room.busy(len(contexts)):
                returned = self._bot.respond(contexts)
        except BaseException as error:
            self._log_failure(len(contexts))
            if len(contexts) > 1:
                return None
            return [self._room.failure(f"failed: {last_line(error)}", circumstances(error, contexts[0]))]
        return [self._room.outcome(each) for each in checked_batch(returned, len(contexts))]

    def _serve_joining(self, answering: Answering) -> bool:
        """Answer with newcomers joining between two steps; True once all is closed, False if the bot failed.

        Whoever it was answering then is asked for again alone.
        """
        under_way: dict[int, Request] = {}
        joining: list[Request] = []
        try:
            while under_way or self._room.is_open:
                self._cancel_abandoned(answering, under_way)
                joining = self._joining(answering.room, idle=not under_way)
                with self._room.busy(len(under_way) + len(joining)):
                    if joining:
                        keys = answering.admit([request.context for request in joining])
                        under_way |= dict(zip(keys, joining, strict=True))
                        joining = []
                    done = answering.step()
                for key in done.keys() & under_way.keys():
                    self._end(under_way.pop(key), self._room.outcome(done[key]))
        except BaseException:
            requests = [*under_way.values(), *joining]
            self._log_failure(len(requests))
            for request in requests:
                self._serve([request])
            return False
        return True

    def _cancel_abandoned(self, answering: Answering, under_way: dict[int, Request]) -> None:
        """Have the bot stop answering requests that nobody waits for; one that was late is a failure."""
        now = time.monotonic()
        keys = [key for key, request in under_way.items() if not request.is_awaited(now)]
        if not keys:
            return
        answering.cancel(keys)
        for request in map(under_way.pop, keys):
            if not request.cancelled:
                self._end(request, self._room.late(request))

    def _joining(self, most: int, *, idle: bool) -> list[Request]:
        return self._room.next_batch(most, self._bot.max_wait) if idle else self._room.newcomers(most)

    def _end(self, request: Request, outcome: Outcome) -> None:
        self._room.judge([request], [outcome])
        request.deliver(outcome)

    def _log_failure(self, contexts: int) -> None:
        logger.warning("Bot '%s' failed; contexts: %d.", self._room.name, contexts, exc_info=True)


ENDING_SECONDS = 5.0
"""Longest that a process which ends waits for the threads of its bots."""

_rooms: WeakKeyDictionary[threading.Thread, WaitingRoom] = WeakKeyDictionary()


class Resident:
    """Hosts one bot. Its methods may be called from any thread and any event loop.

    Args:
        name: for messages and `Health`.
        load: makes the bot; runs on the bot's thread, may take minutes.
        queue_size: most requests that wait; more are refused with `BotBusyError`.
        deadline: seconds from request to answer, unless a request brings its own.
        stuck_after: seconds in a call after which it is stuck, more if callers wait longer; None: twice it.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], Bot],
        *,
        queue_size: int = 64,
        deadline: float = 20.0,
        stuck_after: float | None = None,
    ) -> None:
        """Start loading and return at once.

        Raises:
            ValueError: a limit is not positive.
        """
        self.name, self.deadline = name, deadline
        stuck_after = 2 * deadline if stuck_after is None else stuck_after
        self._room = WaitingRoom(name, size=queue_size, deadline=deadline, stuck_after=stuck_after)
        self._loaded = threading.Event()
        self.answered_in = math.inf
        """Seconds in which the bot gave its last answer, by its own clock; inf if it gave none."""
        work = (self._room, load, self._loaded.set)
        self._thread = threading.Thread(target=serve, args=work, name=f"bot {name}", daemon=True)
        self._thread.start()
        _rooms[self._thread] = self._room

    async def respond(
        self,
        context: Context,
        *,
        deadline: float | None = None,
        party: Hashable = None,
        patience: float | None = None,
    ) -> Response:
        """Ask the bot and wait for its answer. Cancelling the caller takes the request out of the queue.

        Args:
            context: what to answer.
            deadline: seconds to wait at most, loading included; the resident's own if None.
            party: who asks, such as a study. Parties are served in turn, however many each sends.
            patience: seconds after which the caller does without an answer, and nobody has failed. It is the
                bot's own time: an event loop that has too much to do may hear of the answer later.

        Returns:
            The bot's response, cleaned by `clean_response`.

        Raises:
            TimeoutError: no answer within `patience`.
            BotBusyError: the queue is full, the bot is stuck, or (`BotRestingError`) it has failed too often.
            BotLateError: no answer within the deadline.
            BotFailedError: the bot cannot be loaded, raised an error, answered nothing usable, or was closed.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Outcome] = loop.create_future()
        since, is_answered = time.monotonic(), False

        def settle(outcome: Outcome) -> None:
            if not answer.done():
                answer.set_result(outcome)

        def deliver(outcome: Outcome) -> None:
            nonlocal is_answered
            self.answered_in, is_answered = _seconds_of(outcome, since), True
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(settle, outcome)

        def lose_patience() -> None:
            if not is_answered and not answer.done():
                self.answered_in = math.inf
                answer.set_exception(TimeoutError(f"Bot '{self.name}' did not answer at once."))

        request = self._request(context, deadline, party, deliver)
        if patience is None:
            timer = loop.call_later(request.until - request.since, lambda: settle(self._room.late(request)))
        else:
            timer = loop.call_later(patience, lose_patience)
        try:
            outcome = await answer
        except (asyncio.CancelledError, TimeoutError):
            self._room.leave(request)
            raise
        finally:
            timer.cancel()
        return await self._held_back(request, self._room.conclude(request, outcome), patience)

    def respond_now(self, context: Context, *, deadline: float | None = None) -> Response:
        """`respond` for callers without an event loop: blocks the calling thread.

        Raises:
            HostingError: as `respond`.
        """
        answer: SimpleQueue[Outcome] = SimpleQueue()
        request = self._request(context, deadline, None, answer.put)
        try:
            outcome = answer.get(timeout=max(0.0, request.until - time.monotonic()))
        except Empty:
            outcome = self._room.late(request)
        response = self._room.conclude(request, outcome)
        time.sleep(request.held_for(response))
        return response

    def wait_loaded(self, timeout: float | None = None) -> State:
        """Block until the bot is loaded, failed or closed, or for `timeout` seconds; returns the state."""
        self._loaded.wait(timeout)
        return self.state

    @property
    def state(self) -> State:
        """Where the bot stands now."""
        return self._room.state

    @property
    def is_half_open(self) -> bool:
        """Whether the bot has rested after its failures, and one request may find out how it is."""
        return self._room.is_half_open

    @property
    def waiting(self) -> int:
        """Requests that wait, and one more while the bot computes."""
        return self._room.waiting

    def health(self) -> Health:
        """Counts and times of this moment."""
        return self._room.health()

    def close(self, *, wait: float = 0.0) -> None:
        """Refuse new requests, fail the waiting ones, let the bot release what it holds. Safe to repeat.

        Args:
            wait: seconds to block until the thread has ended; it ends after the batch that it computes.
        """
        self._room.close()
        self._loaded.set()
        if wait:
            self._thread.join(wait)

    def __enter__(self) -> Self:
        """The resident itself; leaving the `with` block closes it."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close, and wait until the bot is released, for `ENDING_SECONDS` at most."""
        self.close(wait=ENDING_SECONDS)

    async def _held_back(self, request: Request, response: Response, patience: float | None) -> Response:
        """The response, once the bot would have it said."""
        if (seconds := request.held_for(response)) > 0:
            if patience is not None and seconds > patience:
                raise TimeoutError(f"Bot '{self.name}' holds its answer back.")
            await asyncio.sleep(seconds)
        return response

    def _request(
        self,
        context: Context,
        deadline: float | None,
        party: Hashable,
        deliver: Callable[[Outcome], None],
    ) -> Request:
        now = time.monotonic()
        until = now + (self.deadline if deadline is None else deadline)
        request = Request(context, now, until, party, deliver)
        self._room.enter(request)
        return request


def _seconds_of(outcome: Outcome, since: float) -> float:
    """How long the caller waits for it, if it is an answer: some bots hold theirs back."""
    if not isinstance(outcome, Response):
        return math.inf
    return max(time.monotonic() - since, outcome.least_seconds)


@atexit.register
def close_all(wait: float = ENDING_SECONDS) -> bool:
    """Close every resident of this process; runs by itself when the process ends.

    A thread that is still in PyTorch, if only to free its tensors, when Python takes itself apart is ended
    in the midst of it, and the C++ runtime then aborts the whole process.

    Args:
        wait: seconds to block at most until all their threads have ended.

    Returns:
        Whether they have.
    """
    rooms = list(_rooms.items())
    for _, room in rooms:
        room.close()
    until = time.monotonic() + wait
    for thread, _ in rooms:
        thread.join(max(0.0, until - time.monotonic()))
    return not any(thread.is_alive() for thread, _ in rooms)


def leave(status: int, wait: float = ENDING_SECONDS) -> NoReturn:
    """End the process with this status, even if a bot hangs for longer than `wait` seconds."""
    if close_all(wait):
        sys.exit(status)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # nobody reads it any more
            stream.flush()
    os._exit(status)
