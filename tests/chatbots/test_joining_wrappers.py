"""Newcomers join through wrappers: each dialogue's reply is filtered by itself, when it is done."""

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from chatbots.base import Answering, Bot, BotConfiguration, Context
from chatbots.bots.identity_guard import IdentityGuardBot
from chatbots.bots.wrappers import LatencyFloorBot, RepetitionFilterBot
from chatbots.continuous import ContinuousBot
from chatbots.hosting.resident import Resident
from chatbots.registry import REGISTRY, create_bot
from chatbots.replies import Candidate, Failure, Response
from chatbots.wrapping import WrapperBot

SAID = "I would love to go to Paris too"
OTHER = "So do you want to go there soon?"


class Ticking(Answering):
    """A context whose newest turn ends in a number is done after so many steps."""

    def __init__(self, bot: "TickingBot") -> None:
        self.bot = bot
        self.left: dict[int, int] = {}

    @property
    def room(self) -> int:
        return 3 - len(self.left)

    def admit(self, contexts: Sequence[Context]) -> Sequence[int]:
        # Keys of its own, none of which is a small number: no wrapper may take them for its own.
        keys = [1000 + 7 * (self.bot.admitted + n) for n in range(len(contexts))]
        self.bot.admitted += len(contexts)
        self.left |= {
            key: int(context.turns[-1].text.split()[-1]) for key, context in zip(keys, contexts, strict=True)
        }
        return keys

    def step(self) -> dict[int, Response | Failure]:
        assert self.left, "asked for a step with nothing to answer"
        self.bot.at_once.append(len(self.left))
        self.left = {key: steps - 1 for key, steps in self.left.items()}
        done = [key for key, steps in self.left.items() if steps <= 0]
        for key in done:
            del self.left[key]
        return {key: Response(SAID, (Candidate(SAID, 0.0), Candidate(OTHER, -1.0))) for key in done}

    def cancel(self, keys: Collection[int]) -> None:
        for key in keys:
            del self.left[key]


class TickingBot(ContinuousBot):
    def __init__(self, configuration: BotConfiguration) -> None:
        super().__init__(configuration)
        self.admitted = 0
        self.at_once: list[int] = []

    def answering(self) -> Ticking:
        return Ticking(self)


class WholeBot(Bot):
    def respond(self, contexts: Sequence[Context]) -> list[Response]:
        return [Response(SAID) for _ in contexts]


@pytest.fixture(autouse=True)
def _inner_bots_are_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    REGISTRY.registered_names()  # those that are found come first
    monkeypatch.setitem(REGISTRY._classes, "ticking", TickingBot)
    monkeypatch.setitem(REGISTRY._classes, "whole", WholeBot)


@pytest.fixture
def classifier(tmp_path, monkeypatch):
    monkeypatch.setenv("TURNWISE_BOT_PATH", str(tmp_path))
    (tmp_path / "joins.py").write_text(
        "class Asks:\n"
        "    def asks(self, texts):\n"
        "        if any('poison' in text for text in texts):\n"
        "            raise ValueError('cannot read that')\n"
        "        return ['robot' in text for text in texts]\n"
        "class Rude:\n"
        "    def unsafe(self, texts):\n"
        "        raise ValueError('out of words')\n"
    )
    return "joins:Asks"


def around(inner: str = "ticking", name: str = "repetition-filter", **settings: object) -> WrapperBot:
    bot = create_bot(name, {"bot": {"adapter": inner}, **settings})
    assert isinstance(bot, WrapperBot)
    return bot


def answers_of(bot: Bot, arrivals: Sequence[tuple[int, Context]]) -> list[tuple[int, Response | Failure]]:
    """(step, outcome) of each context, of which each arrives before a given step."""
    answering = bot.answering()
    assert answering is not None
    waiting, number_of = dict(enumerate(arrivals)), dict[int, int]()
    ends: dict[int, tuple[int, Response | Failure]] = {}
    for step in range(100):
        for number in [number for number, (at, _) in waiting.items() if at <= step and answering.room]:
            [key] = answering.admit([waiting.pop(number)[1]])
            number_of[key] = number
        if number_of.keys() - ends.keys():
            ends |= {key: (step, outcome) for key, outcome in answering.step().items()}
        if len(ends) == len(arrivals):
            break
    return [end for _, end in sorted((number_of[key], end) for key, end in ends.items())]


