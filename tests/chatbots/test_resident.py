import asyncio
import math
import random
import threading
import time
from collections import Counter
from contextlib import contextmanager

import pytest

from chatbots.base import Bot, BotConfiguration, Context
from chatbots.errors import (
    BotBusyError,
    BotFailedError,
    BotLateError,
    ConfigurationError,
    HostingError,
    Problem,
)
from chatbots.hosting.health import State, Tally
from chatbots.hosting.resident import Resident
from chatbots.huggingface.files import ModelFilesError
from chatbots.replies import Response
from chatbots.training.checkpoint import CheckpointError
from evaluation.texts.lengths import MAX_REPLY_CHARS

PATIENCE = 30  # seconds before a test that hangs gives up


class ActingBot(Bot):
    """Does what the test says and remembers which texts it was given, call by call."""

    def __init__(self, act, max_batch=1, max_wait=0.0):
        super().__init__(BotConfiguration())
        self.act = act
        self.calls = []
        self.closed_on = None
        self._limits = max_batch, max_wait

    @property
    def max_batch(self):
        return self._limits[0]

    @property
    def max_wait(self):
        return self._limits[1]

    def respond(self, contexts):
        self.calls.append([context.turns[-1].text for context in contexts])
        return self.act(contexts)

    def close(self):
        self.closed_on = threading.current_thread()


class Gate:
    """Lets a bot be held in the middle of its work."""

    def __init__(self):
        self.entered = threading.Event()
        self.opened = threading.Event()

    def __call__(self, contexts):
        self.entered.set()
        assert self.opened.wait(PATIENCE)
        return echo(contexts)


def echo(contexts):
    return [Response(f"re {context.turns[-1].text}") for context in contexts]


def one(text):
    return Context.from_texts([text])


@contextmanager
def hosted(bot, **limits):
    with Resident("test", lambda: bot, **limits) as resident:
        resident.wait_loaded(PATIENCE)
        yield resident


@contextmanager
def held(**limits):
    """A resident whose bot is busy with the text "first" until the gate is opened; closes it at the end."""
    gate = Gate()
    batching = {key: limits.pop(key) for key in ("max_batch", "max_wait") if key in limits}
    bot = ActingBot(gate, **batching)
    with hosted(bot, **limits) as resident:
        waiting = threading.Thread(target=lambda: resident.respond_now(one("first")))
        waiting.start()
        assert gate.entered.wait(PATIENCE)
        try:
            yield resident, bot, gate
        finally:
            gate.opened.set()
            waiting.join(PATIENCE)


async def queued(resident, count):
    """Wait until that many requests are in the queue."""
    async with asyncio.timeout(PATIENCE):
        while resident.health().queued != count:
            await asyncio.sleep(0.001)


async def test_an_async_caller_gets_the_answer():
    with hosted(ActingBot(echo)) as resident:
        assert await resident.respond(one("hi")) == Response("re hi")


def test_a_caller_without_event_loop_gets_the_answer():
    with hosted(ActingBot(echo)) as resident:
        assert resident.respond_now(one("hi")) == Response("re hi")


async def test_waiting_requests_are_answered_in_batches_and_each_gets_its_own():
    with held(max_batch=3) as (resident, bot, gate):
        tasks = [asyncio.create_task(resident.respond(one(str(n)))) for n in range(5)]
        await queued(resident, 5)
        gate.opened.set()
        responses = await asyncio.gather(*tasks)

    assert [response.text for response in responses] == [f"re {n}" for n in range(5)]
    assert bot.calls == [["first"], ["0", "1", "2"], ["3", "4"]]
    assert resident.health().mean_batch == pytest.approx(6 / 3)


async def test_a_request_waits_for_others_to_fill_the_batch():
    bot = ActingBot(echo, max_batch=3, max_wait=PATIENCE)
    with hosted(bot) as resident:
        await asyncio.gather(*[resident.respond(one(str(n))) for n in range(3)])

    assert bot.calls == [["0", "1", "2"]]


