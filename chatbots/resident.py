"""One bot kept in memory on its own thread, behind a bounded queue that serves every dialogue of the process.

    caller ── respond ──▶ queue (bounded) ── batch ──▶ thread with the bot
       ◀── answer, or BotBusyError, BotLateError, BotFailedError ──┘

A caller always hears something before its deadline. Its own clock decides that, never the bot: an answer that
comes later finds nobody waiting and is thrown away. Threads do not survive a fork: make residents in the
process that uses them.
"""

import asyncio
import logging
import math
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Self

from chatbots.base import MAX_RESPONSE_CHARS, Bot, Context, Failure, Response, clean_response, is_blank
from chatbots.errors import BotBusyError, BotFailedError, BotLateError, HostingError, last_line
from chatbots.health import Health, Outcome, State, Tally

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Request:
    context: Context
    since: float
    until: float
    deliver: Callable[[Outcome], None]
    """Hands the outcome to the caller, who may be gone; must not raise or block."""
    taken: bool = False


class Resident:
    """Hosts one bot. Its methods may be called from any thread and any event loop.

    Args:
        name: for messages and `Health`.
        load: makes the bot; runs on the bot's thread, may take minutes.
        queue_size: most requests that wait; more are refused with `BotBusyError`.
        deadline: seconds from request to answer, unless a request brings its own.
        stuck_after: seconds in one call of the bot after which it is stuck; None for twice the deadline.
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
        self.name = name
        self.queue_size = queue_size
        self.deadline = deadline
        self.stuck_after = 2 * deadline if stuck_after is None else stuck_after
        if min(self.queue_size, self.deadline, self.stuck_after) <= 0:
            raise ValueError(f"Bot '{name}': queue_size, deadline and stuck_after must be above 0.")
        self._load = load
        self._queue: deque[_Request] = deque()
        self._changed = threading.Condition(threading.Lock())
        self._loaded = threading.Event()
        self._state = State.LOADING
        self._load_error = ""
        self._busy_since: float | None = None
        self._tally = Tally()
        self._thread = threading.Thread(target=self._run, name=f"bot {name}", daemon=True)
        self._thread.start()

    async def respond(self, context: Context, *, deadline: float | None = None) -> Response:
        """Ask the bot and wait for its answer. Cancelling the caller takes the request out of the queue.

        Args:
            context: what to answer.
            deadline: seconds to wait at most, loading included; the resident's own if None.

        Returns:
            The bot's response, cleaned by `clean_response`.

        Raises:
            BotBusyError: the queue is full or the bot is stuck.
            BotLateError: no answer within the deadline.
            BotFailedError: the bot cannot be loaded, raised an error, answered nothing usable, or was closed.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Outcome] = loop.create_future()

        def settle(outcome: Outcome) -> None:
            if not answer.done():
                answer.set_result(outcome)

        def deliver(outcome: Outcome) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(settle, outcome)

        request = self._enqueue(context, deadline, deliver)
        timer = loop.call_later(request.until - request.since, lambda: settle(self._late(request)))
        try:
            outcome = await answer
        except asyncio.CancelledError:
            with self._changed:
                self._remove(request)
            raise
        finally:
            timer.cancel()
        response = self._conclude(request, outcome)
        if (seconds := _held_for(request, response)) > 0:
            await asyncio.sleep(seconds)
        return response

    def respond_now(self, context: Context, *, deadline: float | None = None) -> Response:
        """`respond` for callers without an event loop: blocks the calling thread.

        Raises:
            HostingError: as `respond`.
        """
        answer: SimpleQueue[Outcome] = SimpleQueue()
        request = self._enqueue(context, deadline, answer.put)
        try:
            outcome = answer.get(timeout=max(0.0, request.until - time.monotonic()))
        except Empty:
            outcome = self._late(request)
        response = self._conclude(request, outcome)
        time.sleep(_held_for(request, response))
        return response

    def wait_loaded(self, timeout: float | None = None) -> State:
        """Block until the bot is loaded, failed or closed, or for `timeout` seconds; returns the state."""
        self._loaded.wait(timeout)
        return self.state

    @property
    def state(self) -> State:
        """Where the bot stands now."""
        busy_since = self._busy_since
        stuck = busy_since is not None and time.monotonic() - busy_since > self.stuck_after
        return State.STUCK if stuck and self._state is State.READY else self._state

    def health(self) -> Health:
        """Counts and times of this moment."""
        with self._changed:
            return self._tally.health(self.name, self.state, len(self._queue))

    def close(self, *, wait: float = 0.0) -> None:
        """Refuse new requests, fail the waiting ones, let the bot release what it holds. Safe to repeat.

        Args:
            wait: seconds to block until the thread has ended; it ends after the batch that it computes.
        """
        with self._changed:
            self._state = State.CLOSED
            self._fail_waiting(f"Bot '{self.name}' was closed while the request waited. Ask again.")
            self._changed.notify_all()
        self._loaded.set()
        if wait:
            self._thread.join(wait)

    def __enter__(self) -> Self:
        """The resident itself; leaving the `with` block closes it."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close without waiting."""
        self.close()

    def _enqueue(
        self, context: Context, deadline: float | None, deliver: Callable[[Outcome], None]
    ) -> _Request:
        now = time.monotonic()
        until = now + (self.deadline if deadline is None else deadline)
        request = _Request(context, now, until, deliver)
        with self._changed:
            refusal = self._refusal()
            if refusal is None:
                self._queue.append(request)
                self._changed.notify()
                return request
            self._tally.count(refusal)
        raise refusal

    def _refusal(self) -> HostingError | None:
        state = self.state
        if state is State.FAILED:
            return BotFailedError(f"Bot '{self.name}' could not be loaded: {self._load_error}")
        if state is State.CLOSED:
            return BotFailedError(f"Bot '{self.name}' is closed.")
        if state is State.STUCK:
            return BotBusyError(
                f"Bot '{self.name}' has been computing one answer for over {self.stuck_after:g} s and takes "
                "no requests until it is done. If that does not end, restart its host."
            )
        if len(self._queue) >= self.queue_size:
            return BotBusyError(
                f"Bot '{self.name}' has {len(self._queue)} requests waiting, as many as it takes. "
                "Try again shortly."
            )
        return None

    def _late(self, request: _Request) -> BotLateError:
        loading = " It was still loading." if self._state is State.LOADING else ""
        limit = request.until - request.since
        return BotLateError(f"Bot '{self.name}' did not answer within {limit:g} s.{loading} Try again.")

    def _remove(self, request: _Request) -> None:
        """Take a request that nobody waits for out of the queue. The caller holds the lock."""
        if not request.taken:
            self._queue.remove(request)

    def _conclude(self, request: _Request, outcome: Outcome) -> Response:
        """Count the outcome of a request that its caller has received; return or raise it."""
        with self._changed:
            self._remove(request)
            self._tally.count(outcome)
            if isinstance(outcome, Response):
                self._tally.seconds.append(time.monotonic() - request.since)
        if isinstance(outcome, HostingError):
            raise outcome
        return outcome

    def _fail_waiting(self, why: str) -> None:
        """Answer everything in the queue. The caller holds the lock."""
        for request in self._queue:
            request.taken = True
            request.deliver(BotFailedError(why))
        self._queue.clear()

    def _run(self) -> None:
        """Life of the bot's thread."""
        bot = self._loaded_bot()
        if bot is None:
            return
        max_batch, max_wait = bot.max_batch, bot.max_wait
        while batch := self._next_batch(max_batch, max_wait):
            self._serve(bot, batch)
        try:
            bot.close()
        except Exception:
            logger.exception("Bot '%s' raised an error while it was closed.", self.name)

    def _loaded_bot(self) -> Bot | None:
        try:
            bot = self._load()
            _check(bot)
        except BaseException as error:  # a bot that calls sys.exit() must not leave its callers waiting
            self._leave_loading(State.FAILED, error)
            return None
        self._leave_loading(State.READY)
        return bot

    def _leave_loading(self, state: State, error: BaseException | None = None) -> None:
        with self._changed:
            if self._state is State.LOADING:  # not closed in the meantime
                self._state = state
            if error is not None:
                self._load_error, self._tally.last_error = last_line(error), _last_lines(error)
                self._fail_waiting(f"Bot '{self.name}' could not be loaded: {self._load_error}")
        self._loaded.set()

    def _next_batch(self, max_batch: int, max_wait: float) -> list[_Request]:
        """Wait for requests and take up to `max_batch` of them; empty once the resident is closed."""
        with self._changed:
            batch: list[_Request] = []
            while not batch and self._state is not State.CLOSED:
                self._changed.wait_for(lambda: self._queue or self._state is State.CLOSED)
                self._let_fill(max_batch, max_wait)  # whoever was there may have left meanwhile
                batch = [self._queue.popleft() for _ in range(min(max_batch, len(self._queue)))]
            for request in batch:
                request.taken = True
            return batch

    def _let_fill(self, max_batch: int, max_wait: float) -> None:
        """Wait for a full batch, `max_wait` seconds at most. The caller holds the lock."""
        until = time.monotonic() + max_wait
        while 0 < len(self._queue) < max_batch and (left := until - time.monotonic()) > 0:
            self._changed.wait(left)

    def _serve(self, bot: Bot, batch: list[_Request]) -> None:
        """Compute and deliver. A batch that fails is asked again one by one, to fail only the guilty."""
        batch = [request for request in batch if request.until > time.monotonic()]
        if not batch:
            return
        outcomes = self._attempt(bot, [request.context for request in batch])
        if outcomes is None:
            for request in batch:
                self._serve(bot, [request])
            return
        for request, outcome in zip(batch, outcomes, strict=True):
            request.deliver(outcome)

    def _attempt(self, bot: Bot, contexts: list[Context]) -> list[Outcome] | None:
        """One outcome per context; None if several contexts failed together and one may be to blame."""
        try:
            responses = self._call(bot, contexts)
        except BaseException as error:
            logger.warning("Bot '%s' failed; contexts: %d.", self.name, len(contexts), exc_info=True)
            return None if len(contexts) > 1 else [self._failure(f"failed: {last_line(error)}")]
        return self._outcomes(responses, len(contexts))

    def _call(self, bot: Bot, contexts: list[Context]) -> object:
        with self._changed:
            self._tally.batches.append(len(contexts))
        self._busy_since = time.monotonic()
        try:
            return bot.respond(contexts)
        finally:
            self._busy_since = None

    def _outcomes(self, responses: object, asked: int) -> list[Outcome]:
        """One outcome per context, whatever the bot returned."""
        if not isinstance(responses, list | tuple):
            why = f"returned {_kind(responses)} instead of a list of responses. Mend its respond()."
        elif len(responses) != asked:
            why = f"returned {len(responses)} responses for {asked} contexts. Mend its respond()."
        else:
            return [self._outcome(response) for response in responses]
        return [self._failure(why) for _ in range(asked)]

    def _outcome(self, response: object) -> Outcome:
        if isinstance(response, Failure):
            return self._failure(f"failed: {last_line(response.error)}")
        if not isinstance(response, Response):
            return self._failure(f"returned {_kind(response)} instead of a Response. Mend its respond().")
        try:
            clean = clean_response(response)
        except Exception as error:
            return self._failure(f"returned a malformed response: {last_line(error)}")
        if is_blank(clean.text):
            return self._failure("answered nothing: its text has no visible character.")
        if len(response.text) > MAX_RESPONSE_CHARS:
            with self._changed:
                self._tally.cut += 1
        return clean

    def _failure(self, why: str) -> BotFailedError:
        with self._changed:
            self._tally.last_error = why
        return BotFailedError(f"Bot '{self.name}' {why}")


def _held_for(request: _Request, response: Response) -> float:
    """Seconds until the response may be handed over; a tenth of the deadline is left for its way."""
    longest = 0.9 * (request.until - request.since)
    return max(0.0, request.since + min(response.least_seconds, longest) - time.monotonic())


def _check(bot: object) -> None:
    if not isinstance(bot, Bot):
        raise TypeError(f"What was loaded is {_kind(bot)}, not a Bot. Return an instance of a Bot subclass.")
    if bot.max_batch < 1 or not 0 <= bot.max_wait < math.inf:
        raise ValueError(
            f"The bot has max_batch = {bot.max_batch} and max_wait = {bot.max_wait}. "
            "Give at least 1, and seconds from 0 up."
        )


def _last_lines(error: BaseException) -> str:
    """The end of the traceback: the last place in the code and the error itself."""
    return "".join(traceback.format_exception(error)[-2:]).strip()


def _kind(value: object) -> str:
    return f"a {type(value).__name__}"