def talk(*texts: str) -> Context:
    return Context.from_texts(texts)


def test_a_reply_is_filtered_by_its_own_dialogue_as_soon_as_it_is_done():
    bot = around()

    ends = answers_of(
        bot,
        [
            (0, talk("hello 9")),
            (2, talk("I would love to go to Japan too 2")),  # which the bot's first candidate repeats
            (3, talk("where to 1")),
        ],
    )

    # The ones that came later are done at steps 3 (of 2 and 3) and 3, the first at step 8 (of 0 to 8).
    assert [step for step, _ in ends] == [8, 3, 3]
    assert [outcome.text for _, outcome in ends] == [SAID, OTHER, SAID]
    assert [len(outcome.remarks) for _, outcome in ends] == [0, 1, 0]
    assert bot.inner.at_once == [1, 1, 2, 3, 1, 1, 1, 1, 1]


def test_wrappers_in_wrappers_let_newcomers_through_to_the_innermost():
    inside = {"adapter": "repetition-filter", "configuration": {"bot": {"adapter": "ticking"}}}
    bot = create_bot("latency-floor", {"bot": inside, "seconds": 2.0, "seconds_per_character": 0.0})

    ends = answers_of(bot, [(0, talk("hello 5")), (1, talk("I would love to go to Japan too 1"))])

    assert [step for step, _ in ends] == [4, 1]
    assert [outcome.text for _, outcome in ends] == [SAID, OTHER]
    assert [outcome.least_seconds for _, outcome in ends] == [2.0, 2.0]
    assert bot.inner.inner.at_once[1] == 2


def test_what_the_wrapper_says_itself_takes_no_place_in_the_bot_inside(classifier):
    bot = around(name="identity-guard", classifier=classifier, confirmation="I am a program.")

    ends = answers_of(bot, [(0, talk("are you a robot")), (0, talk("hello 2")), (1, talk("robot?"))])

    assert [(step, outcome.text) for step, outcome in ends] == [
        (0, bot.configuration.answer()),
        (1, SAID),
        (1, bot.configuration.answer()),
    ]
    assert bot.inner.admitted == 1


def test_a_turn_that_the_classifier_cannot_read_fails_alone(classifier):
    bot = around(name="identity-guard", classifier=classifier)
    answering = bot.answering()

    answering.admit([talk("poison 1"), talk("hello 1"), talk("robot")])
    ends = answering.step()

    assert isinstance(ends[0], Failure)
    assert "cannot read that" in str(ends[0].error)
    assert ends[1].text == SAID
    assert ends[2].text == bot.configuration.answer()
    assert [type(each) for each in bot.respond([talk("poison 1"), talk("hello 1")])] == [Failure, Response]


def test_the_bot_inside_stops_answering_a_caller_who_has_left(classifier):
    inside = {"adapter": "repetition-filter", "configuration": {"bot": {"adapter": "ticking"}}}
    bot = create_bot("identity-guard", {"bot": inside, "classifier": classifier})
    answering = bot.answering()
    own, leaving, staying = answering.admit([talk("robot"), talk("hello 9"), talk("hello 2")])

    answering.cancel([own, leaving])

    assert answering.step() == {}
    assert list(answering.step()) == [staying]
    assert bot.inner.inner.at_once == [1, 1]


def test_a_reply_that_cannot_be_judged_fails_alone_and_the_others_go_on(classifier):
    bot = around(name="safety-filter", classifier="joins:Rude")

    ends = answers_of(bot, [(0, talk("hello 3")), (1, talk("hello 1"))])

    assert [(step, str(outcome.error)) for step, outcome in ends] == [
        (2, "out of words"),
        (1, "out of words"),
    ]
    assert bot.inner.at_once == [1, 2, 1]  # nobody was asked again


