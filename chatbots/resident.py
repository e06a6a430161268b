"""One bot kept in memory on its own thread, behind a bounded queue that serves every dialogue of the process.

    caller ── respond ──▶ queue (bounded) ── batch ──▶ thread with the bot
       ◀── answer, or BotBusyError, BotLateError, BotFailedError ──┘

A caller always hears something before its deadline. Its own clock decides that, never the bot: an answer that
comes later finds nobody waiting and is thrown away. Threads do not survive a fork: make residents in the
process that uses them.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Self

from chatbots import errors
from chatbots.base import MAX_RESPONSE_CHARS, Bot, Context, Response
from chatbots.breaker import Breaker
from chatbots.checks import check_bot, checked, checked_batch, last_lines
from chatbots.continuous import ContinuousBot
from chatbots.errors import BotBusyError, BotFailedError, BotLateError, HostingError, last_line
from chatbots.health import Health, Outcome, State, Tally
from chatbots.lines import Lines
from chatbots.request import Request

logger = logging.getLogger(__name__)


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
        self.name = name
        self.queue_size = queue_size
        self.deadline = deadline
        self.stuck_after = self._stuck_limit = 2 * deadline if stuck_after is None else stuck_after
        if min(self.queue_size, self.deadline, self.stuck_after) <= 0:
            raise ValueError(f"Bot '{name}': queue_size, deadline and stuck_after must be above 0.")
        self._load = load
        self._queue: Lines[Request] = Lines()
        self._changed = threading.Condition(threading.Lock())
        self._loaded = threading.Event()
        self._state = State.LOADING
        self._load_error = ""
        self._busy_since: float | None = None
        self._tally = Tally()
        self._breaker = Breaker()
        self._thread = threading.Thread(target=self._run, name=f"bot {name}", daemon=True)
        self._thread.start()

    async def respond(
        self, context: Context, *, deadline: float | None = None, party: Hashable = None
    ) -> Response:
        """Ask the bot and wait for its answer. Cancelling the caller takes the request out of the queue.

        Args:
            context: what to answer.
            deadline: seconds to wait at most, loading included; the resident's own if None.
            party: who asks, such as a study. Parties are served in turn, however many each sends.

        Returns:
            The bot's response, cleaned by `clean_response`.

        Raises:
            BotBusyError: the queue is full, the bot is stuck, or (`BotRestingError`) it has failed too often.
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

        request = self._enqueue(context, deadline, party, deliver)
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
        if (seconds := request.held_for(response)) > 0:
            await asyncio.sleep(seconds)
        return response

    def respond_now(self, context: Context, *, deadline: float | None = None) -> Response:
        """`respond` for callers without an event loop: blocks the calling thread.

        Raises:
            HostingError: as `respond`.
        """
        answer: SimpleQueue[Outcome] = SimpleQueue()
        request = self._enqueue(context, deadline, None, answer.put)
        try:
            outcome = answer.get(timeout=max(0.0, request.until - time.monotonic()))
        except Empty:
            outcome = self._late(request)
        response = self._conclude(request, outcome)
        time.sleep(request.held_for(response))
        return response

    def wait_loaded(self, timeout: float | None = None) -> State:
        """Block until the bot is loaded, failed or closed, or for `timeout` seconds; returns the state."""
        self._loaded.wait(timeout)
        return self.state

    @property
    def state(self) -> State:
        """Where the bot stands now."""
        busy_since = self._busy_since
        if self._state is not State.READY:
            return self._state
        if busy_since is not None and time.monotonic() - busy_since > self._stuck_limit:
            return State.STUCK
        return State.READY if self._breaker.is_closed else State.FAILING

    @property
    def waiting(self) -> int:
        """Requests that wait, and one more while the bot computes."""
        return len(self._queue) + (self._busy_since is not None)

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
        self,
        context: Context,
        deadline: float | None,
        party: Hashable,
        deliver: Callable[[Outcome], None],
    ) -> Request:
        now = time.monotonic()
        until = now + (self.deadline if deadline is None else deadline)
        request = Request(context, now, until, party, deliver)
        with self._changed:
            refusal = self._refusal()
            if refusal is None:
                self._breaker.let_through(until - now)
                self._queue.append(party, request)
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
                f"Bot '{self.name}' has been computing one answer for over {self._stuck_limit:g} s and takes "
                "no requests until it is done. If that does not end, restart its host."
            )
        if left := self._breaker.seconds_left():
            return errors.BotRestingError(
                f"Bot '{self.name}' has failed {self._breaker.failures} times in a row and is left alone for "
                f"{left:.0f} s. Last error: {self._tally.last_error}"
            )
        if len(self._queue) >= self.queue_size:
            return BotBusyError(
                f"Bot '{self.name}' has {len(self._queue)} requests waiting, as many as it takes. "
                "Try again shortly."
            )
        return None

    def _late(self, request: Request) -> BotLateError:
        loading = " It was still loading." if self._state is State.LOADING else ""
        limit = request.until - request.since
        return BotLateError(f"Bot '{self.name}' did not answer within {limit:g} s.{loading} Try again.")

    def _remove(self, request: Request) -> None:
        """Take a request that nobody waits for out of the queue. The caller holds the lock."""
        if not request.taken:
            self._queue.remove(request.party, request)

    def _conclude(self, request: Request, outcome: Outcome) -> Response:
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
        if isinstance(bot, ContinuousBot):
            while self._state is not State.CLOSED:
                self._serve_continuously(bot)
        else:
            while batch := self._next_batch(bot.max_batch, bot.max_wait):
                self._serve(bot, batch)
        try:
            bot.close()
        except Exception:
            logger.exception("Bot '%s' raised an error while it was closed.", self.name)

    def _loaded_bot(self) -> Bot | None:
        try:
            bot = self._load()
            check_bot(bot)
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
                self._load_error, self._tally.last_error = last_line(error), last_lines(error)
                self._fail_waiting(f"Bot '{self.name}' could not be loaded: {self._load_error}")
        self._loaded.set()

    def _next_batch(self, max_batch: int, max_wait: float) -> list[Request]:
        """Wait for requests and take up to `max_batch` of them; empty once the resident is closed."""
        with self._changed:
            batch: list[Request] = []
            while not batch and self._state is not State.CLOSED:
                self._changed.wait_for(lambda: self._queue or self._state is State.CLOSED)
                self._let_fill(max_batch, max_wait)  # whoever was there may have left meanwhile
                batch = self._take(max_batch)
            return batch

    def _take(self, most: int) -> list[Request]:
        """Take what waits, up to so many. The caller holds the lock."""
        batch = [self._queue.popleft() for _ in range(min(most, len(self._queue)))]
        for request in batch:
            request.taken = True
        return batch

    def _let_fill(self, max_batch: int, max_wait: float) -> None:
        """Wait for a full batch, `max_wait` seconds at most. The caller holds the lock."""
        until = time.monotonic() + max_wait
        while 0 < len(self._queue) < max_batch and (left := until - time.monotonic()) > 0:
            self._changed.wait(left)

    def _serve(self, bot: Bot, batch: list[Request]) -> None:
        """Compute and deliver. A batch that fails is asked again one by one, to fail only the guilty."""
        if not (batch := [request for request in batch if request.until > time.monotonic()]):
            return
        longer = (request.until - request.since - self.deadline for request in batch)
        self._stuck_limit = self.stuck_after + max(0.0, *longer)
        outcomes = self._attempt(bot, [request.context for request in batch])
        if outcomes is None:
            for request in batch:
                self._serve(bot, [request])
            return
        self._judge(batch, outcomes)
        for request, outcome in zip(batch, outcomes, strict=True):
            request.deliver(outcome)

    def _judge(self, batch: list[Request], outcomes: list[Outcome]) -> None:
        """A call of the bot went well if it answered anybody in time."""
        now = time.monotonic()
        with self._changed:
            pairs = zip(batch, outcomes, strict=True)
            if any(isinstance(outcome, Response) and request.until > now for request, outcome in pairs):
                self._breaker.answered()
            else:
                self._breaker.failed()

    def _attempt(self, bot: Bot, contexts: list[Context]) -> list[Outcome] | None:
        """One outcome per context; None if several contexts failed together and one may be to blame."""
        try:
            with self._busy(len(contexts)):
                returned = bot.respond(contexts)
        except BaseException as error:
            logger.warning("Bot '%s' failed; contexts: %d.", self.name, len(contexts), exc_info=True)
            return None if len(contexts) > 1 else [self._failure(f"failed: {last_line(error)}")]
        return [self._outcome(each) for each in checked_batch(returned, len(contexts))]

    def _serve_continuously(self, bot: ContinuousBot) -> None:
        """Answer until the resident is closed or the bot fails; newcomers join between two steps."""
        answering, under_way = bot.answering(), dict[int, Request]()
        joining: list[Request] = []
        try:
            while under_way or self._state is not State.CLOSED:
                room = answering.room
                joining = self._joining(room) if under_way else self._next_batch(room, bot.max_wait)
                with self._busy(len(under_way) + len(joining)):
                    if joining:
                        keys = answering.admit([request.context for request in joining])
                        under_way |= dict(zip(keys, joining, strict=True))
                        joining = []
                    done = answering.step()
                for key, returned in done.items():
                    self._end(under_way.pop(key), self._outcome(returned))
        except BaseException:
            requests = [*under_way.values(), *joining]
            logger.warning("Bot '%s' failed; contexts: %d.", self.name, len(requests), exc_info=True)
            for request in requests:
                self._serve(bot, [request])

    def _joining(self, room: int) -> list[Request]:
        """Who waits now, without waiting for anybody, and without those who have given up."""
        with self._changed:
            now = time.monotonic()
            return [request for request in self._take(room) if request.until > now]

    def _end(self, request: Request, outcome: Outcome) -> None:
        self._judge([request], [outcome])
        request.deliver(outcome)

    @contextmanager
    def _busy(self, contexts: int) -> Iterator[None]:
        """The bot computes for so many contexts; it is stuck if that takes too long."""
        with self._changed:
            self._tally.batches.append(contexts)
        self._busy_since = time.monotonic()
        try:
            yield
        finally:
            self._busy_since = None

    def _outcome(self, returned: object) -> Outcome:
        outcome = checked(returned)
        if isinstance(outcome, str):
            return self._failure(outcome)
        if isinstance(returned, Response) and len(returned.text) > MAX_RESPONSE_CHARS:
            with self._changed:
                self._tally.cut += 1
        return outcome

    def _failure(self, why: str) -> BotFailedError:
        with self._changed:
            self._tally.last_error = why
        return BotFailedError(f"Bot '{self.name}' {why}")
