"""A bot kept in memory on its own thread, behind a bounded queue for all dialogues of the process.

    caller ── respond ──▶ queue (bounded) ── batch ──▶ thread with the bot
       ◀── answer, or BotBusyError, BotLateError, BotFailedError ──┘

A caller gets an outcome before its deadline: its own clock decides, never the bot. A later response is thrown
away. Threads do not survive a fork: create residents in the process that uses them.
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

from chatbots.base import Answering, Bot, Context
from chatbots.errors import last_line
from chatbots.hosting.callers import WaitingCaller
from chatbots.hosting.growth import GrowthWatch
from chatbots.hosting.health import Health, Outcome, State
from chatbots.hosting.requests import Request
from chatbots.hosting.response_checks import check_bot, checked_batch, circumstances
from chatbots.hosting.waiting import RequestQueue
from chatbots.replies import Response

logger = logging.getLogger(__name__)


def serve(queue: RequestQueue, load: Callable[[], Bot], loaded: Callable[[], None]) -> None:
    """Load the bot and answer queued requests until the queue is closed, then release the bot.

    Args:
        queue: the waiting requests.
        load: creates the bot; may take minutes.
        loaded: called once, when loading has succeeded or failed.
    """
    try:
        bot = load()
        check_bot(bot)
        answering = bot.answering()
    except BaseException as error:  # a bot that calls sys.exit() must not leave its callers waiting
        queue.fail(error)
        return
    else:
        queue.ready()
    finally:
        loaded()
    _Serving(queue, bot).until_closed(answering)


class _Serving:
    """Answers requests with a loaded bot."""

    def __init__(self, queue: RequestQueue, bot: Bot) -> None:
        self._queue, self._bot = queue, bot

    def until_closed(self, answering: Answering | None) -> None:
        """Serve whole batches, or joining contexts if the bot supports them; then release the bot."""
        bot = self._bot
        try:
            while self._queue.is_open:
                if answering is None:
                    self._serve(self._queue.next_batch(bot.max_batch, bot.max_wait))
                elif not self._serve_joining(answering):
                    answering = bot.answering()
        except BaseException as error:
            logger.exception("Bot '%s' cannot go on.", self._queue.name)
            self._queue.fail(error)
        try:
            bot.close()
        except Exception:
            logger.exception("Bot '%s' raised an error while it was closed.", self._queue.name)

    def _serve(self, batch: Sequence[Request]) -> None:
        """Compute and deliver. A failed batch is repeated one by one: only faulty requests fail."""
        if not (batch := [request for request in batch if request.is_awaited(time.monotonic())]):
            return
        self._queue.extend_stuck_limit(batch)
        outcomes = self._attempt([request.context for request in batch])
        if outcomes is None:
            for request in batch:
                self._serve([request])
            return
        self._queue.judge(batch, outcomes)
        for request, outcome in zip(batch, outcomes, strict=True):
            request.deliver(outcome)

    def _attempt(self, contexts: list[Context]) -> list[Outcome] | None:
        """Compute one outcome per context; None if several failed together and must be repeated singly."""
        try:
            with self._queue.busy(len(contexts)):
                returned = self._bot.respond(contexts)
        except BaseException as error:
            self._log_failure(len(contexts))
            if len(contexts) > 1:
                return None
            return [self._queue.failure(f"failed: {last_line(error)}", circumstances(error, contexts[0]))]
        return [self._queue.outcome(each) for each in checked_batch(returned, len(contexts))]

    def _serve_joining(self, answering: Answering) -> bool:
        """Answer while requests join between steps; True once all is closed, False if the bot failed.

        After a failure, each request in progress is repeated alone.
        """
        under_way: dict[int, Request] = {}
        joining: list[Request] = []
        growth = GrowthWatch(self._queue.name)
        self._queue.on_change = answering.wake
        try:
            while under_way or self._queue.is_open:
                self._cancel_abandoned(answering, under_way)
                joining = self._joining(answering.room, idle=not under_way)
                with self._queue.busy(len(under_way) + len(joining)):
                    if joining:
                        keys = answering.admit([request.context for request in joining])
                        under_way |= dict(zip(keys, joining, strict=True))
                        joining = []
                    done = answering.step()
                for key in done.keys() & under_way.keys():
                    self._end(under_way.pop(key), self._queue.outcome(done[key]))
                growth.look(answering, under_way)
        except BaseException:
            requests = [*under_way.values(), *joining]
            self._log_failure(len(requests))
            for request in requests:
                self._serve([request])
            return False
        return True

    def _cancel_abandoned(self, answering: Answering, under_way: dict[int, Request]) -> None:
        """Cancel requests that nobody waits for; a late request counts as a failure."""
        now = time.monotonic()
        keys = [key for key, request in under_way.items() if not request.is_awaited(now)]
        if not keys:
            return
        answering.cancel(keys)
        for request in map(under_way.pop, keys):
            if not request.cancelled:
                self._end(request, self._queue.late(request))

    def _joining(self, most: int, *, idle: bool) -> list[Request]:
        return self._queue.next_batch(most, self._bot.max_wait) if idle else self._queue.newcomers(most)

    def _end(self, request: Request, outcome: Outcome) -> None:
        self._queue.judge([request], [outcome])
        request.deliver(outcome)

    def _log_failure(self, contexts: int) -> None:
        logger.warning("Bot '%s' failed; contexts: %d.", self._queue.name, contexts, exc_info=True)


ENDING_SECONDS = 5.0
"""Longest time that a process waits for its bots' threads when it ends."""

