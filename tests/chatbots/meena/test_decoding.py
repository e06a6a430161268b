"""Sample-and-rank and beam search, on a tiny model with a vocabulary small enough to enumerate."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from chatbots.meena.cache import TO_DEVICE, TO_HOST
from chatbots.meena.config import MeenaConfig
from chatbots.meena.model import Meena, decoding_bytes
from chatbots.meena.responder import beam_search
from chatbots.meena.samples import Sample, rank
from chatbots.meena.sampling import (
    LOOKING,
    MEENA_BASE,
    MEENA_FULL,
    SampleStream,
    SamplingSettings,
    draw,
    invert,
    sample_all,
)
from chatbots.meena.tokenizer import NEVER_WRITTEN, Tokenizer

START, END = Tokenizer.start, Tokenizer.end


def small_model(*, vocabulary_size=8, response_length=3, sharpness=4.0, architecture="evolved"):
    torch.manual_seed(1)
    model = Meena(
        MeenaConfig(
            architecture=architecture,
            hidden_size=16,
            heads=2,
            decoder_blocks=1,
            vocabulary_size=vocabulary_size,
            response_length=response_length,
        )
    ).eval()
    with torch.no_grad():
        model.embedding.weight.mul_(sharpness)
    return model.requires_grad_(False)


def log_likelihood(model, context, response):
    """By the full forward, token by token."""
    inputs = torch.tensor([[START, *response[:-1]]])
    log_probabilities = model(torch.tensor([context]), inputs).log_softmax(dim=-1)[0]
    return sum(float(log_probabilities[i, token]) for i, token in enumerate(response))


def every_response(model):
    """All token sequences that the model can write."""
    words = [t for t in range(model.config.vocabulary_size) if t not in NEVER_WRITTEN and t != END]
    for length in range(model.config.response_length):
        for body in itertools.product(words, repeat=length):
            yield (*body, END)
    yield from itertools.product(words, repeat=model.config.response_length)


def test_tokens_are_drawn_with_their_tempered_probabilities():
    scores = torch.tensor([[0.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.5, -1.0]])
    n = 40_000
    uniforms = torch.from_numpy(np.random.default_rng(0).random(n))
    taken, _ = draw(scores.expand(n, -1), uniforms, temperature=0.5, top_k=None)
    # writable tokens are 3, 5, 6, 7, with weights e^(1/.5), e^(2/.5), e^(.5/.5), e^(-1/.5)
    weights = np.exp(np.array([1.0, 2.0, 0.5, -1.0]) / 0.5)
    found = np.array([int((taken == token).sum()) for token in (3, 5, 6, 7)]) / n
    # five standard deviations of a share are at most 5 * sqrt(.25 / n) = .0125
    np.testing.assert_allclose(found, weights / weights.sum(), atol=0.0125)
    assert not np.isin(taken.numpy(), NEVER_WRITTEN).any()


@pytest.mark.parametrize("size", [3, 64, 65, 200, 8192])
def test_inverting_finds_the_place_that_a_running_sum_finds(size):
    random = np.random.default_rng(size)
    weights = random.random((50, size)) ** 8 * (random.random((50, size)) < 0.3)
    weights[:, 1] += 1e-3
    probabilities = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
    uniforms = np.append(random.random(48), [0.0, 1 - 1e-12])
    found = invert(torch.from_numpy(probabilities), torch.from_numpy(uniforms))
    for row, uniform, place in zip(probabilities.astype(np.float64), uniforms, found.tolist(), strict=True):
        running = np.cumsum(row)
        assert place == int((running <= uniform * running[-1]).sum())


def test_top_k_draws_from_the_k_likeliest_alone():
    scores = torch.tensor([[9.0, 9.0, 9.0, 1.0, 9.0, 2.0, 0.5, -1.0]])
    n = 20_000
    uniforms = torch.from_numpy(np.random.default_rng(0).random(n))
    taken, _ = draw(scores.expand(n, -1), uniforms, temperature=1.0, top_k=2)
    # of 5 and 3, token 5 has e / (1 + e) = .731
    assert set(taken.tolist()) == {3, 5}
    assert (taken == 5).double().mean() == pytest.approx(math.e / (1 + math.e), abs=0.018)


def test_a_drawn_token_reports_the_models_own_probability():
    scores = torch.tensor([[0.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.5, -1.0]])
    token, log_probability = draw(scores, torch.tensor([0.99], dtype=torch.float64), temperature=3.0, top_k=2)
    total = sum(math.exp(score) for score in scores[0].tolist())
    assert float(log_probability) == pytest.approx(math.log(math.exp(scores[0, token]) / total), abs=1e-6)


@pytest.mark.parametrize("top_k", [None, 2])
def test_a_model_that_hardly_allows_a_writable_token_still_gets_one(top_k):
    scores = torch.tensor([[200.0, 200.0, 200.0, 0.0, 200.0, 0.0, -50.0]])
    uniforms = torch.tensor([0.25, 0.75], dtype=torch.float64)
    tokens, log_probabilities = draw(scores.expand(2, -1), uniforms, temperature=1.0, top_k=top_k)
    assert sorted(tokens.tolist()) == [3, 5]
    # e^0 of a total of 4 e^200, which float32 cannot hold as a probability
    assert log_probabilities.tolist() == pytest.approx([-200 - math.log(4)] * 2, rel=1e-6)


@pytest.mark.parametrize("settings", [MEENA_BASE, MEENA_FULL])
def test_samples_report_their_likelihood_and_length(settings):
    model = small_model(response_length=12)
    contexts = [[5, 6, 4], [7, 4]]
    for context, samples in zip(contexts, sample_all(model, contexts, [1, 2], settings), strict=True):
        assert len(samples) == 20
        for sample in samples:
            expected = log_likelihood(model, context, sample.tokens)
            assert sample.log_likelihood == pytest.approx(expected, abs=1e-3)
            assert sample.per_token == pytest.approx(expected / len(sample.tokens), abs=1e-3)
            assert END not in sample.tokens[:-1]
            assert sample.finished or len(sample.tokens) == 12


def test_samples_follow_the_models_distribution():
    model = small_model()
    settings = SamplingSettings(samples=4000, temperature=1.0)
    (samples,) = sample_all(model, [[5, 4]], [9], settings)
    responses = list(every_response(model))
    expected = np.exp([log_likelihood(model, [5, 4], response) for response in responses])
    expected /= expected.sum()  # tokens that are never written have a share of their own
    found = np.array([sum(sample.tokens == response for sample in samples) for response in responses]) / 4000
    assert np.abs(found - expected).max() < 5 * math.sqrt(0.25 / 4000)
    assert expected.max() > 0.05


def test_a_seed_gives_the_same_samples_alone_and_in_any_batch():
    model = small_model(vocabulary_size=60, response_length=40)
    contexts = [[5 + i, 4] * (1 + i % 4) for i in range(9)]
    seeds = list(range(50, 59))
    together = sample_all(model, contexts, seeds, MEENA_BASE, room=4)
    for context, seed, samples in zip(contexts, seeds, together, strict=True):
        (alone,) = sample_all(model, [context], [seed], MEENA_BASE, room=1)
        assert [sample.tokens for sample in alone] == [sample.tokens for sample in samples]
    assert sample_all(model, contexts[:1], [7], MEENA_BASE)[0] != together[0]


def test_contexts_join_while_others_are_half_way():
    model = small_model(vocabulary_size=60, response_length=40)
    settings = SamplingSettings(samples=3)
    stream = SampleStream(model, settings, room=2)
    (first,) = stream.admit([[5, 4]], [1])
    done = {}
    for _ in range(2):
        done |= stream.step()
    (second,) = stream.admit([[6, 4]], [2])
    assert stream.room == 0
    while len(done) < 2:
        done |= stream.step()
    assert [s.tokens for s in done[first]] == [
        s.tokens for s in sample_all(model, [[5, 4]], [1], settings)[0]
    ]
    assert [s.tokens for s in done[second]] == [
        s.tokens for s in sample_all(model, [[6, 4]], [2], settings)[0]
    ]
    assert stream.room == 2
    assert stream.step() == {}


def test_finished_samples_leave_the_batch():
    model = small_model(response_length=12)
    stream = SampleStream(model, SamplingSettings(samples=100, temperature=3.0), room=1)
    stream.admit([[5, 4]], [3])
    rows = []
    while stream.room == 0:
        rows.append(len(stream.state.positions))
        done = stream.step()
    (samples,) = done.values()
    # before step i, those rows are left that draw more than i tokens
    assert rows == [sum(len(sample.tokens) > i for sample in samples) for i in range(len(rows))]
    assert rows[-1] < rows[0]


class Twice:
    """Does the work of each step twice, as a GPU does that is about to record it, and notes where it was."""

    def __init__(self, stream):
        self.stream, self.seen = stream, {}

    def run(self, shapes, work):
        work()
        work()
        rows, blocks = self.stream.state.rows(), self.stream.state.blocks
        held = [rows.indices, rows.positions, rows.context_mask, *self.stream._drawn]
        held += [tensor for block in blocks for tensor in block.tensors()]
        where = [tensor.data_ptr() for tensor in held] + [rows.longest, rows.slots]
        assert self.seen.setdefault(shapes, where) == where


@pytest.mark.parametrize("architecture", ["evolved", "vanilla"])
def test_steady_drawing_gives_the_same_samples(architecture):
    model = small_model(vocabulary_size=60, response_length=40, architecture=architecture)
    contexts = [[5 + i, 4] * (1 + i % 12) for i in range(7)]
    settings = SamplingSettings(samples=5, temperature=1.5)
    stream = SampleStream(model, settings, room=3, steady=True)
    twice = Twice(stream)
    stream._recorded = twice  # type: ignore[assignment]
    waiting, index_of, found = list(enumerate(contexts)), {}, {}
    steps = 0
    while len(found) < len(contexts):
        joining, waiting = waiting[: stream.room], waiting[stream.room :]
        keys = stream.admit([context for _, context in joining], [number for number, _ in joining])
        index_of |= dict(zip(keys, [number for number, _ in joining], strict=True))
        found |= {index_of[key]: samples for key, samples in stream.step().items()}
        steps += 1
    assert len(twice.seen) < steps / 3  # most steps repeat one before them
    expected = sample_all(model, contexts, list(range(7)), settings, room=3)
    for number, samples in enumerate(expected):
        assert [sample.tokens for sample in found[number]] == [sample.tokens for sample in samples]
        likelihoods = [[sample.log_likelihood for sample in each] for each in (found[number], samples)]
        np.testing.assert_allclose(*likelihoods, atol=1e-4)


@pytest.mark.parametrize("steady", [False, True])
@pytest.mark.parametrize("steps", [0, 2])
def test_a_context_that_leaves_is_drawn_no_further_and_the_others_are_drawn_the_same(steady, steps):
    model = small_model(vocabulary_size=60, response_length=40)
    settings = SamplingSettings(samples=5, temperature=1.5)
    contexts = [[5 + i, 4] * (1 + i) for i in range(4)]
    stream = SampleStream(model, settings, room=4, steady=steady)
    keys = stream.admit(contexts, list(range(4)))
    found = {}
    for _ in range(steps):
        found |= stream.step()

    stream.cancel([keys[0], keys[2]])

    assert stream.room == 2
    assert not np.isin(stream._owner, [keys[0], keys[2]]).any()
    while len(found) < 2:
        found |= stream.step()
    expected = sample_all(model, contexts, list(range(4)), settings, room=4)
    for number in (1, 3):
        assert [each.tokens for each in found[keys[number]]] == [each.tokens for each in expected[number]]


def test_a_gpu_encodes_contexts_together_and_steps_keep_their_shape_whatever_their_lengths():
    model = small_model(vocabulary_size=60, response_length=16)
    stream = SampleStream(model, SamplingSettings(samples=5, temperature=3.0), room=3, steady=True)
    batches = []
    model.encoder[0].register_forward_hook(lambda module, given, result: batches.append(len(given[0])))

    shapes = set()
    for lengths in ((60, 3, 20), (3, 3, 3), (17, 40, 2)):
        keys = stream.admit([[5, 4] * (length // 2) for length in lengths], [1, 2, 3])
        shapes.add(stream.state.prepare())
        stream.cancel(keys)

    assert batches == [3, 3, 3]
    assert len(shapes) == 1  # each would be recorded, which takes a quarter of a second


def test_drawing_waits_for_a_gpu_only_every_few_tokens():
    stream = SampleStream(small_model(response_length=40), SamplingSettings(samples=5), steady=True)
    stream.admit([[5, 4], [6]], [1, 2])
    stream.step()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for _ in range(LOOKING - 1):
            stream.step()
    names = [event.name for event in profile.events()]
    assert "aten::bmm" in names
    assert names.count(TO_HOST) == 1
    assert not {TO_DEVICE, "aten::_local_scalar_dense", "aten::nonzero"} & set(names)


def test_the_memory_of_decoding_grows_with_what_it_holds():
    model = small_model(vocabulary_size=60, response_length=40)

    def size(stream):
        return sum(4 * held.numel() for block in stream.state.blocks for held in block.tensors())

    stream = SampleStream(model, SamplingSettings(samples=20, temperature=3.0), room=100_000)
    assert size(stream) < 20_000  # room for 100,000 contexts is none until they come
    stream.admit([[5, 4]], [1])
    stream.step()
    first = size(stream)
    # one context of up to 16 positions; 20 rows of up to 16
    assert first == decoding_bytes(
        replace(model.config, context_length=16, response_length=16), contexts=1, samples=20
    )
    for _ in range(16):
        stream.step()
    grown = size(stream)
    assert grown == decoding_bytes(
        replace(model.config, context_length=16, response_length=32), contexts=1, samples=20
    )
    stream.admit([[5, 4] * 20], [2])
    assert size(stream) > grown
    for _ in range(60):
        stream.step()
    # no more than two contexts need at their longest, 40 and 48 positions in whole spans, at most doubled
    assert size(stream) <= decoding_bytes(
        replace(model.config, context_length=64, response_length=64), contexts=2, samples=20
    )


def test_no_contexts_give_no_samples():
    assert sample_all(small_model(), [], [], MEENA_BASE) == []


def test_ranking_is_by_mean_or_by_total():
    short, long = Sample((5, END), -4.0), Sample((5, 6, 7, 5, END), -5.0)
    assert rank([short, long], "per_token") == [long, short]  # -1 and -2 per token
    assert rank([short, long], "total") == [short, long]


@pytest.mark.parametrize("changes", [{"samples": 0}, {"temperature": 0.0}, {"top_k": 0}])
def test_impossible_sampling_is_refused(changes):
    with pytest.raises(ValueError, match="must be at least 1"):
        SamplingSettings(**changes)


def test_a_beam_as_wide_as_all_responses_finds_the_best_of_them():
    model = small_model()
    scored = [Sample(response, log_likelihood(model, [5, 4], response)) for response in every_response(model)]
    found = beam_search(model, [5, 4], width=len(scored))
    best = rank(scored, "per_token")
    assert [sample.tokens for sample in found[:5]] == [sample.tokens for sample in best[:5]]
    assert found[0].log_likelihood == pytest.approx(best[0].log_likelihood, abs=1e-4)


def test_a_beam_of_one_is_greedy():
    model = small_model(vocabulary_size=60, response_length=10)
    (found,) = beam_search(model, [5, 9, 4], width=1)
    response = []
    while END not in response and len(response) < 10:
        scores = model(torch.tensor([[5, 9, 4]]), torch.tensor([[START, *response]]))[0, -1]
        scores[list(NEVER_WRITTEN)] = -torch.inf
        response.append(int(scores.argmax()))
    assert list(found.tokens) == response


def test_a_beam_returns_different_responses():
    found = beam_search(small_model(vocabulary_size=60, response_length=10), [5, 9, 4], width=8)
    assert len({sample.tokens for sample in found}) == 8
    assert [s.per_token for s in found] == sorted((s.per_token for s in found), reverse=True)
