"""Decoding against transformers' own, against hand calculation, and against each row alone."""

import math

import pytest
import torch

from chatbots.base import Context, seed_of
from chatbots.huggingface.decoding import Decoder, DecodingSettings, DecodingStream, draw, uniform_numbers
from chatbots.huggingface.running import Running
from chatbots.registry import create_bot
from tests.chatbots.tiny_models import save_blenderbot, save_gpt2, save_llama

MODELS = {
    "dialogpt": save_gpt2,
    "huggingface-causal": save_gpt2,
    "huggingface-chat": save_llama,
    "huggingface-seq2seq": save_blenderbot,
}
TURNS = ["Hi!", "I like the red cat.", "do you eat music?", "no dog", "they saw your old house!"]
CONTEXTS = [Context.from_texts(TURNS[:length], seed=length) for length in (1, 4, 2, 5, 3, 5)]

every_model = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {name: save(tmp_path_factory.mktemp("model") / name) for name, save in MODELS.items()}


def make(folders, name, **settings):
    return create_bot(name, {"model": folders[name], "most_tokens": 24} | settings)


def drawn(bot, contexts):
    prompts = [bot.prompt(context, bot.prompt_room()) for context in contexts]
    stream = DecodingStream(bot._decoder, room=len(contexts))
    stream.admit(range(len(contexts)), prompts, [seed_of(context) for context in contexts])
    return [only(replies) for replies in finished(stream, len(contexts))]


def finished(stream, contexts):
    done = {}
    while len(done) < contexts:
        done |= stream.step()
    return [done[key] for key in range(contexts)]


def only(replies):
    [reply] = replies
    return reply


@every_model
def test_greedy_decoding_is_that_of_transformers_token_for_token(folders, name):
    bot = make(folders, name, greedy=True)
    prompts = [bot.prompt(context, bot.prompt_room()) for context in CONTEXTS]

    for prompt, reply in zip(prompts, drawn(bot, CONTEXTS), strict=True):
        ids = torch.tensor([prompt])
        theirs = bot.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            num_beams=1,
            max_new_tokens=24,
            min_new_tokens=1,
            pad_token_id=0,
            eos_token_id=sorted(bot._tokens_that_end()),
        )[0].tolist()
        skipped = 1 if bot.architecture == "seq2seq" else len(prompt)
        assert list(reply.tokens) == [
            token for token in theirs[skipped:] if token not in bot._tokens_that_end()
        ]


@every_model
@pytest.mark.parametrize("settings", [{"greedy": True}, {"top_k": 10}, {"temperature": 0.7, "top_p": 0.8}])
def test_a_batch_gets_what_each_row_gets_alone_token_for_token(folders, name, settings):
    bot = make(folders, name, **settings)

    together = drawn(bot, CONTEXTS)

    alone = [drawn(bot, [context])[0] for context in CONTEXTS]
    assert [reply.tokens for reply in together] == [reply.tokens for reply in alone]
    for one, other in zip(together, alone, strict=True):
        assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-3)


@every_model
def test_rows_of_different_lengths_are_among_those_compared(folders, name):
    lengths = {reply.length for reply in drawn(make(folders, name), [*CONTEXTS, *CONTEXTS[::-1]])}

    assert len(lengths) > 1  # else the test above shows nothing about rows that leave


def test_the_likelihood_is_that_of_the_model_over_the_whole_reply(folders):
    bot = make(folders, "dialogpt", top_k=5, temperature=0.5, most_tokens=6)
    contexts = [Context.from_texts(TURNS[:1], seed=seed) for seed in range(10)]
    reply = next(reply for reply in drawn(bot, contexts) if len(reply.tokens) == reply.length)  # not ended
    prompt = bot.prompt(contexts[0], bot.prompt_room())

    with torch.no_grad():
        scores = bot.model(torch.tensor([[*prompt, *reply.tokens]])).logits[0].log_softmax(dim=-1)

    expected = sum(float(scores[len(prompt) - 1 + n, token]) for n, token in enumerate(reply.tokens))
    assert reply.log_likelihood == pytest.approx(expected, abs=1e-3)
    assert reply.per_token == pytest.approx(expected / 6, abs=1e-3)


# Scores whose softmax is this.
SHARES = [8 / 16, 4 / 16, 3 / 16, 1 / 16]
SCORES = torch.tensor([SHARES]).log()


@pytest.mark.parametrize(
    ("random", "settings", "token"),
    [
        (0.0, {}, 0),
        (0.499, {}, 0),
        (0.501, {}, 1),
        (0.751, {}, 2),
        (0.936, {}, 2),
        (0.938, {}, 3),
        (0.999, {"top_k": 2}, 1),
        (0.66, {"top_k": 2}, 0),  # 1/2 of the 3/4 that are left is 2/3
        (0.67, {"top_k": 2}, 1),
        (0.999, {"top_p": 0.45}, 0),
        (0.999, {"top_p": 0.55}, 1),
        (0.71, {"temperature": 0.5}, 0),  # squares 64, 16, 9, 1 of 90: 0.711
        (0.712, {"temperature": 0.5}, 1),
        (0.999, {"greedy": True}, 0),
    ],
)
def test_a_token_is_drawn_where_the_sum_of_probabilities_passes_the_random_number(random, settings, token):
    uniforms = torch.tensor([random], dtype=torch.float64)

    tokens, log_probabilities = draw(SCORES, uniforms, SCORES, DecodingSettings(**settings))

    assert tokens.tolist() == [token]
    # Reported is the model's own probability, whatever it was drawn from.
    assert float(log_probabilities) == pytest.approx(math.log(SHARES[token]))


@pytest.mark.parametrize("settings", [{}, {"top_k": 3}, {"top_p": 0.99}])
def test_rounding_that_swaps_two_equally_likely_tokens_does_not_change_the_draw(settings):
    uniforms = torch.tensor([0.2, 0.2], dtype=torch.float64)
    rounded_otherwise = torch.tensor([[1.0, 1.0 + 1e-6, 0.5, -9.0], [1.0 + 1e-6, 1.0, 0.5, -9.0]])

    tokens, _ = draw(rounded_otherwise, uniforms, rounded_otherwise, DecodingSettings(**settings))

    assert tokens.tolist() == [0, 0]


class Stubborn(Running):
    """Wants to end at once, then to say nothing, then token 3."""

    def __init__(self):
        self.scores = torch.tensor([[0.0, 5.0, 4.0, 3.0]])

    def keep(self, rows): ...

    def advance(self, tokens):
        self.scores = torch.tensor([[0.0, 5.0, 0.0, 3.0]])


def test_a_reply_does_not_end_before_something_can_be_seen(folders):
    decoder = Decoder(
        make(folders, "dialogpt").model,
        DecodingSettings(most_tokens=5, greedy=True),
        ends=frozenset({1}),
        visible_tokens=[3],
        padding=0,
    )

    # Token 1 ends, token 2 shows nothing: 2, then 3 (still nothing seen), then the end.
    stream = DecodingStream(decoder, room=1)
    stream.join(Stubborn(), [0], [7])
    assert only(finished(stream, 1)[0]).tokens == (2, 3)


def test_random_numbers_belong_to_the_seed_alone():
    assert (uniform_numbers(5, 2, 8)[:, :4] == uniform_numbers(5, 2, 8)[:, :4]).all()
    assert (uniform_numbers(5, 1, 8) != uniform_numbers(6, 1, 8)).any()
    assert (uniform_numbers(-1, 1, 4) >= 0).all()
