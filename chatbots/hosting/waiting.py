"""The queue between callers and a bot's thread: admission, batches, outcomes and the bot's state."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from chatbots import errors
from chatbots.errors import (
    BotBusyError,
    BotFailedError,
    BotLateError,
    BotSilentError,
    HostingError,
    RateLimitWaitError,
    last_line,
)
from chatbots.hosting.health import Health, Outcome, State, Tally
from chatbots.hosting.requests import CircuitBreaker, Request, TenantQueue
from chatbots.hosting.response_checks import SILENT, checked, last_lines
from chatbots.replies import Failure, Response
from evaluation.texts.lengths import MAX_REPLY_CHARS


class RequestQueue:
    """The thread-safe meeting point of callers and the bot's thread.

    Args:
        name: of the bot, for messages and `Health`.
        size: most requests that wait.
        deadline: seconds that a request has, unless it sets its own.
        stuck_after: seconds in one call after which the bot counts as stuck, more if callers wait longer.

    Raises:
        ValueError: a limit is not positive.
    """

    def __init__(self, name: str, *, size: int, deadline: float, stuck_after: float) -> None:
        if min(size, deadline, stuck_after) <= 0:
            raise ValueError(f"Bot '{name}': queue_size, deadline and stuck_after must be above 0.")
        self.name, self._size = name, size
        self._deadline, self._stuck_after, self._stuck_limit = deadline, stuck_after, stuck_after
        self._queue: TenantQueue[Request] = TenantQueue()
        self._changed = threading.Condition(threading.Lock())
        self._state = State.LOADING
        self._why_failed = ""
        self._busy_since: float | None = None
        self._computing = 0
        self._tally = Tally()
        self._circuit = CircuitBreaker()
        self.on_change: Callable[[], None] = lambda: None
        """Called when a request was queued or cancelled, or the queue closed. Must not raise or block."""

    @property
    def state(self) -> State:
        """State of the bot."""
        busy_since = self._busy_since
        if self._state is not State.READY:
            return self._state
        if busy_since is not None and time.monotonic() - busy_since > self._stuck_limit:
            return State.STUCK
        return State.READY if self._circuit.is_closed else State.FAILING

    @property
    def is_open(self) -> bool:
        """True until the queue is closed."""
        return self._state is not State.CLOSED

    @property
    def is_half_open(self) -> bool:
        """True if the backoff is over, and a probe request may go through."""
        with self._changed:
            return self.state is State.FAILING and not self._circuit.seconds_left()

    @property
    def waiting(self) -> int:
        """Waiting requests, plus one while the bot computes."""
        return len(self._queue) + (self._busy_since is not None)

    def health(self) -> Health:
        """Counts and times of this moment."""
        with self._changed:
            return self._tally.health(
                self.name, self.state, queued=len(self._queue), computing=self._computing
            )

    # --- called by callers ---

    def enter(self, request: Request) -> None:
        """Queue a request.

        Raises:
            BotBusyError: the queue is full, the bot is stuck, or (`CircuitOpenError`) it has failed too
                often.
            BotFailedError: the bot could not be loaded, or was closed.
        """
        with self._changed:
            refusal = self._refusal()
            if refusal is None:
                self._circuit.let_through(request.until - request.since)
                self._queue.append(request.tenant, request)
                self._changed.notify()
                self.on_change()
                return
            self._tally.count(refusal)
        raise refusal

    def leave(self, request: Request) -> None:
        """Cancel a request: it leaves the queue, or the bot stops answering it if it can."""
        with self._changed:
            request.cancelled = True
            self._remove(request)
        self.on_change()

    def late(self, request: Request) -> BotLateError:
        """Create the error for a caller whose deadline has passed."""
        loading = " It was still loading." if self._state is State.LOADING else ""
        limit = request.until - request.since
        return BotLateError(f"Bot '{self.name}' did not answer within {limit:g} s.{loading} Try again.")

    def conclude(self, request: Request, outcome: Outcome) -> Response:
        """Count the outcome that a caller has received; return the response or raise the error."""
        with self._changed:
            self._remove(request)
            self._tally.count(outcome)
            if isinstance(outcome, Response):
                self._tally.seconds.append(time.monotonic() - request.since)
        if isinstance(outcome, HostingError):
            raise outcome
        return outcome

    def close(self) -> None:
        """Refuse new requests and fail the waiting ones. Idempotent."""
        with self._changed:
            self._state = State.CLOSED
            self._fail_waiting(f"Bot '{self.name}' was closed while the request waited. Ask again.")
            self._changed.notify_all()
        self.on_change()

    # --- called by the bot's thread ---

    def ready(self) -> None:
        """Record that the bot is loaded."""
        with self._changed:
            if self._state is State.LOADING:  # unless closed in the meantime
                self._state = State.READY

    def fail(self, error: BaseException) -> None:
        """Record that the bot cannot be loaded or go on, and refuse all requests with the reason."""
        with self._changed:
            what = "could not be loaded" if self._state is State.LOADING else "cannot go on"
            if self._state is not State.CLOSED:
                self._state = State.FAILED
            self._why_failed = f"Bot '{self.name}' {what}: {last_line(error)}"
            self._tally.last_error = last_lines(error)
            self._fail_waiting(self._why_failed)

    def next_batch(self, most: int, max_wait: float) -> list[Request]:
        """Wait for requests and take up to `most`, at the latest `max_wait` seconds after the first.

        Returns:
            At least one request; none once the queue is closed.
        """
        with self._changed:
            batch: list[Request] = []
            while not batch and self.is_open:
                self._changed.wait_for(lambda: self._queue or not self.is_open)
                self._let_fill(most, max_wait)  # all callers may have left meanwhile
                batch = self._take(most)
            return batch

    def newcomers(self, most: int) -> list[Request]:
        """Take up to `most` waiting requests at once, without those whose callers have given up."""
        with self._changed:
            now = time.monotonic()
            return [request for request in self._take(most) if request.is_awaited(now)]

    def extend_stuck_limit(self, batch: Sequence[Request]) -> None:
        """Extend the time of the next call by the longest deadline of this batch beyond the usual one."""
        longer = (request.until - request.since - self._deadline for request in batch)
        self._stuck_limit = self._stuck_after + max(0.0, *longer)

    @contextmanager
    def busy(self, contexts: int) -> Iterator[None]:
        """Mark the bot as computing this many contexts; it is stuck if that takes too long."""
        with self._changed:
            self._tally.batches.append(contexts)
        self._busy_since, self._computing = time.monotonic(), contexts
        try:
            yield
        finally:
            self._busy_since, self._computing = None, 0

    def judge(self, batch: Sequence[Request], outcomes: Sequence[Outcome]) -> None:
        """Update the circuit breaker: a call succeeded if any caller got a response in time.

        An empty response is no failure: a bot may have nothing to say, for instance to another bot. Nor is a
        request that was not sent because of the service's rate limit: the bot is well.
        """
        now = time.monotonic()
        with self._changed:
            pairs = zip(batch, outcomes, strict=True)
            if any(isinstance(outcome, Response) and request.until > now for request, outcome in pairs):
                self._circuit.answered()
            elif not all(isinstance(outcome, BotSilentError | BotBusyError) for outcome in outcomes):
                self._circuit.failed()

    def outcome(self, returned: object) -> Outcome:
        """Convert what a bot returned for a context to the caller's outcome."""
        if isinstance(returned, Failure) and isinstance(returned.error, RateLimitWaitError):
            return BotBusyError(f"Bot '{self.name}' is busy: {last_line(returned.error)}")
        outcome = checked(returned)
        if isinstance(outcome, str):
            return self.failure(outcome)
        if isinstance(returned, Response) and len(returned.text) > MAX_REPLY_CHARS:
            with self._changed:
                self._tally.cut += 1
        return outcome

    def failure(self, why: str, details: str = "") -> BotFailedError:
        """Create the error of a failed call; keep it with details as the last error."""
        with self._changed:
            self._tally.last_error = f"{details}\n{why}" if details else why
        kind = BotSilentError if why == SILENT else BotFailedError
        return kind(f"Bot '{self.name}' {why}")

    # --- these need the lock held ---

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
        if seconds := self._circuit.seconds_left():
            last_error = self._tally.last_error.rpartition("\n")[2].removeprefix("failed: ")
            return errors.CircuitOpenError(
                f"Bot '{self.name}' has failed {self._circuit.failures} times in a row and is not asked for "
                f"{seconds:.0f} s. Last error: {last_error}"
            )
        if len(self._queue) >= self._size:
            return BotBusyError(
                f"Bot '{self.name}' has {len(self._queue)} requests waiting, as many as it takes. "
                "Try again shortly."
            )
        return None

    def _remove(self, request: Request) -> None:
        if not request.taken:
            self._queue.remove(request.tenant, request)

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