async def test_a_batch_that_does_not_fill_is_answered_after_max_wait():
    bot = ActingBot(echo, max_batch=3, max_wait=0.01)
    with hosted(bot) as resident:
        assert await resident.respond(one("alone")) == Response("re alone")


async def test_a_caller_that_leaves_while_the_batch_fills_does_not_end_the_service():
    with hosted(ActingBot(echo, max_batch=3, max_wait=0.3)) as resident:
        with pytest.raises(BotLateError):
            await resident.respond(one("gone"), deadline=0.01)
        await asyncio.sleep(0.5)

        assert await resident.respond(one("next")) == Response("re next")


async def test_a_full_queue_is_busy_at_once_and_harms_nobody_who_waits():
    with held(queue_size=2) as (resident, _, gate):
        tasks = [asyncio.create_task(resident.respond(one(str(n)))) for n in range(2)]
        await queued(resident, 2)

        with pytest.raises(BotBusyError, match="2 requests waiting, as many as it takes"):
            await resident.respond(one("third"))

        gate.opened.set()
        assert [(await task).text for task in tasks] == ["re 0", "re 1"]


async def test_a_late_answer_reaches_nobody():
    with held() as (resident, bot, gate):
        late = asyncio.create_task(resident.respond(one("late"), deadline=0.05))
        with pytest.raises(BotLateError, match=r"'test' did not answer within 0\.05 s"):
            await late
        gate.opened.set()

        assert await resident.respond(one("next")) == Response("re next")
    assert bot.calls == [["first"], ["next"]]  # the late one was dropped before it was computed


async def test_an_answer_computed_too_late_is_thrown_away():
    gate, complaints = Gate(), []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
    with hosted(ActingBot(gate)) as resident:
        with pytest.raises(BotLateError):
            await resident.respond(one("slow"), deadline=0.05)
        gate.opened.set()

        assert await resident.respond(one("next")) == Response("re next")
    assert (resident.health().late, resident.health().served) == (1, 1)
    assert complaints == []


def test_a_caller_without_event_loop_is_told_when_it_is_late():
    with held() as (resident, _, _), pytest.raises(BotLateError):
        resident.respond_now(one("late"), deadline=0.01)


async def test_a_request_whose_event_loop_is_gone_is_neither_computed_nor_in_the_way():
    with held() as (resident, bot, gate):
        loop = asyncio.new_event_loop()
        task = loop.create_task(resident.respond(one("orphan"), deadline=0.05))
        await asyncio.to_thread(loop.run_until_complete, asyncio.sleep(0))
        loop.close()
        await asyncio.sleep(0.1)  # past its deadline
        gate.opened.set()

        assert await resident.respond(one("next")) == Response("re next")
        task.get_coro().close()
    assert bot.calls == [["first"], ["next"]]


async def test_a_cancelled_caller_leaves_the_queue():
    with held() as (resident, bot, gate):
        task = asyncio.create_task(resident.respond(one("cancelled")))
        await queued(resident, 1)

        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert resident.health().queued == 0
        gate.opened.set()
        assert await resident.respond(one("next")) == Response("re next")
    assert bot.calls == [["first"], ["next"]]


async def test_caller_whose_timeout_passes_leaves_the_queue_and_nothing_counts_as_failed():
    with held() as (resident, bot, gate):
        with pytest.raises(TimeoutError):
            await resident.respond(one("at once"), timeout=0.01)

        assert (resident.health().queued, resident.answered_in) == (0, math.inf)
        gate.opened.set()
        assert await resident.respond(one("next")) == Response("re next")
    assert bot.calls == [["first"], ["next"]]
    health = resident.health()
    assert (health.served, health.late, health.failed) == (2, 0, 0)


async def test_an_answer_of_which_a_busy_event_loop_hears_late_came_in_time():
    with hosted(ActingBot(echo)) as resident:
        asked = asyncio.create_task(resident.respond(one("hi"), timeout=0.05))
        await asyncio.sleep(0)  # it is asked; from here on the loop has other things to do
        until = time.monotonic() + PATIENCE
        while resident.answered_in == math.inf and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(0.1)  # past the timeout

        assert await asked == Response("re hi")
        assert resident.answered_in < math.inf


