"""The model of this repository: it loads, fits its card, and says something."""

import re
from pathlib import Path

import pytest
import torch

from chatbots.bots.meena import MeenaBaseBot, MeenaConfiguration, held_out
from chatbots.errors import ConfigurationError
from chatbots.meena.acceleration import pack
from chatbots.meena.config import MeenaConfig
from chatbots.meena.model import count_parameters, load_checkpoint
from chatbots.meena.responder import Responder
from chatbots.meena.sampling import MEENA_BASE, MEENA_FULL, sample_all

FOLDER = Path(__file__).resolve().parents[3] / "chatbots" / "meena" / "pretrained"
CARD = (FOLDER / "README.md").read_text()


@pytest.fixture(scope="module")
def shipped():
    return load_checkpoint(FOLDER)


def test_it_is_small_enough_for_the_repository():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 20_000_000


def test_its_card_has_its_size(shipped):
    model, _ = shipped
    assert isinstance(model.config, MeenaConfig)
    assert f"{count_parameters(model.config)['total']:,} parameters" in CARD


def test_it_is_better_than_the_trigram_by_its_card():
    trigram, ours = (
        float(re.search(rf"^\| {name}.*\| \**([\d.]+)\** \|$", CARD, flags=re.M)[1])
        for name in ("trigram", r"\*\*this model")
    )
    assert ours < 0.9 * trigram


def test_sentences_are_likelier_than_their_words_in_disorder(shipped):
    model, tokenizer = shipped
    context = tokenizer.context(["Do you like movies?"], length=model.config.context_length).tokens

    def log_likelihood(text):
        (tokens,) = tokenizer.encode([text])
        inputs, targets = [tokenizer.start, *tokens], [*tokens, tokenizer.end]
        log_probabilities = model(torch.tensor([context]), torch.tensor([inputs])).log_softmax(dim=-1)[0]
        return sum(float(log_probabilities[i, token]) for i, token in enumerate(targets))

    for sentence in ("Yes, I love movies.", "I think it was a great movie.", "Have you seen the new one?"):
        words = sentence.split()
        assert log_likelihood(sentence) > log_likelihood(" ".join(reversed(words))) + len(words)


def test_it_answers_in_words_and_comes_to_an_end(shipped):
    model, tokenizer = shipped
    replies = Responder(model, tokenizer, MEENA_FULL).reply([["Hi!"], ["Do you like music?"]], [1, 2])
    candidates = [candidate for reply in replies for candidate in reply.candidates]
    assert sum(bool(re.search(r"\b[a-z]{2,} [a-z]{2,}", one.text)) for one in candidates) > 20  # of 40
    assert sum(one.tokens < model.config.response_length for one in candidates) > 36


def test_its_samples_are_the_same_alone_and_in_a_batch_as_the_bots_draw_them():
    model, tokenizer = load_checkpoint(FOLDER)
    # In bf16 the kernels of AMX sum in an order that depends on how many rows there are.
    pack(model, torch.float32 if torch.cpu._is_amx_tile_supported() else None)
    turns = ["Do you like movies?", "Yeah. I like sci-fi mostly", "Really? Which is your favorite?", "Hi!"]
    length, spans = model.config.context_length, ((0, 1), (0, 3), (1, 3), (3, 4))
    contexts = [tokenizer.context(turns[i:j], length=length).tokens for i, j in spans]
    together = sample_all(model, contexts, range(4), MEENA_BASE)
    for seed, (context, samples) in enumerate(zip(contexts, together, strict=True)):
        (alone,) = sample_all(model, [context], [seed], MEENA_BASE)
        assert [sample.tokens for sample in alone] == [sample.tokens for sample in samples]


def test_the_bot_reports_the_perplexity_of_the_card():
    told = MeenaBaseBot(MeenaConfiguration.model_validate({})).fingerprint()["perplexity"]

    assert f"| **{told['perplexity']}** |" in CARD
    assert "4,096 tokens" in told["tokenizer"]


@pytest.mark.parametrize(
    "text", ["31.77", "{", '{"perplexity": 31.77, "data": "x"}', '{"perplexity": "low"}']
)
def test_an_incomplete_perplexity_file_is_refused(tmp_path, text):
    (tmp_path / "held_out.json").write_text(text)

    with pytest.raises(ConfigurationError, match="Fix or remove it"):
        held_out(tmp_path, "meena-base")
