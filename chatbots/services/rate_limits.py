"""Rate limits of a service, per key: token buckets, in this process or shared by several.

A request takes its amount at once, even if the bucket then owes it, and waits until the debt is paid.
Requests thus go out in the order in which they came, and each costs one step.
"""

import hashlib
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Protocol

BURST_SHARE = 0.1
"""Share of a minute's amount that may be taken at once. The rest comes evenly, so that no minute has more."""


@dataclass(frozen=True, slots=True)
class Quota:
    """An amount that may be taken from a bucket.

    Attributes:
        bucket: name of the bucket, the same in all processes; holds no key.
        per_minute: what the bucket gives in a minute, above 0.
        amount: what is taken; negative to give back.
    """

    bucket: str
    per_minute: float
    amount: float

    @property
    def burst(self) -> float:
        """Largest amount that may be taken at once."""
        return max(1.0, BURST_SHARE * self.per_minute)

    @property
    def per_second(self) -> float:
        """Amount that comes back in a second."""
        return max(self.per_minute - self.burst, min(1.0, self.per_minute)) / 60


class RateLimiter(Protocol):
    """Buckets of one process or of several."""

    async def take(self, quotas: Sequence[Quota]) -> float:
        """Take amounts; return the seconds until the request may be sent, 0 if at once."""


class LocalRateLimiter:
    """Buckets of this process. Any thread and event loop may use it.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._levels: dict[str, tuple[float, float]] = {}

    async def take(self, quotas: Sequence[Quota]) -> float:
        """Take amounts; return the seconds until the request may be sent, 0 if at once."""
        with self._lock:
            return max((self._take(quota) for quota in quotas), default=0.0)

    def _take(self, quota: Quota) -> float:
        now = self._clock()
        level, since = self._levels.get(quota.bucket, (quota.burst, now))
        level = min(quota.burst, level + (now - since) * quota.per_second) - quota.amount
        self._levels[quota.bucket] = level, now
        return max(0.0, -level / quota.per_second)


_limiter: list[RateLimiter] = [LocalRateLimiter()]


def use(limiter: RateLimiter) -> None:
    """Let all bots of this process that are loaded from now on take from these buckets."""
    _limiter[0] = limiter


def limiter_in_use() -> RateLimiter:
    """Return the buckets of this process."""
    return _limiter[0]


@dataclass(frozen=True, slots=True)
class RateLimit:
    """The limits of one key at one service.

    Attributes:
        limiter: the buckets.
        name: of the buckets; a hash of service and key.
        requests: requests in a minute; None without limit.
        tokens: tokens in a minute, of prompts and replies; None without limit.
    """

    limiter: RateLimiter
    name: str
    requests: int | None = None
    tokens: int | None = None

    async def take(self, tokens: float) -> float:
        """Take one request and its expected tokens; return the seconds until it may be sent."""
        return await self._take(1, tokens)

    async def give_back(self, tokens: float) -> None:
        """Give back a request that was not sent."""
        await self._take(-1, -tokens)

    async def settle(self, tokens: float) -> None:
        """Take the tokens that a request used beyond those expected; negative: give back."""
        await self._take(0, tokens)

    async def _take(self, requests: int, tokens: float) -> float:
        amounts = (("requests", self.requests, requests), ("tokens", self.tokens, tokens))
        quotas = [
            Quota(f"{self.name}:{kind}", limit, amount)
            for kind, limit, amount in amounts
            if limit and amount and math.isfinite(amount)
        ]
        return await self.limiter.take(quotas) if quotas else 0.0


def bucket_name(origin: tuple[str, str, int | None], key: str) -> str:
    """Name the buckets of a key at a service, without showing the key."""
    return hashlib.sha256(repr((origin, key)).encode()).hexdigest()[:32]
