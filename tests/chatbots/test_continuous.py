"""Newcomers join a bot that is still answering others."""

import asyncio
import threading
import time
from collections.abc import Collection, Sequence
from contextlib import suppress

import pytest

from chatbots.base import Answering, BotConfiguration, Context
from chatbots.continuous import ContinuousBot
from chatbots.errors import BotFailedError, BotLateError
from chatbots.hosting.health import State
from chatbots.hosting.resident import Resident
from chatbots.replies import Failure, Response


class Counting(Answering):
    """A context whose text is a number is done after so many steps; other texts are errors."""

    def __init__(self, bot: "CountingBot") -> None:
        self.bot = bot
        self.left: dict[int, int] = {}

    @property
    def room(self) -> int:
        return 3 - len(self.left)

    def admit(self, contexts: Sequence[Context]) -> Sequence[int]:
        keys = range(self.bot.admitted, self.bot.admitted + len(contexts))
        self.bot.admitted += len(contexts)
        assert len(contexts) <= self.room
        for key, context in zip(keys, contexts, strict=True):
            self.left[key] = int(context.turns[-1].text)
        return keys

    def step(self) -> dict[int, Response | Failure]:
        time.sleep(self.bot.seconds)
        self.bot.at_once.append(len(self.left))
        self.left = {key: steps - 1 for key, steps in self.left.items()}
        done = [key for key, steps in self.left.items() if steps <= 0]
        for key in done:
            del self.left[key]
        return {key: Response(f"number {key}") for key in done}

    def cancel(self, keys: Collection[int]) -> None:
        if self.bot.can_cancel:
            for key in keys:
                del self.left[key]


class CountingBot(ContinuousBot):
    def __init__(self, seconds: float = 0.0, *, can_cancel: bool = True) -> None:
        super().__init__(BotConfiguration())
        self.can_cancel = can_cancel
        self.seconds = seconds
        self.admitted = 0
        self.at_once: list[int] = []

    def answering(self) -> Counting:
        return Counting(self)


def steps(number: object) -> Context:
    return Context.from_texts([str(number)])


def test_asked_as_a_whole_it_answers_each_in_order() -> None:
    bot = CountingBot()

    responses = bot.respond([steps(5), steps(1), steps(1), steps(2), steps(1)])

    # Numbers are given in the order of joining: three at first, the others as soon as there is room.
    assert [response.text for response in responses if isinstance(response, Response)] == [
        "number 0", "number 1", "number 2", "number 3", "number 4",
    ]  # fmt: skip
    assert bot.at_once == [3, 3, 2, 1, 1]


async def test_a_short_request_overtakes_a_long_one_that_came_first() -> None:
    bot = CountingBot(seconds=0.005)
    ends: list[str] = []

    async def ask(resident: Resident, name: str, number: int) -> None:
        await resident.respond(steps(number))
        ends.append(name)

    with Resident("counting", lambda: bot) as resident:
        long = asyncio.create_task(ask(resident, "long", 100))
        while not bot.at_once:
            await asyncio.sleep(0.001)
        await ask(resident, "short", 2)
        assert not long.done()
        await long

    assert ends == ["short", "long"]
    assert bot.at_once.count(2) == 2  # the two steps that they took together


async def test_everyone_gets_their_own_answer_whenever_they_join() -> None:
    bot = CountingBot(seconds=0.0005)

    async def ask(resident: Resident, number: int) -> str:
        await asyncio.sleep(0.003 * (number % 7))
        return (await resident.respond(steps(1 + number % 5))).text

    with Resident("counting", lambda: bot) as resident:
        said = await asyncio.gather(*[ask(resident, number) for number in range(60)])

    assert len(set(said)) == 60
    assert max(bot.at_once) == 3


