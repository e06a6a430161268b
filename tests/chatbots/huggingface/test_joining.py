"""Contexts that join a batch under way get what they get alone, and the batch stays as small as can be."""

import asyncio

import pytest
import torch

from chatbots.base import Context
from chatbots.hosting.resident import Resident
from chatbots.hosting.response_checks import clean_text
from chatbots.registry import create_bot
from chatbots.replies import Failure
from tests.chatbots.tiny_models import (
    save_bart,
    save_blenderbot,
    save_gpt2,
    save_llama,
    save_m2m100,
    save_mistral,
    save_t5,
)

MODELS = {
    "gpt2": ("huggingface-causal", save_gpt2),
    "llama": ("huggingface-chat", save_llama),
    "mistral": ("huggingface-causal", save_mistral),
    "blenderbot": ("huggingface-seq2seq", save_blenderbot),
    "bart": ("huggingface-seq2seq", save_bart),
    "t5": ("huggingface-seq2seq", save_t5),
    "m2m100": ("huggingface-seq2seq", save_m2m100),
}
WITH_ENCODER = ["blenderbot", "bart", "t5"]
JOINABLE = ["gpt2", "llama", "mistral", *WITH_ENCODER]
TURNS = ["Hi!", "I like the red cat.", "do you eat music?", "no dog", "they saw your old house!"]
LENGTHS = (1, 4, 2, 5, 3, 5, 1, 2, 4)
CONTEXTS = [Context.from_texts(TURNS[:length], seed=seed) for seed, length in enumerate(LENGTHS)]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {name: save(tmp_path_factory.mktemp("model") / name) for name, (_, save) in MODELS.items()}


def make(folders, name, **settings):
    return create_bot(MODELS[name][0], {"model": folders[name], "most_tokens": 24} | settings)


def answered(answering, contexts, *, steps_between):
    """The responses to contexts of which one more joins after every so many steps, where there is room."""
    waiting, numbers, done, steps, at_once = list(enumerate(contexts)), {}, {}, 0, [0]
    while len(done) < len(contexts):
        if waiting and steps >= steps_between * (len(contexts) - len(waiting)) and answering.room:
            number, context = waiting.pop(0)
            [key] = answering.admit([context])
            numbers[key] = number
            at_once.append(len(numbers) - len(done))
        done |= {numbers[key]: response for key, response in answering.step().items()}
        steps += 1
    return [done[number] for number in range(len(contexts))], max(at_once)


@pytest.mark.parametrize("name", JOINABLE)
@pytest.mark.parametrize(
    "settings", [{"greedy": True}, {"top_k": 10}, {"temperature": 0.7, "top_p": 0.8}, {"samples": 3}]
)
@pytest.mark.parametrize("steps_between", [1, 3])
def test_whoever_joins_gets_what_they_get_alone(folders, name, settings, steps_between):
    bot = make(folders, name, batch=4, **settings)
    alone = [bot.respond([context])[0] for context in CONTEXTS]

    joined, at_once = answered(bot.answering(), CONTEXTS, steps_between=steps_between)

    assert at_once > 1  # else nobody has joined anybody
    assert [(response.text, response.usage.completion) for response in joined] == [
        (response.text, response.usage.completion) for response in alone
    ]
    for one, other in zip(joined, alone, strict=True):
        assert [each.text for each in one.candidates] == [each.text for each in other.candidates]


@pytest.mark.parametrize("name", ["gpt2", "mistral"])
def test_a_batch_is_no_longer_than_the_longest_that_is_in_it(folders, name):
    bot = make(folders, name, batch=2)
    long, short = Context.from_texts(["dog house " * 30], seed=0), Context.from_texts(["Hi!"], seed=1)
    answering = bot.answering()
    keys = set(answering.admit([long, short]))
    while len(keys) == 2:
        keys -= set(answering.step())
    places = []
    for seed in range(40):  # as one leaves the next joins: the batch is never empty
        if answering.room and len(keys) < 2:
            keys |= set(answering.admit([Context.from_texts(["no dog"], seed=seed)]))
        while len(keys) == 2:
            keys -= set(answering.step())
            if running := answering._stream._running:
                places.append(running._cache.layers[0].keys.shape[-2])

    # "no dog" and the end token are at most 7 tokens, of bytes; a reply has at most 24.
    most = 7 + 24 if name == "gpt2" else 7  # a window of 8 keeps the last 7
    assert max(places[-30:]) <= most


