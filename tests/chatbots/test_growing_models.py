"""Texts so far of the models that decode step by step, and of the wrappers around a bot."""

import pytest
import torch

from chatbots.base import Context
from chatbots.meena.config import MeenaConfig
from chatbots.meena.model import Meena, save_checkpoint
from chatbots.meena.tokenizer import Tokenizer
from chatbots.registry import create_bot
from tests.chatbots.tiny_models import save_bart, save_gpt2, save_t5

CONTEXTS = [Context.from_texts(["Hi!"], seed=1), Context.from_texts(["no dog"], seed=2)]


def grown(answering, contexts=CONTEXTS):
    """For each context, its texts so far and its final reply."""
    keys = answering.admit(contexts)
    texts, done = {key: [] for key in keys}, {}
    while len(done) < len(keys):
        done |= answering.step()
        for key, text in answering.partial_texts().items():
            texts[key].append(text)
    return [(texts[key], done[key].text) for key in keys]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    models = {"huggingface-causal": save_gpt2, "huggingface-seq2seq": save_bart, "t5": save_t5}
    return {name: save(tmp_path_factory.mktemp("model") / name) for name, save in models.items()}


@pytest.mark.parametrize("adapter", ["huggingface-causal", "huggingface-seq2seq"])
@pytest.mark.parametrize("settings", [{"greedy": True}, {"top_k": 10}])
def test_a_model_that_draws_one_reply_shows_it_token_by_token(folders, adapter, settings):
    bot = create_bot(adapter, {"model": folders[adapter], "most_tokens": 12} | settings)

    for texts, final in grown(bot.answering()):
        assert len(texts) > 1
        assert all(final.startswith(text) for text in texts)


def test_a_tokenizer_that_removes_spaces_shows_only_what_stays(folders):
    bot = create_bot("huggingface-causal", {"model": folders["huggingface-causal"], "most_tokens": 12})
    bot.tokenizer.clean_up_tokenization_spaces = True

    for texts, final in grown(bot.answering()):
        assert all(final.startswith(text) for text in texts)


def test_a_model_that_ranks_several_replies_holds_them_back(folders):
    bot = create_bot("huggingface-seq2seq", {"model": folders["huggingface-seq2seq"], "samples": 3})

    assert [texts for texts, _ in grown(bot.answering())] == [[], []]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    torch.manual_seed(0)
    tokenizer = Tokenizer.train(["I like the red cat", "we hate a big dog"] * 5, vocabulary_size=40)
    config = MeenaConfig(hidden_size=16, heads=2, decoder_blocks=1, vocabulary_size=40, response_length=16)
    folder = tmp_path_factory.mktemp("model") / "checkpoint"
    save_checkpoint(folder, config=config, weights=Meena(config).state_dict(), tokenizer=tokenizer)
    return str(folder)


def test_meena_with_one_sample_shows_it_token_by_token(checkpoint):
    bot = create_bot("meena-base", {"checkpoint": checkpoint, "samples": 1})

    for texts, final in grown(bot.answering()):
        assert len(texts) > 1
        assert all(final.startswith(text) for text in texts)


@pytest.mark.parametrize(
    ("adapter", "settings"),
    [
        ("meena-base", {"samples": 3}),
        ("meena-base", {"samples": 1, "avoid_repetition": True}),
        ("meena-full", {"samples": 1}),
        ("meena-beam", {"samples": 2}),
    ],
)
def test_meena_holds_back_what_may_still_be_left_out(checkpoint, adapter, settings):
    bot = create_bot(adapter, {"checkpoint": checkpoint} | settings)

    assert [texts for texts, _ in grown(bot.answering(), CONTEXTS[:1])] == [[]]


INNER = {"adapter": "scripted", "configuration": {"replies": ["I like it."], "characters_per_second": 300}}


@pytest.mark.parametrize("adapter", ["latency-floor", "repetition-filter", "safety-filter"])
def test_wrappers_that_may_replace_or_delay_a_reply_hold_it_back(adapter):
    bot = create_bot(adapter, {"bot": INNER})

    assert grown(bot.answering(), CONTEXTS[:1]) == [([], "I like it.")]


@pytest.mark.parametrize(
    ("turn", "settings", "is_shown"),
    [
        ("I had a good day.", {}, True),
        ("You sound like a machine.", {"check_replies": False}, True),
    ],
)
def test_the_identity_guard_passes_on_what_it_cannot_replace(turn, settings, is_shown):
    bot = create_bot("identity-guard", {"bot": INNER} | settings)

    [(texts, final)] = grown(bot.answering(), [Context.from_texts([turn])])

    assert bool(texts) is is_shown
    assert all(final.startswith(text) for text in texts)


def test_the_identity_guard_holds_back_a_reply_to_a_turn_that_may_ask(monkeypatch):
    from chatbots.identity.labels import Intent

    bot = create_bot("identity-guard", {"bot": INNER})
    monkeypatch.setattr(bot._judge, "intents", lambda texts: [(Intent.MAY_ASK, 0.5)] * len(texts))

    [(texts, _)] = grown(bot.answering(), CONTEXTS[:1])

    assert texts == []