async def test_an_error_costs_only_the_guilty_their_answer() -> None:
    bot = CountingBot(seconds=0.005)
    with Resident("counting", lambda: bot) as resident:
        good = asyncio.create_task(resident.respond(steps(40)))
        while not bot.at_once:
            await asyncio.sleep(0.001)
        with pytest.raises(BotFailedError, match="invalid literal"):
            await resident.respond(steps("seven"))

        assert (await good).text.startswith("number")
        assert (await resident.respond(steps(1))).text.startswith("number")


async def test_a_caller_who_has_given_up_takes_no_place() -> None:
    bot = CountingBot(seconds=0.01)
    with Resident("counting", lambda: bot) as resident:
        long = [asyncio.create_task(resident.respond(steps(30))) for _ in range(3)]
        while bot.admitted < 3:
            await asyncio.sleep(0.001)
        with pytest.raises(BotLateError):
            await resident.respond(steps(1), deadline=0.02)
        await asyncio.gather(*long)
        await resident.respond(steps(1))

    assert bot.admitted == 4


FOREVER = 1_000_000


async def test_nothing_is_computed_for_a_caller_who_has_left() -> None:
    bot = CountingBot(seconds=0.001)
    with Resident("counting", lambda: bot) as resident:
        leaving = [asyncio.create_task(resident.respond(steps(FOREVER), deadline=600.0)) for _ in range(3)]
        while bot.admitted < 3:
            await asyncio.sleep(0.001)
        leaving[0].cancel()
        leaving[1].cancel()

        assert (await resident.respond(steps(2), deadline=600.0)).text == "number 3"
        assert bot.at_once[-1] == 2  # the one that stays and the one that joined
        leaving[2].cancel()
        await asyncio.wait(leaving)  # otherwise closing waits for it


async def test_nothing_is_computed_for_a_caller_whose_deadline_is_over() -> None:
    bot = CountingBot(seconds=0.001)
    with Resident("counting", lambda: bot) as resident:
        late = [resident.respond(steps(FOREVER), deadline=0.05) for _ in range(3)]
        assert {type(each) for each in await asyncio.gather(*late, return_exceptions=True)} == {BotLateError}

        assert (await resident.respond(steps(2), deadline=600.0)).text.startswith("number")
        assert bot.at_once[-1] == 1


async def test_five_late_replies_in_a_row_open_the_circuit_breaker() -> None:
    bot = CountingBot(seconds=0.001)
    with Resident("counting", lambda: bot) as resident:
        while resident.state is not State.FAILING:
            with suppress(BotLateError):
                await resident.respond(steps(FOREVER), deadline=0.02)


async def test_what_a_bot_that_cannot_stop_says_to_a_caller_who_has_left_is_dropped() -> None:
    bot = CountingBot(seconds=0.001, can_cancel=False)
    with Resident("counting", lambda: bot) as resident:
        leaving = asyncio.create_task(resident.respond(steps(50), deadline=600.0))
        while not bot.at_once:
            await asyncio.sleep(0.001)
        leaving.cancel()

        assert (await resident.respond(steps(200), deadline=600.0)).text == "number 1"


def test_closing_waits_for_what_has_begun_and_for_nothing_else() -> None:
    bot = CountingBot(seconds=0.001)
    resident = Resident("counting", lambda: bot)
    said: list[str] = []
    asker = threading.Thread(target=lambda: said.append(resident.respond_now(steps(50)).text))
    asker.start()
    while not bot.at_once:
        time.sleep(0.001)

    resident.close(wait=10)
    asker.join(120)

    assert said == ["number 0"]


async def test_a_bot_that_cannot_begin_again_says_why_and_refuses() -> None:
    class WornOutBot(CountingBot):
        def answering(self) -> Counting:
            if self.admitted:
                raise MemoryError("no room for another cache")
            return super().answering()

    with Resident("worn", WornOutBot) as resident:
        with pytest.raises(BotFailedError):
            await resident.respond(steps("seven"))  # ends what is being answered
        with pytest.raises(BotFailedError, match="cannot go on: MemoryError: no room for another cache"):
            await resident.respond(steps(1))

        assert resident.state is State.FAILED
