"""What becomes of sampled candidates: repetition, safety, fallback."""

import pytest
import torch

from chatbots.bots.meena import response_of
from chatbots.meena.config import MeenaConfig
from chatbots.meena.model import Meena
from chatbots.meena.responder import NOTHING_LEFT, Candidate, Responder, beam_search, choose
from chatbots.meena.sampling import SamplingSettings
from chatbots.meena.tokenizer import Tokenizer
from chatbots.replies import ReplyOutcome

TEXTS = [
    f"{a} {b} {c}"
    for a in ("I like", "we hate", "you eat")
    for b in ("the red", "a big")
    for c in ("cat", "dog")
]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TEXTS * 5, vocabulary_size=40)


@pytest.fixture(scope="module")
def model(tokenizer):
    torch.manual_seed(0)
    return Meena(
        MeenaConfig(hidden_size=16, heads=2, decoder_blocks=1, vocabulary_size=len(tokenizer))
    ).eval()


def candidate(text, removed=None):
    return Candidate(text, -1.0, -0.5, 2, removed)


def test_the_best_allowed_candidate_is_the_reply():
    reply = choose([candidate("a", "repetition"), candidate("b"), candidate("c")])
    assert (reply.text, reply.fallback) == ("b", None)
    assert len(reply.candidates) == 3


def test_if_all_are_removed_the_best_repetition_is_used():
    reply = choose([candidate("a", "unsafe"), candidate("b", "repetition"), candidate("c", "repetition")])
    assert (reply.text, reply.fallback) == ("b", "repetition")


def test_without_a_harmless_candidate_a_fixed_sentence_is_used():
    reply = choose([candidate("a", "unsafe"), candidate("", "empty")])
    assert (reply.text, reply.fallback, reply.tokens) == (NOTHING_LEFT, "fixed", 0)


@pytest.mark.parametrize(
    ("removed", "remark", "is_fallback"),
    [
        ([None, "repetition", None], None, False),  # the likeliest is said: nothing to remark
        (
            ["repetition", None, "unsafe"],
            "2 of 3 candidates were removed, the likeliest among them (1 for repeating an earlier "
            "turn, 1 for being unsafe); said the likeliest of the others",
            False,
        ),
        (
            ["unsafe", "repetition", "repetition"],
            "3 of 3 candidates were removed, the likeliest among them (2 for repeating an earlier "
            "turn, 1 for being unsafe); said the likeliest that only repeats",
            False,
        ),
        (
            ["empty", "unsafe"],
            "2 of 2 candidates were removed, the likeliest among them (1 for saying nothing, 1 for "
            "being unsafe); said a fallback",
            True,
        ),
    ],
)
def test_removed_candidates_are_remarked_if_they_changed_the_reply(removed, remark, is_fallback):
    response = response_of(choose([candidate(str(n), why) for n, why in enumerate(removed)]), "meena-full")

    assert response.remarks == ((f"meena-full: {remark}",) if remark else ())
    assert (response.outcome is ReplyOutcome.FALLBACK) is is_fallback


class NoCats:
    def unsafe(self, texts):
        return ["c" in text for text in texts]


def test_a_lab_can_replace_the_classifier(model, tokenizer):
    settings = SamplingSettings(samples=30, temperature=1.0)
    (reply,) = Responder(model, tokenizer, settings, safety=NoCats()).reply([["I like the red cat"]], [1])
    assert {one.removed for one in reply.candidates} >= {"unsafe", None}
    assert all((one.removed == "unsafe") == ("c" in one.text) for one in reply.candidates if one.text)
    assert "c" not in reply.text


def test_candidates_come_best_first_with_both_scores(model, tokenizer):
    settings = SamplingSettings(samples=30, temperature=1.0, rank_by="total")
    (reply,) = Responder(model, tokenizer, settings).reply([["I like the red cat"]], [1])
    scores = [one.log_likelihood for one in reply.candidates]
    assert scores == sorted(scores, reverse=True)
    assert all(one.per_token == pytest.approx(one.log_likelihood / one.tokens) for one in reply.candidates)


def test_replies_do_not_depend_on_the_batch(model, tokenizer):
    responder = Responder(model, tokenizer, SamplingSettings(samples=5), room=2)
    conversations = [["I like the red cat"], [], ["you eat a dog", "\N{PILE OF POO}"], [""]]
    together = responder.reply(conversations, [1, 2, 3, 4])
    for turns, seed, reply in zip(conversations, [1, 2, 3, 4], together, strict=True):
        assert responder.reply([turns], [seed])[0].text == reply.text


def test_dropped_turns_are_reported(model, tokenizer):
    long = " ".join(["I like the red cat"] * 20)
    (reply,) = Responder(model, tokenizer, SamplingSettings(samples=1)).reply([["hello", long, "dog"]], [1])
    # the long turn has more than 128 subwords, so it goes, and what is older with it
    assert reply.dropped_turns == 2


def test_a_beam_gives_the_same_candidates_alone_and_in_turn_whatever_the_seed(model, tokenizer):
    responder = Responder(model, tokenizer, SamplingSettings(samples=4), beam=True, avoid_repetition=True)
    conversations = [["I like a big dog"], ["we hate the red cat", "you eat"]]
    alone = [responder.reply([each], [seed])[0] for seed, each in enumerate(conversations)]
    found = beam_search(model, tokenizer.context(conversations[0], length=128).tokens, width=4)
    stream, replies = responder.stream(), []

    for each in conversations:
        (key,) = stream.admit([each], [99])
        assert stream.room == 0
        replies.append(stream.step()[key])

    assert replies == alone
    assert [each.log_likelihood for each in alone[0].candidates] == [each.log_likelihood for each in found]
    assert stream.step() == {}
