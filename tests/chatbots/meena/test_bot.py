import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from chatbots.base import Context, Drawing, seed_of
from chatbots.errors import ConfigurationError
from chatbots.meena.config import MeenaConfig
from chatbots.meena.model import Meena, load_checkpoint, save_checkpoint
from chatbots.meena.responder import beam_search
from chatbots.meena.tokenizer import Tokenizer
from chatbots.registry import REGISTRY, create_bot, describe
from chatbots.training.checkpoint import read_weights

TEXTS = [
    f"{a} {b} {c}"
    for a in ("I like", "we hate", "you eat")
    for b in ("the red", "a big")
    for c in ("cat", "dog")
]
CONTEXTS = [
    Context.from_texts(["Hi!", "I like the red cat"], seed=5),
    Context.from_texts([""], seed=6),
    Context.from_texts(["we hate a big dog"] * 30, seed=7),
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    torch.manual_seed(0)
    tokenizer = Tokenizer.train(TEXTS * 5, vocabulary_size=40)
    config = MeenaConfig(hidden_size=16, heads=2, decoder_blocks=1, vocabulary_size=40, response_length=16)
    folder = tmp_path_factory.mktemp("model") / "checkpoint"
    save_checkpoint(folder, config=config, weights=Meena(config).state_dict(), tokenizer=tokenizer)
    return str(folder)


@pytest.fixture(scope="module", params=["meena-base", "meena-full"])
def bot(request, checkpoint):
    return create_bot(request.param, {"checkpoint": checkpoint, "batch": 2})


def test_the_defaults_are_the_papers():
    settings = {name: describe(name).schema["properties"] for name in ("meena-base", "meena-full")}
    chosen = ("samples", "temperature", "top_k", "avoid_repetition", "safety")
    defaults = {name: tuple(fields[key]["default"] for key in chosen) for name, fields in settings.items()}
    assert defaults == {
        "meena-base": (20, 0.88, None, False, "none"),
        "meena-full": (20, 1.0, 40, True, "profanity-check"),
    }


def test_a_bot_answers_a_batch_as_it_answers_each_alone(bot):
    assert bot.max_batch == 2
    for context, response in zip(CONTEXTS[:2], bot.respond(CONTEXTS[:2]), strict=True):
        (alone,) = bot.respond([context])
        assert [c.text for c in response.candidates] == [c.text for c in alone.candidates]
        assert response.text == alone.text
        assert response.candidates[0].score == pytest.approx(alone.candidates[0].score, abs=1e-4)


@pytest.mark.parametrize("context", CONTEXTS)
def test_a_reply_comes_with_its_candidates_best_first(bot, context):
    (response,) = bot.respond([context])
    assert response.text
    assert response.candidates[0].text == response.text
    scores = [candidate.score for candidate in response.candidates]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) <= 20
    assert 1 <= response.usage.completion <= 16


def test_full_repeats_no_earlier_turn_while_it_has_a_choice(checkpoint):
    full = create_bot("meena-full", {"checkpoint": checkpoint, "samples": 60})
    (first,) = full.respond(CONTEXTS[:1])
    long = next(c.text for c in first.candidates if len(c.text.split()) >= 5)
    (second,) = full.respond([Context.from_texts([long, *(t.text for t in CONTEXTS[0].turns)], seed=5)])
    assert long not in [candidate.text for candidate in second.candidates]


def test_a_beam_gives_the_same_reply_for_every_seed(checkpoint):
    beam = create_bot("meena-beam", {"checkpoint": checkpoint, "samples": 4, "precision": "fp32"})
    model, tokenizer = load_checkpoint(Path(checkpoint))
    turns = [turn.text for turn in CONTEXTS[0].turns]
    found = beam_search(model, tokenizer.context(turns, length=model.config.context_length).tokens, width=4)

    seeded = [Context.from_texts(turns, seed=seed) for seed in (1, 2)]
    first, second = beam.respond(seeded)

    assert first.candidates == second.candidates
    assert [c.text for c in first.candidates] == [t for s in found if (t := tokenizer.decode(s.tokens))]
    assert "temperature" not in describe("meena-beam").schema["properties"]


def test_another_n_and_t_give_the_reply_of_a_bot_with_those_settings(checkpoint):
    settings = {"checkpoint": checkpoint, "batch": 3, "samples": 4, "precision": "fp32"}
    # Of the last, the samples of one context alone are as many as the bot draws at once.
    drawings = [None, Drawing(2, 0.5), Drawing(2, 1.5), Drawing(12, 1.0)]
    asked = [replace(context, drawing=drawing) for drawing in drawings for context in CONTEXTS[:2]]

    together = create_bot("meena-base", settings).respond(asked)

    for context, said in zip(asked, together, strict=True):
        own = context.drawing or Drawing(4, 0.88)
        configured = settings | {"samples": own.samples, "temperature": own.temperature}
        (alone,) = create_bot("meena-base", configured).respond([replace(context, drawing=None)])
        assert said.text == alone.text
        assert [c.text for c in said.candidates] == [c.text for c in alone.candidates]