async def test_a_bot_that_holds_its_answers_back_does_not_answer_at_once():
    held_back = ActingBot(lambda contexts: [Response("slowly", least_seconds=60.0)])
    with hosted(held_back) as resident:
        with pytest.raises(TimeoutError, match="holds its answer back"):
            await resident.respond(one("hi"), timeout=PATIENCE / 10)
        assert resident.answered_in >= 60.0


async def test_an_error_of_the_bot_fails_its_request_only():
    def act(contexts):
        if contexts[0].turns[-1].text == "bad":
            raise KeyError("no such word")
        return echo(contexts)

    with hosted(ActingBot(act)) as resident:
        with pytest.raises(BotFailedError, match=r"Bot 'test' failed: KeyError: 'no such word'"):
            await resident.respond(one("bad"))

        assert await resident.respond(one("good")) == Response("re good")
    *where, what = resident.health().last_error.split("\n")
    assert what == "failed: KeyError: 'no such word'"
    assert "asked “bad”" in where[0]
    assert __file__ in "".join(where)


async def test_only_the_guilty_context_of_a_batch_fails():
    def act(contexts):
        if any(context.turns[-1].text == "bad" for context in contexts):
            raise ValueError("cannot")
        return echo(contexts)

    with hosted(ActingBot(act, max_batch=3, max_wait=PATIENCE)) as resident:
        outcomes = await asyncio.gather(
            *[resident.respond(one(text)) for text in ("a", "bad", "c")], return_exceptions=True
        )

    assert (outcomes[0], outcomes[2]) == (Response("re a"), Response("re c"))
    assert isinstance(outcomes[1], BotFailedError)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([], "returned 0 responses for 1 contexts"),
        ([Response("a"), Response("b")], "returned 2 responses for 1 contexts"),
        (None, "returned a NoneType instead of a list"),
        ("Hi", "returned a str instead of a list"),
        (["Hi"], "returned a str instead of a Response"),
        ([Response("")], "answered nothing"),
        ([Response(" \x00\u200b\n")], "answered nothing"),
        ([Response("Hi", candidates=("Hi",))], "malformed response: .*AttributeError|TypeError"),
    ],
)
async def test_what_is_no_answer_is_a_failure_that_says_so(returned, message):
    with hosted(ActingBot(lambda contexts: returned)) as resident:
        with pytest.raises(BotFailedError, match=message):
            await resident.respond(one("hi"))

        assert resident.state is State.READY


async def test_a_bot_that_exits_does_not_take_its_thread_along():
    exits = iter([True])

    def act(contexts):
        if next(exits, False):
            raise SystemExit(3)
        return echo(contexts)

    with hosted(ActingBot(act)) as resident:
        with pytest.raises(BotFailedError, match="SystemExit: 3"):
            await resident.respond(one("a"))

        assert await resident.respond(one("b")) == Response("re b")


async def test_an_answer_is_cleaned_and_cut():
    with hosted(ActingBot(lambda contexts: [Response("\x1b" + "x" * 100_000)])) as resident:
        response = await resident.respond(one("hi"))

    assert response.text == "x" * MAX_REPLY_CHARS
    assert response.remarks == (
        "The reply had 100,001 characters; what follows the first 32,000 was cut off.",
    )
    assert resident.health().cut == 1


async def test_requests_wait_while_the_bot_loads():
    gate = threading.Event()

    def load():
        assert gate.wait(PATIENCE)
        return ActingBot(echo)

    with Resident("test", load) as resident:
        task = asyncio.create_task(resident.respond(one("early")))
        await queued(resident, 1)
        assert resident.state is State.LOADING
        with pytest.raises(BotLateError, match="still loading"):
            await resident.respond(one("hasty"), deadline=0.01)

        gate.set()

        assert await task == Response("re early")
        assert resident.state is State.READY  # type: ignore[comparison-overlap]