@pytest.mark.parametrize("name", WITH_ENCODER)
def test_with_an_encoder_whoever_joins_gets_what_transformers_says_alone(folders, name):
    bot = make(folders, name, greedy=True, batch=4)
    ends = bot._tokens_that_end()

    joined, at_once = answered(bot.answering(), CONTEXTS, steps_between=2)

    assert at_once > 1
    for context, response in zip(CONTEXTS, joined, strict=True):
        prompt = torch.tensor([bot.prompt(context, bot.prompt_room())])
        theirs = bot.model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            do_sample=False,
            num_beams=1,
            max_new_tokens=24,
            min_new_tokens=1,
            eos_token_id=sorted(ends),
        )[0].tolist()[1:]
        said = [token for token in theirs if token not in ends]
        assert response.text == bot.tokenizer.decode(said, skip_special_tokens=True).strip()
        assert response.usage.completion == len(theirs)


@pytest.mark.parametrize("name", WITH_ENCODER)
def test_with_an_encoder_a_batch_is_no_longer_than_the_longest_that_is_in_it(folders, name):
    bot = make(folders, name, batch=2)
    long, short = Context.from_texts(["dog house " * 30], seed=0), Context.from_texts(["Hi!"], seed=1)
    answering = bot.answering()
    keys = set(answering.admit([long, short]))
    said, heard = [], []
    for seed in range(60):  # as one leaves the next joins: the batch is never empty
        while len(keys) == 2:
            keys -= set(answering.step())
            if running := answering._stream._running:
                said.append(running._decoder_layers[0].keys.shape[-2])
                heard.append(running._encoder_layers[0].keys.shape[-2])
        keys |= set(answering.admit([Context.from_texts(["no dog"], seed=seed)]))

    # A reply has at most 24 tokens; "no dog" and the end token are at most 7, of bytes.
    assert max(said) <= 24
    assert max(heard[-30:]) <= 7 < max(heard)


@pytest.mark.parametrize("name", list(MODELS))
def test_whoever_leaves_is_decoded_no_further_and_the_others_get_what_they_get_alone(folders, name):
    bot = make(folders, name, batch=4, samples=2, top_k=10)
    alone = [bot.respond([context])[0] for context in CONTEXTS[:4]]
    answering = bot.answering()
    keys = answering.admit(CONTEXTS[:4])
    done = answering.step() | answering.step()

    left = [key for key in (keys[0], keys[2]) if key not in done]
    answering.cancel(left)
    rows = len(answering._stream._rows)
    while len(done) < 4 - len(left):
        done |= answering.step()

    assert left
    assert rows <= 2 * (4 - len(left))
    assert not done.keys() & set(left)
    assert [done[key].text for key in keys if key not in left] == [
        alone[number].text for number, key in enumerate(keys) if key not in left
    ]


def test_a_batch_that_everybody_leaves_is_empty(folders):
    answering = make(folders, "gpt2", batch=2).answering()
    answering.cancel(list(answering.admit(CONTEXTS[:2])))

    assert answering.room == 2
    assert answering.step() == {}


def test_room_is_what_the_batch_of_the_settings_leaves(folders):
    answering = make(folders, "gpt2", batch=3, samples=2).answering()

    assert answering.room == 3
    answering.admit(CONTEXTS[:2])
    assert answering.room == 1


def test_a_batch_whose_positions_cannot_differ_takes_nobody_in_until_it_is_done(folders):
    bot = make(folders, "m2m100", batch=3)
    answering = bot.answering()
    keys = set(answering.admit(CONTEXTS[:2]))

    while keys:
        assert answering.room == 0
        keys -= set(answering.step())

    assert answering.room == 3
    assert [response.text for response in bot.respond(CONTEXTS)] == [
        bot.respond([context])[0].text for context in CONTEXTS
    ]


def test_a_context_that_cannot_be_written_for_the_model_fails_alone(folders, monkeypatch):
    bot = make(folders, "gpt2", greedy=True)
    expected = bot.respond(CONTEXTS[:3])
    write = bot.prompt

    def prompt(context, room):
        if context is CONTEXTS[1]:
            raise ValueError("the template refuses it")
        return write(context, room)

    monkeypatch.setattr(bot, "prompt", prompt)
    first, second, third = bot.respond(CONTEXTS[:3])

    assert (first, third) == (expected[0], expected[2])
    assert isinstance(second, Failure)
    assert "the template refuses it" in str(second.error)
    assert isinstance(bot.respond([CONTEXTS[1]])[0], Failure)


async def test_hosted_every_caller_gets_what_they_get_alone(folders):
    bot = make(folders, "gpt2", batch=4, top_k=10)
    alone = [bot.respond([context])[0] for context in CONTEXTS]

    async def ask(resident, number):
        await asyncio.sleep(0.004 * (number % 5))
        return await resident.respond(CONTEXTS[number])

    with Resident("joined", lambda: bot) as resident:
        hosted = await asyncio.gather(*[ask(resident, number) for number in range(len(CONTEXTS))])

    assert [response.text for response in hosted] == [clean_text(response.text) for response in alone]
