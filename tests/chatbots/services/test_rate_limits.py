"""Rate limits of a service's key: token buckets, and what bots do with them."""

import asyncio
import threading
import time
from contextlib import contextmanager, suppress

import pytest

from chatbots.base import Context
from chatbots.errors import HostingError, ServiceError
from chatbots.hosting.health import State
from chatbots.hosting.resident import Resident
from chatbots.rate_limit_queues import WaitingRequests
from chatbots.registry import create_bot
from chatbots.services import rate_limits
from chatbots.services.client import Client, Request
from chatbots.services.rate_limits import LocalRateLimiter, Quota, RateLimit, bucket_name
from tests.chatbots.local_service import Sent, running
from tests.conftest import PATIENCE

OK = {"model": "m", "choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def limiter(clock, monkeypatch):
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")
    limiter = LocalRateLimiter(clock)
    monkeypatch.setattr(rate_limits, "_limiter", [limiter])
    return limiter


@pytest.mark.parametrize("per_minute", [2, 10, 60, 500])
async def test_no_minute_has_more_requests_than_allowed(limiter, per_minute):
    """Two hundred requests at once: the times at which they may be sent, in any window of a minute."""
    times = [await limiter.take([Quota("k", per_minute, 1)]) for _ in range(200)]

    assert times == sorted(times)
    most = max(sum(start <= time < start + 60 - 1e-6 for time in times) for start in times)
    assert most <= per_minute
    if per_minute >= 10:
        assert most >= min(0.9 * per_minute, 200)  # nothing is wasted


async def test_a_bucket_fills_again(limiter, clock):
    assert [await limiter.take([Quota("k", 60, 1)]) for _ in range(6)] == [0.0] * 6
    assert await limiter.take([Quota("k", 60, 1)]) > 0
    clock.now += 3600
    assert [await limiter.take([Quota("k", 60, 1)]) for _ in range(6)] == [0.0] * 6


async def test_buckets_do_not_know_each_other(limiter):
    for _ in range(50):
        await limiter.take([Quota("a", 10, 1)])

    assert await limiter.take([Quota("b", 10, 1)]) == 0


async def test_what_is_given_back_can_be_taken_again(limiter):
    limit = RateLimit(limiter, "k", requests=10, tokens=1000)
    assert await limit.take(100) == 0
    await limit.give_back(100)
    assert await limit.take(100) == 0
    await limit.settle(900)
    assert await limit.take(1) == pytest.approx((100 + 900 + 1 - 100) / 15)  # until the debt is paid


def test_the_name_of_a_bucket_shows_no_key():
    origin = ("https", "api.example.org", 443)

    assert "sk-9" not in bucket_name(origin, "sk-9")
    assert bucket_name(origin, "sk-9") != bucket_name(origin, "sk-8")


def respond(service, texts, **settings):
    bot = create_bot("openai-chat", {"base_url": service.url, "model": "m", "stream": False, **settings})
    try:
        return bot.respond([Context.from_texts([text]) for text in texts])
    finally:
        bot.close()


def test_requests_wait_for_the_limit_and_all_are_answered(limiter):
    with running(lambda received: Sent(OK)) as service:
        outcomes = respond(service, map(str, range(80)), requests_per_minute=600)

    assert [outcome.text for outcome in outcomes] == ["ok"] * 80


def test_a_request_that_would_wait_too_long_is_not_sent(limiter):
    with running(lambda received: Sent(OK)) as service:
        [outcome] = respond(service, ["a"], requests_per_minute=3, timeout=15)

    assert "was not asked: its rate limit is used up for 30 s" in str(outcome.error)
    assert len(service.received) == 1  # while loading


def test_two_bots_with_one_key_share_their_limit(limiter):
    settings = {"requests_per_minute": 3, "timeout": 15}
    with running(lambda received: Sent(OK)) as service:
        respond(service, [], api_key="sk-9", **settings)
        with pytest.raises(ServiceError, match="its rate limit is used up"):
            respond(service, [], api_key="sk-9", **settings)
        respond(service, [], api_key="sk-8", **settings)


def test_tokens_are_settled_with_the_usage(limiter):
    usage = {"prompt_tokens": 10, "completion_tokens": 90}
    with running(lambda received: Sent({**OK, "usage": usage})) as service:
        respond(service, ["a"], tokens_per_minute=60_000)

    [(level, _)] = limiter._levels.values()
    assert level == pytest.approx(6_000 - 2 * 100)


async def test_a_cancelled_request_gives_its_place_back(limiter):
    limit = RateLimit(limiter, "k", requests=10)
    client = Client(timeout=60, rate_limit=limit)
    await limit.take(0)
    waiting = asyncio.create_task(client.exchange(Request("http://127.0.0.1:9")))
    await asyncio.sleep(0.05)
    [(level, _)] = limiter._levels.values()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    [(after, _)] = limiter._levels.values()
    await client.close()

    assert after == level + 1


@contextmanager
def asked_often(adapter, settings, times):
    """A loaded bot, while it is asked this often at the same time."""
    loaded = []

    def load():
        loaded.append(create_bot(adapter, settings))
        return loaded[0]

    with Resident("bot", load, deadline=300) as resident:
        assert resident.wait_loaded(PATIENCE) is State.READY
        for _ in range(times):
            asking = threading.Thread(target=ask, args=[resident], daemon=True)
            asking.start()
        yield loaded[0]


def ask(resident):
    with suppress(HostingError):  # once it is closed
        resident.respond_now(Context.from_texts(["Hello"]))


def queue_of(bot, waiting):
    """The only queue of a bot, once so many requests wait in it."""
    deadline = time.monotonic() + PATIENCE
    while (queue := bot.rate_limit_queues()[0]).waiting < waiting:
        assert time.monotonic() < deadline, queue
        time.sleep(0.01)
    return queue


def inside(service):
    """Settings of a bot whose service allows few requests."""
    return {"base_url": service.url, "model": "m", "stream": False, "requests_per_minute": 2, "timeout": 300}


def test_a_bot_lists_the_requests_that_wait(limiter):
    before = time.time()
    with (
        running(lambda received: Sent(OK)) as service,
        asked_often("openai-chat", inside(service), 3) as bot,
    ):
        queue = queue_of(bot, 3)

    assert (queue.requests_per_minute, queue.tokens_per_minute) == (2, None)
    assert before <= queue.waiting_since <= time.time()
    # Loading took the only request that may be sent at once; then one comes back in a minute.
    assert queue.last_sent_at == pytest.approx(queue.waiting_since + 3 * 60, abs=PATIENCE)


@pytest.mark.parametrize(
    ("adapter", "settings"),
    [
        ("safety-filter", lambda bot: {"bot": bot}),
        ("vote", lambda bot: {"bots": [bot, {"adapter": "eliza", "configuration": {}}], "seconds": 60}),
    ],
)
def test_bots_around_others_list_their_queues(limiter, adapter, settings):
    with running(lambda received: Sent(OK)) as service:
        bot = {"adapter": "openai-chat", "configuration": inside(service)}
        with asked_often(adapter, settings(bot), 2) as outer:
            assert queue_of(outer, 2).waiting == 2


def test_a_bot_without_a_limit_has_no_queue(limiter):
    with running(lambda received: Sent(OK)) as service:
        bot = create_bot("openai-chat", {"base_url": service.url, "model": "m", "stream": False})
        try:
            assert bot.rate_limit_queues() == ()
        finally:
            bot.close()


async def test_a_request_leaves_the_queue_when_it_is_sent_or_cancelled():
    waiting = WaitingRequests(lambda: 1_000.0)
    assert waiting.times() == (0, None, None)

    with suppress(asyncio.CancelledError), waiting.entry(5), waiting.entry(7):
        assert waiting.times() == (2, 1_000.0, 1_007.0)
        raise asyncio.CancelledError

    assert waiting.times() == (0, None, None)
