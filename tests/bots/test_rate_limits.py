"""Rate limits in Redis: the same buckets for all processes."""

import asyncio

import pytest
import redis
from django.conf import settings

from chatbots.services.rate_limits import LocalRateLimiter, Quota
from turnwise.bots.hosting.rate_limits import PREFIX, RedisRateLimiter


@pytest.fixture(autouse=True)
def _empty():
    client = redis.Redis.from_url(settings.REDIS_URL)
    for name in client.scan_iter(f"{PREFIX}*"):
        client.delete(name)
    client.close()


async def test_two_processes_share_a_bucket():
    one, other = RedisRateLimiter(settings.REDIS_URL), RedisRateLimiter(settings.REDIS_URL)
    quota = Quota("k:requests", 600, 1)

    waits = await asyncio.gather(*(limiter.take([quota]) for limiter in (one, other) for _ in range(100)))

    assert sum(wait == 0 for wait in waits) >= 60  # the burst
    assert max(waits) == pytest.approx((200 - 60) / quota.per_second, rel=0.3)


async def test_redis_and_this_process_count_alike():
    quotas = [Quota("k:requests", 60, 1), Quota("k:tokens", 1_000, 400)]
    shared, local = RedisRateLimiter(settings.REDIS_URL), LocalRateLimiter()

    for _ in range(5):
        assert await shared.take(quotas) == pytest.approx(await local.take(quotas), abs=5)


async def test_a_bucket_expires():
    await RedisRateLimiter(settings.REDIS_URL).take([Quota("k:requests", 60, 1)])

    with redis.Redis.from_url(settings.REDIS_URL) as client:
        assert 0 < client.ttl(f"{PREFIX}k:requests") < 120


async def test_without_redis_this_process_limits_alone():
    limiter = RedisRateLimiter("redis://127.0.0.1:9/0")

    waits = [await limiter.take([Quota("k", 10, 1)]) for _ in range(3)]

    assert waits[0] == 0
    assert waits[2] > waits[1] > 0