async def test_a_bot_that_cannot_load_says_why_to_those_who_wait_and_those_who_come():
    gate = threading.Event()

    def load():
        gate.wait(PATIENCE)
        raise OSError("weights.safetensors is missing")

    with Resident("test", load) as resident:
        waiting = asyncio.create_task(resident.respond(one("early")))
        await queued(resident, 1)
        gate.set()

        for request in (waiting, resident.respond(one("later"))):
            with pytest.raises(
                BotFailedError, match=r"could not be loaded: OSError: weights\.safetensors is missing$"
            ):
                await request
        assert resident.state is State.FAILED
        assert "in load\n" in resident.health().last_error


@pytest.mark.parametrize(
    "error",
    [
        ConfigurationError("test", [Problem("model", "'x'", "is not there")]),
        ModelFilesError("x is not there"),
        CheckpointError("x is not there"),
    ],
)
def test_what_we_say_ourselves_of_a_failure_stands_alone_below_where_it_was(error):
    def load():
        raise error

    with Resident("test", load) as resident:
        resident.wait_loaded(10)
        *where, what = resident.health().last_error.split("\n")

    assert what == str(error)
    assert "in load" in "".join(where)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ("a string", "a str, not a Bot"),
        (ActingBot(echo, max_batch=0), "max_batch = 0"),
        (ActingBot(echo, max_wait=-1.0), "max_wait = -1.0"),
    ],
)
def test_what_cannot_be_hosted_fails_to_load(made, message):
    with hosted(made) as resident:
        assert resident.state is State.FAILED
        assert message in resident.health().last_error


def test_a_bot_that_exits_while_it_loads_has_failed():
    with Resident("test", lambda: exit(1)) as resident:
        assert resident.wait_loaded(PATIENCE) is State.FAILED


async def test_a_stuck_bot_refuses_at_once_and_serves_again_when_it_comes_back():
    with held(stuck_after=0.05) as (resident, _, gate):
        async with asyncio.timeout(PATIENCE):
            while resident.state is not State.STUCK:
                await asyncio.sleep(0.01)

        with pytest.raises(BotBusyError, match=r"over 0\.05 s .* restart its host"):
            await resident.respond(one("a"))

        gate.opened.set()
        async with asyncio.timeout(PATIENCE):
            while resident.state is not State.READY:  # type: ignore[comparison-overlap]
                await asyncio.sleep(0.01)
        assert await resident.respond(one("b")) == Response("re b")


async def test_closing_fails_those_who_wait_and_those_who_come():
    with held() as (resident, _, _):
        waiting = asyncio.create_task(resident.respond(one("a")))
        await queued(resident, 1)

        resident.close()

        with pytest.raises(BotFailedError, match="closed while the request waited"):
            await waiting
        with pytest.raises(BotFailedError, match="is closed"):
            await resident.respond(one("b"))
        assert resident.state is State.CLOSED


def test_the_bot_is_closed_on_the_thread_that_used_it():
    bot = ActingBot(lambda contexts: [Response(threading.current_thread().name)])
    with hosted(bot) as resident:
        used_on = resident.respond_now(one("hi")).text

    resident.close(wait=PATIENCE)
    assert bot.closed_on.name == used_on == "bot test"


def test_a_bot_closed_while_it_loads_is_closed_once_loaded():
    gate, bot = threading.Event(), ActingBot(echo)

    def load():
        assert gate.wait(PATIENCE)
        return bot

    resident = Resident("test", load)
    resident.close()
    gate.set()
    resident.close(wait=PATIENCE)

    assert bot.closed_on
    assert resident.state is State.CLOSED


@pytest.mark.parametrize("limit", ["queue_size", "deadline", "stuck_after"])
def test_a_limit_of_nothing_is_refused(limit):
    with pytest.raises(ValueError, match="must be above 0"):
        Resident("test", lambda: ActingBot(echo), **{limit: 0})


async def test_two_bots_think_at_the_same_time():
    both_inside = threading.Barrier(2, timeout=PATIENCE)  # breaks unless both bots are in respond() at once

    def act(contexts):
        both_inside.wait()
        return echo(contexts)

    with hosted(ActingBot(act)) as one_bot, hosted(ActingBot(act)) as other_bot:
        responses = await asyncio.gather(one_bot.respond(one("a")), other_bot.respond(one("b")))

    assert [response.text for response in responses] == ["re a", "re b"]


