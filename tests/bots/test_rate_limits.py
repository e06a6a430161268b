"""Rate limits in Redis: the same buckets for all processes."""

import asyncio
import re
import threading
import time
from contextlib import suppress

import pytest
import redis
from django.conf import settings

from chatbots.base import Context
from chatbots.errors import HostingError
from chatbots.hosting.health import State
from chatbots.services.rate_limits import LocalRateLimiter, Quota
from tests.chatbots.local_service import Sent, running
from tests.conftest import PATIENCE
from turnwise.bots.hosting import presence, resident_bots
from turnwise.bots.hosting.rate_limit_queues import merged_queues
from turnwise.bots.hosting.rate_limits import PREFIX, RedisRateLimiter
from turnwise.bots.services import register_bot


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


OK = {"model": "m", "choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}


def ask(resident):
    with suppress(HostingError):  # once it is closed
        resident.respond_now(Context.from_texts(["Hello"]), deadline=300)


@pytest.mark.django_db(transaction=True)
def test_a_bots_page_shows_the_queue_of_its_rate_limit(rex, sign_in, monkeypatch):
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")
    with running(lambda received: Sent(OK)) as service:
        configuration = {
            "base_url": service.url, "model": "m", "stream": False, "requests_per_minute": 2,
            "tokens_per_minute": 1_000_000, "timeout": 300,
        }  # fmt: skip
        bot = register_bot(
            name="far", title="Far", adapter="openai-chat", configuration=configuration, owner=rex
        )
        resident = resident_bots.host(bot).resident
        assert resident.wait_loaded(PATIENCE) is State.READY, resident.health().last_error
        presence.announce("a-channel")
        idle = shown(sign_in(rex), bot)
        for _ in range(3):
            threading.Thread(target=ask, args=[resident], daemon=True).start()
        deadline = time.monotonic() + PATIENCE
        while "wait for it: 3" not in (busy := shown(sign_in(rex), bot)):
            assert time.monotonic() < deadline, busy
            time.sleep(0.05)
            presence.announce("a-channel")

    assert "Limit: 2 requests a minute, 1,000,000 tokens a minute" in idle
    assert "wait for it: 0" in idle
    assert "Waiting since" not in idle
    assert re.search(r"Waiting since: \d\d:\d\d:\d\d\sUTC The last is sent: in \d+ s", busy)


def shown(client, bot):
    """Text of a bot's page, terms and their values joined by colons."""
    page = client.get(bot.get_absolute_url()).content.decode().replace("</dt><dd>", ": ")
    return " ".join(re.sub(r"<[^>]*>", " ", page).replace("&nbsp;", " ").split())


def queue(**changes):
    return {
        "bucket": "a", "requests_per_minute": 60, "tokens_per_minute": None, "waiting": 0,
        "waiting_since": None, "last_sent_at": None,
    } | changes  # fmt: skip


def test_queues_of_several_processes_add_up():
    now = time.time()
    first = {"rate_limits": [queue(waiting=2, waiting_since=now - 5, last_sent_at=now + 90)]}
    second = {"rate_limits": [queue(waiting=1, waiting_since=now - 9, last_sent_at=now + 30)]}
    idle = {"rate_limits": [queue(), queue(bucket="b", tokens_per_minute=1)]}

    one, other = merged_queues([first, second, idle, {}])

    assert (one.limits, one.waiting) == (["60\u00a0requests a minute"], 3)
    assert one.since.timestamp() == pytest.approx(now - 9, abs=0.001)
    assert one.seconds_left == pytest.approx(90, abs=PATIENCE)
    assert (other.limits[1], other.waiting, other.since, other.seconds_left) == (
        "1\u00a0token a minute", 0, None, None,
    )  # fmt: skip