_queues: WeakKeyDictionary[threading.Thread, RequestQueue] = WeakKeyDictionary()


class Resident:
    """Hosts one bot. Its methods may be called from any thread and any event loop.

    Args:
        name: for messages and `Health`.
        load: creates the bot; runs on the bot's thread, may take minutes.
        queue_size: most requests that wait; more are refused with `BotBusyError`.
        deadline: seconds from request to response, unless a request sets its own.
        stuck_after: seconds in one call after which the bot counts as stuck, more if callers wait longer;
            None: twice the deadline.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], Bot],
        *,
        queue_size: int = 1_000,
        deadline: float = 20.0,
        stuck_after: float | None = None,
    ) -> None:
        """Start loading and return at once.

        Raises:
            ValueError: a limit is not positive.
        """
        self.name, self.deadline = name, deadline
        stuck_after = 2 * deadline if stuck_after is None else stuck_after
        self._queue = RequestQueue(name, size=queue_size, deadline=deadline, stuck_after=stuck_after)
        self._loaded = threading.Event()
        self.answered_in = math.inf
        """Seconds that the last response took, measured on the bot's thread; inf without a response."""
        work = (self._queue, load, self._loaded.set)
        self._thread = threading.Thread(target=serve, args=work, name=f"bot {name}", daemon=True)
        self._thread.start()
        _queues[self._thread] = self._queue

    async def respond(
        self,
        context: Context,
        *,
        deadline: float | None = None,
        tenant: Hashable = None,
        timeout: float | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Response:
        """Ask the bot and wait for its response. Cancelling the caller removes the request from the queue.

        Args:
            context: the dialogue to answer.
            deadline: seconds to wait at most, loading included; the resident's own if None.
            tenant: on whose behalf the bot is asked, such as a study. Tenants are served in turn, however
                many requests each sends.
            timeout: seconds after which the caller goes on without a response; this counts as no failure. The
                bot's thread measures it: a busy event loop may learn of the response later.
            on_text: called on the event loop with the whole text so far whenever it has grown, if the bot
                shows it (`Answering.partial_texts`); whole characters only. While the loop is busy, texts are
                skipped. The response decides: a faulty bot may end with another text. Growth renews the
                deadline, up to `chatbots.hosting.requests.MOST_DEADLINES` times its length.

        Returns:
            The bot's response, cleaned by `clean_response`.

        Raises:
            TimeoutError: no response within `timeout`.
            BotBusyError: the queue is full, the bot is stuck, or (`CircuitOpenError`) the circuit breaker is
                open.
            BotLateError: no response within the deadline.
            BotFailedError: the bot cannot be loaded, raised an error, returned nothing usable, or was closed.
        """
        waiting = WaitingCaller(self.name, self._set_answered_in, on_text)
        request = self._request(context, deadline, tenant, waiting.deliver, waiting.feed)
        try:
            outcome = await waiting.outcome(request, self._queue.late, timeout)
        except (asyncio.CancelledError, TimeoutError):
            self._queue.leave(request)
            raise
        return await self._held_back(request, self._queue.conclude(request, outcome), timeout)

    def respond_now(self, context: Context, *, deadline: float | None = None) -> Response:
        """Synchronous `respond` for callers without an event loop: blocks the calling thread.

        Raises:
            HostingError: as `respond`.
        """
        answer: SimpleQueue[Outcome] = SimpleQueue()
        request = self._request(context, deadline, None, answer.put)
        try:
            outcome = answer.get(timeout=max(0.0, request.until - time.monotonic()))
        except Empty:
            outcome = self._queue.late(request)
        response = self._queue.conclude(request, outcome)
        time.sleep(request.held_for(response))
        return response

    def wait_loaded(self, timeout: float | None = None) -> State:
        """Block until the bot is loaded, failed or closed, at most `timeout` seconds; return the state."""
        self._loaded.wait(timeout)
        return self.state

    @property
    def state(self) -> State:
        """State of the bot."""
        return self._queue.state

    @property
    def is_half_open(self) -> bool:
        """True if the backoff is over, and a probe request may go through."""
        return self._queue.is_half_open

    @property
    def waiting(self) -> int:
        """Waiting requests, plus one while the bot computes."""
        return self._queue.waiting

    def health(self) -> Health:
        """Counts and times of this moment."""
        return self._queue.health()

    def close(self, *, wait: float = 0.0) -> None:
        """Refuse new requests, fail waiting ones, and let the bot release its resources. Idempotent.

        Args:
            wait: seconds to block until the thread has ended; it ends after its current batch.
        """
        self._queue.close()
        self._loaded.set()
        if wait:
            self._thread.join(wait)

    def __enter__(self) -> Self:
        """Return the resident; leaving the `with` block closes it."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close, and wait up to `ENDING_SECONDS` until the bot is released."""
        self.close(wait=ENDING_SECONDS)

    def _set_answered_in(self, seconds: float) -> None:
        self.answered_in = seconds

    async def _held_back(self, request: Request, response: Response, timeout: float | None) -> Response:
        """Return the response after the delay that the bot asked for."""
        if (seconds := request.held_for(response)) > 0:
            if timeout is not None and seconds > timeout:
                raise TimeoutError(f"Bot '{self.name}' holds its answer back.")
            await asyncio.sleep(seconds)
        return response

    def _request(
        self,
        context: Context,
        deadline: float | None,
        tenant: Hashable,
        deliver: Callable[[Outcome], None],
        on_text: Callable[[str], None] | None = None,
    ) -> Request:
        now = time.monotonic()
        until = now + (self.deadline if deadline is None else deadline)
        request = Request(context, now, until, tenant, deliver, on_text=on_text)
        self._queue.enter(request)
        return request


@atexit.register
def close_all(wait: float = ENDING_SECONDS) -> bool:
    """Close every resident of this process; runs by itself when the process ends.

    If a thread is inside PyTorch when Python shuts down, even to free tensors, Python kills it and the C++
    runtime aborts the whole process.

    Args:
        wait: seconds to block at most until all their threads have ended.

    Returns:
        True if all have ended.
    """
    queues = list(_queues.items())
    for _, queue in queues:
        queue.close()
    until = time.monotonic() + wait
    for thread, _ in queues:
        thread.join(max(0.0, until - time.monotonic()))
    return not any(thread.is_alive() for thread, _ in queues)


def leave(status: int, wait: float = ENDING_SECONDS) -> NoReturn:
    """End the process with this status, even if a bot hangs for longer than `wait` seconds."""
    if close_all(wait):
        sys.exit(status)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the reader is gone
            stream.flush()
    os._exit(status)