def test_callers_in_many_loops_and_threads_get_their_own_answers():
    answers = {}

    def in_a_loop(name):
        async def ask():
            return await asyncio.gather(*[resident.respond(one(f"{name} {n}")) for n in range(20)])

        answers[name] = [response.text for response in asyncio.run(ask())]

    def without_a_loop(name):
        answers[name] = [resident.respond_now(one(f"{name} {n}")).text for n in range(20)]

    with hosted(ActingBot(echo, max_batch=4), queue_size=200) as resident:
        targets = [in_a_loop, without_a_loop] * 3
        threads = [threading.Thread(target=target, args=(name,)) for name, target in enumerate(targets)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)

    assert answers == {name: [f"re {name} {n}" for n in range(20)] for name in range(6)}


class StormyBot(Bot):
    """Echoes; fails, hangs or babbles where the text says so. A hang ends when its caller has given up."""

    max_batch = 4

    def __init__(self, caller_gave_up):
        super().__init__(BotConfiguration())
        self.caller_gave_up = caller_gave_up

    def respond(self, contexts):
        return [self.answer(*context.turns[-1].text.split()) for context in contexts]

    def answer(self, number, fate):
        if fate == "hang":
            assert self.caller_gave_up[number].wait(PATIENCE)
        if fate == "fail":
            raise RuntimeError(f"planned {number}")
        return Response(f"{number} " + ("x" * 100_000 if fate == "babble" else ""))


async def test_in_a_storm_of_faults_everyone_gets_an_answer_or_a_named_error_and_nobody_anothers():
    fates = random.Random(5).choices(["echo", "fail", "hang", "babble"], [850, 100, 10, 40], k=1_000)
    gave_up = {str(n): threading.Event() for n in range(1_000)}
    slots = asyncio.Semaphore(56)

    async def ask(number, fate):
        async with slots:
            try:
                return await resident.respond(one(f"{number} {fate}"), deadline=0.3)
            except HostingError as error:
                gave_up[str(number)].set()
                await asyncio.sleep(0.1)  # as a person would, before the next attempt
                return error

    with hosted(StormyBot(gave_up), queue_size=50) as resident:
        outcomes = await asyncio.gather(*[ask(number, fate) for number, fate in enumerate(fates)])
        calm = await resident.respond(one("1000 echo"), deadline=PATIENCE)
        health = resident.health()

    kinds = Counter(type(outcome) for outcome in outcomes)
    assert sum(kinds[kind] for kind in (Response, BotBusyError, BotLateError, BotFailedError)) == 1_000
    assert all(kinds[kind] for kind in (Response, BotLateError, BotFailedError))
    for number, outcome in enumerate(outcomes):
        if isinstance(outcome, Response):
            assert outcome.text.split()[0] == str(number)
            assert len(outcome.text) <= MAX_REPLY_CHARS
            assert fates[number] in ("echo", "babble")
        if isinstance(outcome, BotFailedError):
            assert str(outcome).endswith(f"planned {number}")
    assert calm.text.strip() == "1000"
    assert (health.served - 1, health.busy, health.late, health.failed) == tuple(
        kinds[kind] for kind in (Response, BotBusyError, BotLateError, BotFailedError)
    )


def test_the_median_and_the_95th_percentile_of_twenty_times():
    tally = Tally()
    tally.seconds.extend(range(20, 0, -1))  # 1 … 20: median 10.5; nearest rank ceil(0.95 * 20) = 19th

    health = tally.health("test", State.READY, queued=0, computing=0)

    assert (health.median_seconds, health.p95_seconds) == (10.5, 19)


def test_times_are_absent_before_the_first_answer():
    health = Tally().health("test", State.LOADING, queued=0, computing=0)

    assert (health.median_seconds, health.p95_seconds, health.mean_batch) == (None, None, None)
