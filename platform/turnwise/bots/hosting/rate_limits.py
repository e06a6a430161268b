"""Rate limits of services, shared by all processes: token buckets in Redis."""

import asyncio
import logging
import time
from collections.abc import Sequence
from functools import cache

import redis
from django.conf import settings

from chatbots.services import rate_limits
from chatbots.services.rate_limits import LocalRateLimiter, Quota

log = logging.getLogger(__name__)

PREFIX = "turnwise:rate:"
WITHOUT_REDIS_SECONDS = 5.0
"""After a failure of Redis, the buckets of this process are used for this time."""

# Redis's own clock counts, so that processes on several machines agree.
TAKE = """
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local wait = 0
for place, name in ipairs(KEYS) do
    local burst, rate = tonumber(ARGV[3 * place - 2]), tonumber(ARGV[3 * place - 1])
    local bucket = redis.call('HMGET', name, 'level', 'since')
    local level, since = tonumber(bucket[1] or burst), tonumber(bucket[2] or now)
    level = math.min(burst, level + math.max(0, now - since) * rate) - tonumber(ARGV[3 * place])
    redis.call('HSET', name, 'level', tostring(level), 'since', string.format('%.6f', now))
    redis.call('EXPIRE', name, math.ceil((burst - level) / rate) + 60)
    wait = math.max(wait, -level / rate)
end
return tostring(wait)
"""


class RedisRateLimiter:
    """Buckets in Redis; while it does not answer, those of this process.

    Args:
        url: of Redis.
    """

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(url, socket_timeout=1.0, socket_connect_timeout=1.0)
        self._script = self._client.register_script(TAKE)
        self._local = LocalRateLimiter()
        self._away_until = 0.0

    async def take(self, quotas: Sequence[Quota]) -> float:
        """Take amounts; return the seconds until the request may be sent, 0 if at once."""
        if time.monotonic() >= self._away_until:
            try:
                return await asyncio.to_thread(self._take, quotas)
            except redis.RedisError as error:
                log.warning("Rate limits are kept by this process alone: Redis does not answer (%s).", error)
                self._away_until = time.monotonic() + WITHOUT_REDIS_SECONDS
        return await self._local.take(quotas)

    def _take(self, quotas: Sequence[Quota]) -> float:
        numbers = [number for each in quotas for number in (each.burst, each.per_second, each.amount)]
        return float(self._script(keys=[PREFIX + quota.bucket for quota in quotas], args=numbers))


@cache
def share_rate_limits() -> None:
    """Let the bots of this process share the rate limits of their services with other processes."""
    rate_limits.use(RedisRateLimiter(settings.REDIS_URL))