def test_only_bots_that_draw_get_another_n_and_t(checkpoint):
    def draws(name, settings):
        return REGISTRY.bot_class(name).draws(REGISTRY.configuration(name, settings))

    inside = {"bot": {"adapter": "meena-full", "configuration": {"checkpoint": checkpoint}}}
    assert draws("meena-base", {"checkpoint": checkpoint})
    assert draws("repetition-filter", inside)
    assert not draws("meena-base", {"checkpoint": checkpoint, "decoding": "beam"})
    assert not draws("meena-beam", {"checkpoint": checkpoint})
    assert not draws("eliza", {})


@pytest.mark.parametrize(("samples", "temperature"), [(0, 1.0), (1, 0.0), (1, float("inf"))])
def test_impossible_drawing_is_refused(samples, temperature):
    with pytest.raises(ValueError, match="must be at least 1"):
        Drawing(samples, temperature)


def test_one_seed_serves_a_whole_dialogue():
    seeds = [seed_of(Context.from_texts(["a"] * turns, seed=9)) for turns in (1, 2, 3, 1)]
    assert len(set(seeds)) == 3
    assert seeds[0] == seeds[3]


def test_a_fingerprint_tells_models_apart(bot, checkpoint, tmp_path):
    found = bot.fingerprint()
    assert json.loads(json.dumps(found)) == found
    assert found == create_bot(bot.name, {"checkpoint": checkpoint, "batch": 2}).fingerprint()
    assert set(found["model"]) == {"config.json", "model.safetensors", "tokenizer.model"}


def test_the_memory_needed_is_that_of_the_weights_and_of_decoding(checkpoint):
    bot = REGISTRY.bot_class("meena-base")
    settings = {"checkpoint": checkpoint, "batch": 8, "samples": 20}

    # 160 rows of 16 positions and 16 channels: two attentions' keys and values; inputs of convolutions behind
    # 10 and 6 zeros; keys and values of 8 contexts of 128 positions, twice
    attentions, convolutions = 2 * 2 * 160 * 16 * 16, 160 * (26 * 16 + 22 * 32)
    state = 4 * (attentions + convolutions + 2 * 8 * 128 * 32)
    weights = 4 * sum(weight.numel() for weight in read_weights(Path(checkpoint)).values())
    assert bot.memory_needed(REGISTRY.configuration("meena-base", settings)) == weights + state

    many = REGISTRY.configuration("meena-base", settings | {"batch": 100_000})
    assert bot.memory_needed(many) == weights + state // 8 * 100_000
    half = REGISTRY.configuration("meena-base", settings | {"precision": "bf16"})
    assert bot.memory_needed(half) == (weights + state) // 2


def test_a_folder_without_a_model_says_what_to_do(tmp_path):
    with pytest.raises(ConfigurationError, match=r"no model is there\. Train one"):
        REGISTRY.configuration("meena-base", {"checkpoint": str(tmp_path)})


@pytest.mark.parametrize("adapter", ["meena-base", "meena-beam"])
def test_a_caller_who_leaves_is_forgotten_whatever_their_drawing(checkpoint, adapter):
    bot = create_bot(adapter, {"checkpoint": checkpoint, "samples": 4})
    drawings = [None, Drawing(2, 0.5), Drawing(2, 0.5)] if adapter == "meena-base" else [None]
    answering = bot.answering()
    keys = answering.admit([replace(CONTEXTS[0], drawing=drawing) for drawing in drawings])

    answering.cancel(keys)

    assert answering.step() == {}
    assert answering.room == bot.max_batch


def test_a_caller_who_leaves_while_others_are_answered_changes_nothing_for_them(checkpoint):
    bot = create_bot("meena-base", {"checkpoint": checkpoint, "batch": 2, "samples": 4})
    asked = [replace(context, drawing=Drawing(8, 1.0)) for context in CONTEXTS[:2]]
    (alone,) = bot.respond([asked[1]])
    answering = bot.answering()
    leaving, staying = answering.admit(asked)  # the stream of this drawing has room for one of them

    answering.cancel([leaving])
    done = {}
    while not done:
        done = answering.step()

    assert done == {staying: alone}
