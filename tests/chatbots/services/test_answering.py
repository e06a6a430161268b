"""Requests to a service at the same time: nobody waits for a stranger's slow answer."""

import asyncio
import threading

import pytest

from chatbots.base import Context
from chatbots.hosting.resident import Resident
from chatbots.registry import create_bot
from chatbots.services import answering as answering_module
from tests.chatbots.local_service import Sent, running

OK = {"model": "m", "choices": [{"message": {"content": "ok"}}]}


@pytest.fixture(autouse=True)
def _this_machine_is_allowed(monkeypatch):
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")


class HeldService:
    """Answers a text at once, except for those that begin with "slow": these wait for `release`."""

    def __init__(self):
        self.release = threading.Event()
        self.lock = threading.Lock()
        self.at_once = self.most_at_once = 0
        self.slow_ones_here = threading.Semaphore(0)

    def __call__(self, received):
        with self.lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        text = received.json["messages"][-1]["content"]
        if text.startswith("slow"):
            self.slow_ones_here.release()
            self.release.wait(60)
        with self.lock:
            self.at_once -= 1
        return Sent(OK)


def resident_of(service, **settings):
    return Resident(
        "m",
        lambda: create_bot("openai-chat", {"base_url": service.url, "model": "m", **settings}),
        deadline=60,
    )


async def test_a_quick_reply_leaves_while_a_slow_one_is_awaited():
    held = HeldService()
    with running(held) as service, resident_of(service) as resident:
        slow = asyncio.create_task(resident.respond(Context.from_texts(["slow"])))
        assert await asyncio.to_thread(held.slow_ones_here.acquire, timeout=60)
        for _ in range(5):
            assert (await resident.respond(Context.from_texts(["quick"]))).text == "ok"
        assert not slow.done()
        held.release.set()
        assert (await slow).text == "ok"


async def test_a_new_request_does_not_wait_for_the_step(monkeypatch):
    monkeypatch.setattr(answering_module, "STEP_SECONDS", 3600.0)
    held = HeldService()
    with running(held) as service, resident_of(service) as resident:
        slow = asyncio.create_task(resident.respond(Context.from_texts(["slow"])))
        assert await asyncio.to_thread(held.slow_ones_here.acquire, timeout=60)
        await asyncio.sleep(0.1)  # the bot's thread is inside the step
        assert (await resident.respond(Context.from_texts(["quick"]))).text == "ok"
        held.release.set()
        await slow


async def test_a_caller_who_leaves_makes_room_for_another(monkeypatch):
    monkeypatch.setattr(answering_module, "STEP_SECONDS", 3600.0)
    held = HeldService()
    with running(held) as service, resident_of(service, parallel=1) as resident:
        slow = asyncio.create_task(resident.respond(Context.from_texts(["slow"])))
        assert await asyncio.to_thread(held.slow_ones_here.acquire, timeout=60)
        slow.cancel()
        assert (await resident.respond(Context.from_texts(["quick"]))).text == "ok"
        held.release.set()


async def test_the_service_never_gets_more_requests_at_once_than_configured():
    held = HeldService()
    with running(held) as service, resident_of(service, parallel=3) as resident:
        slow = [asyncio.create_task(resident.respond(Context.from_texts([f"slow {n}"]))) for n in range(12)]
        for _ in range(3):
            assert await asyncio.to_thread(held.slow_ones_here.acquire, timeout=60)
        await asyncio.sleep(0.2)
        assert held.most_at_once == 3
        held.release.set()
        await asyncio.gather(*slow)

    assert held.most_at_once == 3


async def test_two_hundred_requests_at_once_are_all_answered():
    held = HeldService()
    with running(held) as service, resident_of(service) as resident:
        contexts = [Context.from_texts([f"quick {n}"]) for n in range(200)]
        responses = await asyncio.gather(*(resident.respond(context) for context in contexts))

    assert [response.text for response in responses] == ["ok"] * 200


async def test_a_late_request_ends_in_time_and_frees_its_place():
    held = HeldService()
    with running(held) as service, resident_of(service, parallel=1) as resident:
        with pytest.raises(Exception, match=r"did not answer within 0\.3 s"):
            await resident.respond(Context.from_texts(["slow"]), deadline=0.3)
        assert (await resident.respond(Context.from_texts(["quick"]))).text == "ok"
        held.release.set()