@pytest.mark.parametrize("wrapper", [IdentityGuardBot, LatencyFloorBot, RepetitionFilterBot])
def test_around_a_bot_that_takes_whole_batches_a_wrapper_takes_whole_batches(wrapper, classifier):
    settings = {"classifier": classifier} if wrapper is IdentityGuardBot else {}
    bot = around("whole", wrapper.name, **settings)

    assert bot.answering() is None


def test_a_wrapper_with_a_respond_of_its_own_is_never_passed_by(monkeypatch):
    class ShoutingBot(WrapperBot):
        def respond(self, contexts):
            return [Response(each.text.upper()) for each in super().respond(contexts)]

    monkeypatch.setitem(REGISTRY._classes, "shouting", ShoutingBot)
    inside = {"adapter": "shouting", "configuration": {"bot": {"adapter": "ticking"}}}
    bot = create_bot("repetition-filter", {"bot": inside})

    assert bot.answering() is None
    with Resident("loud", lambda: bot) as resident:
        assert resident.respond_now(talk("hello 1")).text == SAID.upper()


@pytest.mark.parametrize("kind", ["causal", "seq2seq", "meena"])
def test_around_a_model_whoever_joins_gets_what_they_get_alone(kind, tmp_path):
    turns = ["Hi!", "I like the red cat.", "do you eat music?", "no dog", "they saw your old house!"]
    contexts = [Context.from_texts(turns[:length], seed=length) for length in (4, 1, 5, 2, 3)]
    bot = create_bot("repetition-filter", {"bot": model(kind, tmp_path)})
    alone = [bot.respond([context])[0] for context in contexts]

    ends = answers_of(bot, [(2 * number, context) for number, context in enumerate(contexts)])

    assert [outcome.text for _, outcome in ends] == [response.text for response in alone]
    assert [outcome.remarks for _, outcome in ends] == [response.remarks for response in alone]
    took = [step - 2 * number for number, (step, _) in enumerate(ends)]
    assert any(end > 2 for end in took)  # else nobody has joined anybody
    bot.close()


def model(kind: str, folder: Path) -> dict[str, object]:
    """A tiny model, or the small one that ships, as the bot inside."""
    if kind == "meena":
        return {"adapter": "meena-base", "configuration": {"samples": 2}}
    models = pytest.importorskip("tests.chatbots.tiny_models")
    save = models.save_gpt2 if kind == "causal" else models.save_blenderbot
    settings = {"model": save(folder), "top_k": 10, "samples": 2, "most_tokens": 16, "batch": 3}
    return {"adapter": f"huggingface-{kind}", "configuration": settings}


async def test_hosted_a_short_reply_overtakes_a_long_one_through_a_wrapper():
    bot = around()
    with Resident("filtered", lambda: bot) as resident:
        long = asyncio.create_task(resident.respond(talk("hello 200000")))
        while not bot.inner.at_once:
            await asyncio.sleep(0.001)

        short = await resident.respond(talk("I would love to go to Japan too 2"))

        assert short.text == OTHER
        assert not long.done()
        long.cancel()


async def test_hosted_a_reply_that_is_held_back_keeps_its_place_in_no_batch():
    bot = around(name="latency-floor", seconds=30.0, most_seconds=60.0)
    with Resident("held", lambda: bot, deadline=60) as resident:
        held = [asyncio.create_task(resident.respond(talk("hello 1"))) for _ in range(3)]
        while resident.health().served < 3:
            await asyncio.sleep(0.001)

        # All three places are free again while their callers wait.
        last = asyncio.create_task(resident.respond(talk("hello 1")))
        while resident.health().served < 4:
            await asyncio.sleep(0.001)

        assert not any(task.done() for task in [*held, last])
        for task in [*held, last]:
            task.cancel()
