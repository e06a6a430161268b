"""Beam search, draws and sampling on models small enough to enumerate."""

import itertools
from collections import Counter

import numpy as np
import pytest
import torch

from chatbots.hierarchical.batching import collate
from chatbots.hierarchical.responder import DecodingSettings, drawn_first, first_states, replies
from chatbots.training.decoding import DecodedReply, beam_search, nucleus, sample
from chatbots.training.vocabulary import END, NEVER_WRITTEN, START
from tests.chatbots.hierarchical.tiny import CONVERSATIONS, model_of

torch.set_num_threads(1)
LENGTH = 3


def seeds(n):
    return [np.random.default_rng(seed) for seed in range(n)]


@torch.no_grad()
def every_reply(model, first):
    """All replies up to the longest with their log-likelihoods, by steps of the model alone."""
    found = {}
    words = [w for w in range(model.config.vocabulary_size) if w not in NEVER_WRITTEN and w != END]
    for length in range(1, LENGTH + 1):
        for said in itertools.product(words, repeat=length):
            for ended in (True, False):
                whole = (*said, END) if ended else said
                if len(whole) > LENGTH or (not ended and length < LENGTH):
                    continue
                state, last, total = first, START, 0.0
                for word in whole:
                    scores, state = model.step(torch.tensor([last]), state)
                    total += float(scores.log_softmax(dim=1)[0, word])
                    last = word
                found[whole] = total
    return found


@pytest.fixture(scope="module")
def model():
    return model_of("vhred", vocabulary_size=8, utterance_length=LENGTH).float()


@pytest.fixture(scope="module")
def first(model):
    with torch.no_grad():
        return first_states(model, collate([[[5, 6, END]]]), seeds(1))


@pytest.fixture(scope="module")
def everything(model, first):
    return every_reply(model, first)


def test_a_wide_beam_finds_the_likeliest_of_all_replies(model, first, everything):
    (found,) = beam_search(model.step, first, 60, LENGTH)

    best = max(everything, key=lambda words: everything[words] / len(words))
    assert found[0].words == best
    for each in found:
        assert each.log_likelihood == pytest.approx(everything[each.words], abs=1e-4)
    scores = [each.per_word for each in found]
    assert scores == sorted(scores, reverse=True)
    assert len({each.words for each in found}) == len(found)


def test_a_beam_of_one_takes_the_likeliest_word_each_time(model, first):
    (found,) = beam_search(model.step, first, 1, LENGTH)

    state, last, greedy = first, START, []
    while last != END and len(greedy) < LENGTH:
        with torch.no_grad():
            scores, state = model.step(torch.tensor([last]), state)
        scores[0, [*NEVER_WRITTEN, *([] if greedy else [END])]] = -torch.inf
        greedy.append(last := int(scores.argmax()))
    assert [each.words for each in found] == [tuple(greedy)]


def test_samples_are_as_frequent_as_they_are_likely(model, first, everything):
    n = 4_000
    found = sample(model.step, first.expand(n, -1), seeds(n), LENGTH, temperature=1.0)

    counts = Counter(each.words for each in found)
    allowed = probabilities(model, first, everything)
    assert sum(allowed.values()) == pytest.approx(1, abs=1e-5)
    for words in sorted(allowed, key=allowed.get)[-10:]:
        share, likely = counts[words] / n, allowed[words]
        assert share == pytest.approx(likely, abs=5 * (likely * (1 - likely) / n) ** 0.5)
    assert found[0].log_likelihood <= 0


@torch.no_grad()
def probabilities(model, first, everything):
    """Of each reply when what is never written gives its share to the rest."""
    found = {}
    for words in everything:
        state, last, total = first, START, 1.0
        for position, word in enumerate(words):
            scores, state = model.step(torch.tensor([last]), state)
            scores[0, [*NEVER_WRITTEN, *([] if position else [END])]] = -torch.inf
            total *= float(scores.softmax(dim=1)[0, word])
            last = word
        found[words] = total
    return found


def test_a_low_temperature_samples_what_a_beam_of_one_finds(model, first):
    (found,) = beam_search(model.step, first, 1, LENGTH)
    assert sample(model.step, first, seeds(1), LENGTH, temperature=1e-4)[0].words == found[0].words


def test_draws_fall_by_rank_and_leave_the_last_out():
    found = [DecodedReply((word,), -float(word)) for word in (4, 5, 6, 7)]

    counts = Counter(drawn_first(found, random)[0].words[0] for random in seeds(3_000))

    assert counts[7] == 0
    for word, weight in ((4, 3), (5, 2), (6, 1)):
        p = weight / 6
        assert counts[word] / 3_000 == pytest.approx(p, abs=5 * (p * (1 - p) / 3_000) ** 0.5)
    assert sorted(drawn_first(found, seeds(1)[0])) == sorted(found)
    assert drawn_first(found[:1], seeds(1)[0]) == found[:1]


@pytest.mark.parametrize("architecture", ["hred", "vhred", "vhcr"])
@pytest.mark.parametrize("choose", ["best", "drawn", "sampled"])
def test_replies_are_the_same_alone_and_in_a_batch_and_by_seed(architecture, choose):
    model = model_of(architecture)  # in double precision, so that no rounding decides
    settings = DecodingSettings(choose=choose, beam=3)

    together = replies(model, CONVERSATIONS, [5, 6, 7], settings)

    for conversation, seed, found in zip(CONVERSATIONS, [5, 6, 7], together, strict=True):
        (alone,) = replies(model, [conversation], [seed], settings)
        assert [each.words for each in alone] == [each.words for each in found]
        assert alone[0].log_likelihood == pytest.approx(found[0].log_likelihood)
        assert not {*NEVER_WRITTEN} & {word for each in found for word in each.words}
        assert all(each.words[0] != END for each in found)
    if architecture != "hred" or choose != "best":
        several = [
            replies(model, CONVERSATIONS[:1], [seed], settings)[0][0].log_likelihood for seed in range(6)
        ]
        assert len(set(several)) > 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"beam": 0}, "beam=0 must be at least 1"), ({"temperature": 0.0}, "temperature=0.0 must be above 0")],
)
def test_impossible_decoding_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        DecodingSettings(**settings)


def test_a_nucleus_is_the_fewest_likeliest_words_that_hold_so_much():
    shares = torch.tensor([[0.1, 0.5, 0.15, 0.25], [0.25, 0.25, 0.25, 0.25]])
    # 0.5 alone does not hold 0.6; 0.5 and 0.25 do. Of four alike, three hold 0.6.
    found = nucleus(shares, 0.6)
    assert found[0].tolist() == pytest.approx([0, 0.5, 0, 0.25])
    assert int((found[1] > 0).sum()) == 3
    assert nucleus(shares, 1.0) is shares
