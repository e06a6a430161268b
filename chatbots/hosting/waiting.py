"""Who waits for a bot, whether one more may come in, and how those before fared."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from chatbots import errors
from chatbots.base import Response
from chatbots.errors import (
    BotBusyError,
    BotFailedError,
    BotLateError,
    BotSilentError,
    HostingError,
    last_line,
)
from chatbots.hosting.health import Health, Outcome, State, Tally
from chatbots.hosting.requests import Breaker, Lines, Request
from chatbots.hosting.response_checks import MAX_RESPONSE_CHARS, SILENT, checked, last_lines


class WaitingRoom:
    """Where callers and the bot's thread meet. Its methods may be called from any thread.

    Args:
        name: of the bot, for messages and `Health`.
        size: most requests that wait.
        deadline: seconds that a request has, unless it brings its own.
        stuck_after: seconds in a call after which the bot is stuck, more if callers wait longer.

    Raises:
        ValueError: a limit is not positive.
    """

    def __init__(self, name: str, *, size: int, deadline: float, stuck_after: float) -> None:
        if min(size, deadline, stuck_after) <= 0:
            raise ValueError(f"Bot '{name}': queue_size, deadline and stuck_after must be above 0.")
        self.name, self._size = name, size
        self._deadline, self._stuck_after, self._stuck_limit = deadline, stuck_after, stuck_after
        self._queue: Lines[Request] = Lines()
        self._changed = threading.Condition(threading.Lock())
        self._state = State.LOADING
        self._why_failed = ""
        self._busy_since: float | None = None
        self._computing = 0
        self._tally = Tally()
        self._breaker = Breaker()

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
    def is_open(self) -> bool:
        """Whether it has not been closed."""
        return self._state is not State.CLOSED

    @property
    def is_half_open(self) -> bool:
        """Whether the bot has rested after its failures, and one request may find out how it is."""
        with self._changed:
            return self.state is State.FAILING and not self._breaker.seconds_left()

    @property
    def waiting(self) -> int:
        """Requests that wait, and one more while the bot computes."""
        return len(self._queue) + (self._busy_since is not None)

    def health(self) -> Health:
        """Counts and times of this moment."""
        with self._changed:
            return self._tally.health(
                self.name, self.state, queued=len(self._queue), computing=self._computing
            )

    # --- what callers do ---

    def enter(self, request: Request) -> None:
        """Queue a request.

        Raises:
            BotBusyError: the queue is full, the bot is stuck, or (`BotRestingError`) it has failed too often.
            BotFailedError: the bot could not be loaded, or was closed.
        """
        with self._changed:
            refusal = self._refusal()
            if refusal is None:
                self._breaker.let_through(request.until - request.since)
                self._queue.append(request.party, request)
                self._changed.notify()
                return
            self._tally.count(refusal)
        raise refusal

    def leave(self, request: Request) -> None:
        """Cancel a request: it leaves the queue, or the bot stops answering it if it can."""
        with self._changed:
            request.cancelled = True
            self._remove(request)

    def late(self, request: Request) -> BotLateError:
        """What a caller hears whose deadline is over."""
        loading = " It was still loading." if self._state is State.LOADING else ""
        limit = request.until - request.since
        return BotLateError(f"Bot '{self.name}' did not answer within {limit:g} s.{loading} Try again.")

    def conclude(self, request: Request, outcome: Outcome) -> Response:
        """Count the outcome of a request that its caller has received; return or raise it."""
        with self._changed:
            self._remove(request)
            self._tally.count(outcome)
            if isinstance(outcome, Response):
                self._tally.seconds.append(time.monotonic() - request.since)
        if isinstance(outcome, HostingError):
            raise outcome
        return outcome

    def close(self) -> None:
        """Refuse new requests and fail the waiting ones. Safe to repeat."""
        with self._changed:
            self._state = State.CLOSED
            self._fail_waiting(f"Bot '{self.name}' was closed while the request waited. Ask again.")
            self._changed.notify_all()

    # --- what the bot's thread does ---

    def ready(self) -> None:
        """The bot is loaded."""
        with self._changed:
            if self._state is State.LOADING:  # not closed in the meantime
                self._state = State.READY

    def fail(self, error: BaseException) -> None:
        """The bot cannot be loaded, or cannot go on: refuse everything with the reason."""
        with self._changed:
            what = "could not be loaded" if self._state is State.LOADING else "cannot go on"
            if self._state is not State.CLOSED:
                self._state = State.FAILED
            self._why_failed = f"Bot '{self.name}' {what}: {last_line(error)}"
            self._tally.last_error = last_lines(error)
            self._fail_waiting(self._why_failed)

    def next_batch(self, most: int, max_wait: float) -> list[Request]:
        """Wait for requests and take up to so many of them, `max_wait` seconds after the first at the latest.

        Returns:
            At least one request; none once this is closed.
        """
        with self._changed:
            batch: list[Request] = []
            while not batch and self.is_open:
                self._changed.wait_for(lambda: self._queue or not self.is_open)
                self._let_fill(most, max_wait)  # whoever was there may have left meanwhile
                batch = self._take(most)
            return batch

    def newcomers(self, most: int) -> list[Request]:
        """Who waits now, up to so many, without waiting for anybody, and without those who have given up."""
        with self._changed:
            now = time.monotonic()
            return [request for request in self._take(most) if request.is_awaited(now)]

    def be_patient_with(self, batch: Sequence[Request]) -> None:
        """Count the bot as stuck in its next call only when the callers of this batch would."""
        longer = (request.until - request.since - self._deadline for request in batch)
        self._stuck_limit = self._stuck_after + max(0.0, *longer)

    @contextmanager
    def busy(self, contexts: int) -> Iterator[None]:
        """The bot computes for so many contexts; it is stuck if that takes too long."""
        with self._changed:
            self._tally.batches.append(contexts)
        self._busy_since, self._computing = time.monotonic(), contexts
        try:
            yield
        finally:
            self._busy_since, self._computing = None, 0

    def judge(self, batch: Sequence[Request], outcomes: Sequence[Outcome]) -> None:
        """A call of the bot went well if it answered anybody in time.

        Who says nothing works: what it was asked may leave it nothing to say, as in talk with another bot.
        """
        now = time.monotonic()
        with self._changed:
            pairs = zip(batch, outcomes, strict=True)
            if any(isinstance(outcome, Response) and request.until > now for request, outcome in pairs):
                self._breaker.answered()
            elif not all(isinstance(outcome, BotSilentError) for outcome in outcomes):
                self._breaker.failed()

    def outcome(self, returned: object) -> Outcome:
        """What a bot returned for a context, as its caller gets it."""
        outcome = checked(returned)
        if isinstance(outcome, str):
            return self.failure(outcome)
        if isinstance(returned, Response) and len(returned.text) > MAX_RESPONSE_CHARS:
            with self._changed:
                self._tally.cut += 1
        return outcome

    def failure(self, why: str, details: str = "") -> BotFailedError:
        """An error of the bot, remembered as its last, with details for who may change the bot."""
        with self._changed:
            self._tally.last_error = f"{details}\n{why}" if details else why
        kind = BotSilentError if why == SILENT else BotFailedError
        return kind(f"Bot '{self.name}' {why}")

    # --- the caller of what follows holds the lock ---

    def _refusal(self) -> HostingError | None:
        state = self.state
        if state is State.FAILED:
            return BotFailedError(self._why_failed)
        if state is State.CLOSED:
            return BotFailedError(f"Bot '{self.name}' is closed.")
        if state is State.STUCK:
            return BotBusyError(
                f"Bot '{self.name}' has been computing one answer for over {self._stuck_limit:g} s and takes "
                "no requests until it is done. If that does not end, restart its host."
            )
        if left := self._breaker.seconds_left():
            last_error = self._tally.last_error.rpartition("\n")[2].removeprefix("failed: ")
            return errors.BotRestingError(
                f"Bot '{self.name}' has failed {self._breaker.failures} times in a row and is left alone for "
                f"{left:.0f} s. Last error: {last_error}"
            )
        if len(self._queue) >= self._size:
            return BotBusyError(
                f"Bot '{self.name}' has {len(self._queue)} requests waiting, as many as it takes. "
                "Try again shortly."
            )
        return None

    def _remove(self, request: Request) -> None:
        if not request.taken:
            self._queue.remove(request.party, request)

    def _fail_waiting(self, why: str) -> None:
        for request in self._queue:
            request.taken = True
            request.deliver(BotFailedError(why))
        self._queue.clear()

    def _take(self, most: int) -> list[Request]:
        batch = [self._queue.popleft() for _ in range(min(most, len(self._queue)))]
        for request in batch:
            request.taken = True
        return batch

    def _let_fill(self, most: int, max_wait: float) -> None:
        until = time.monotonic() + max_wait
        while 0 < len(self._queue) < most and (left := until - time.monotonic()) > 0:
            self._changed.wait(left)
