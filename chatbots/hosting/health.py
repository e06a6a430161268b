"""State, counts and times of a resident bot, and fixed contexts that show whether the bot has changed.

The twenty contexts were written for this purpose; none comes from a data set. They cover different kinds of
small talk and questions, so that a change in any of them shows.
"""

import math
import statistics
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from chatbots.base import Context
from chatbots.errors import BotBusyError, BotFailedError, BotLateError, HostingError
from chatbots.replies import Response

RECENT = 1_000
"""Number of newest responses and batches from which `Health` computes latencies and batch sizes."""

LATENCY_BOUNDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""Upper bounds in seconds of the bars of a latency histogram; one more bar counts longer times."""

Outcome = Response | HostingError


class State(StrEnum):
    """The state of a resident bot."""

    LOADING = "loading"
    """Requests wait for the bot within their deadline."""
    READY = "ready"
    """Idle, or computing a response."""
    FAILING = "failing"
    """The circuit breaker is open after several failures; one probe request at a time is let through."""
    STUCK = "stuck"
    """One call has taken too long; requests are refused until the call ends."""
    FAILED = "failed"
    """The bot could not be loaded, or cannot go on; every request is refused with the reason."""
    CLOSED = "closed"
    """Every request is refused."""


@dataclass(frozen=True, slots=True)
class Health:
    """A resident bot at one moment: counts since the start, times over the last `RECENT` responses.

    Attributes:
        name: of the bot.
        state: of the bot.
        queued: requests waiting now.
        computing: contexts being computed now; 0 if idle.
        served: requests that got a response.
        busy: requests refused with `BotBusyError`.
        late: requests that ended in `BotLateError`.
        failed: requests that ended in `BotFailedError`.
        cut: responses that were longer than `evaluation.texts.lengths.MAX_REPLY_CHARS`.
        last_error: why the bot could not be loaded, else the newest error of a request; "" if none.
        median_seconds: median time from request to response, as the caller sees it; None before the first.
        p95_seconds: 95th percentile of that time (nearest rank).
        mean_batch: mean number of contexts per call of the bot; None before the first.
        latencies: histogram of the times from request to response, one count per bar of `LATENCY_BOUNDS`.
        batches: histogram of the calls: number of contexts → number of calls.
    """

    name: str
    state: State
    queued: int
    computing: int
    served: int
    busy: int
    late: int
    failed: int
    cut: int
    last_error: str
    median_seconds: float | None
    p95_seconds: float | None
    mean_batch: float | None
    latencies: tuple[int, ...]
    batches: Mapping[int, int]


@dataclass(slots=True)
class Tally:
    """The running counts behind `Health`. Not thread-safe: its owner locks."""

    served: int = 0
    busy: int = 0
    late: int = 0
    failed: int = 0
    cut: int = 0
    last_error: str = ""
    seconds: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    batches: deque[int] = field(default_factory=lambda: deque(maxlen=RECENT))

    def count(self, outcome: Outcome) -> None:
        """Count the outcome of one request."""
        match outcome:
            case Response():
                self.served += 1
            case BotBusyError():
                self.busy += 1
            case BotLateError():
                self.late += 1
            case BotFailedError():
                self.failed += 1

    def health(self, name: str, state: State, *, queued: int, computing: int) -> Health:
        """Combine the counts with the state that the owner passes."""
        seconds = sorted(self.seconds)
        return Health(
            name=name,
            state=state,
            queued=queued,
            computing=computing,
            served=self.served,
            busy=self.busy,
            late=self.late,
            failed=self.failed,
            cut=self.cut,
            last_error=self.last_error,
            median_seconds=statistics.median(seconds) if seconds else None,
            p95_seconds=seconds[math.ceil(0.95 * len(seconds)) - 1] if seconds else None,
            mean_batch=statistics.fmean(self.batches) if self.batches else None,
            latencies=_histogram(seconds),
            batches=dict(sorted(Counter(self.batches).items())),
        )


def _histogram(seconds: list[float]) -> tuple[int, ...]:
    counts = [0] * (len(LATENCY_BOUNDS) + 1)
    for each in seconds:
        counts[bisect_left(LATENCY_BOUNDS, each)] += 1
    return tuple(counts)


_TURNS: tuple[tuple[str, ...], ...] = (
    ("Hi!",),
    ("Good morning. Did you sleep well?",),
    ("What is your name?",),
    ("Are you a person or a program?",),
    ("I burnt my toast again.",),
    ("Which is heavier, a kilo of feathers or a kilo of stones?",),
    ("Tell me something about the sea.",),
    ("Do you have any brothers or sisters?",),
    ("My neighbour plays the trumpet at midnight. What should I do?",),
    ("What's the capital of Portugal?",),
    ("asdf qwer",),
    ("I'm thinking of learning to bake bread.", "Nice! What kind?", "Rye, I think. Any advice?"),
    ("Do you like football?", "I prefer tennis.", "Since when do you play?"),
    ("I lost my keys.", "Oh no! Where did you see them last?", "On the kitchen table, I'm quite sure."),
    ("What did you do at the weekend?", "I went hiking with a friend.", "Wasn't it raining?"),
    ("My dog is called Biscuit.", "What a sweet name!", "Do you remember what my dog is called?"),
    ("Let's talk about films.", "Sure, what have you seen lately?", "Nothing good. What would you suggest?"),
    ("I have an exam tomorrow and I can't sleep.",),
    ("Why is the sky blue?", "Because of how air scatters light.", "And why is it red in the evening?"),
    ("Thank you, that was fun. Bye!",),
)

DRIFT_CONTEXTS: tuple[Context, ...] = tuple(
    Context.from_texts(texts, seed=1_000 + number) for number, texts in enumerate(_TURNS)
)
"""The contexts, each with its own seed, which never changes."""
