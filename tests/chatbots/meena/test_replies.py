"""What becomes of sampled candidates: repetition, safety, fallback."""

import gzip
import itertools
import json
import re
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from chatbots.meena.config import MeenaConfig
from chatbots.meena.model import Meena
from chatbots.meena.repetition import longest_common_subsequence, repeats, words
from chatbots.meena.responder import NOTHING_LEFT, Candidate, Responder, choose
from chatbots.meena.sampling import SamplingSettings
from chatbots.meena.tokenizer import Tokenizer
from chatbots.safety import AllowEverything, ProfanityCheck

DOCS = Path(__file__).resolve().parents[3] / "docs" / "meena.md"
SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "meena"
TEXTS = [
    f"{a} {b} {c}"
    for a in ("I like", "we hate", "you eat")
    for b in ("the red", "a big")
    for c in ("cat", "dog")
]
FIELD = "Because he was outstanding in his field!"
WHY = "Yes! I am! Do you know why? Because he was outstanding in his field!"
MALL = "I was at the mall and I heard it in the food court. How was your day?"


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TEXTS * 5, vocabulary_size=40)


@pytest.fixture(scope="module")
def model(tokenizer):
    torch.manual_seed(0)
    return Meena(
        MeenaConfig(hidden_size=16, heads=2, decoder_blocks=1, vocabulary_size=len(tokenizer))
    ).eval()


def subsequences(items):
    return {c for n in range(len(items) + 1) for c in itertools.combinations(items, n)}


@given(st.lists(st.sampled_from("abc"), max_size=7), st.lists(st.sampled_from("abcd"), max_size=7))
def test_the_common_subsequence_is_as_long_as_enumeration_finds(first, second):
    expected = max(map(len, subsequences(first) & subsequences(second)))
    assert longest_common_subsequence(first, second) == expected


@pytest.mark.parametrize(
    ("candidate", "earlier"),
    [
        # tables 5 and 6 of the paper
        ("I'd love to go to Paris too.", "I'd love to go to Japan too."),
        ("I'd love to go to Japan.", "I'd love to go to Japan, too!"),
        ("Why did the chicken cross the road? He was outstanding in his field!", FIELD),
        ("Do you know why he was outstanding in his field? Because he was a chicken!", FIELD),
        ("Why was the mouse trapped in the bag? Because he was outstanding in his field!", FIELD),
        ("Do you know why I broke you? Because you were outstanding in your field!", WHY),
        ("I was in the food court and I heard it in the field!", MALL),
        ("I\N{RIGHT SINGLE QUOTATION MARK}D LOVE TO GO TO JAPAN", "i'd love to go to japan"),
    ],
)
def test_the_papers_repetitions_are_found(candidate, earlier):
    assert repeats(candidate, ["Hi!", earlier, "how about Paris?"])


@pytest.mark.parametrize(
    ("candidate", "earlier"),
    [
        ("Yes, I do.", "Yes, I do."),  # four words or fewer may recur
        ("I'd love to go to Japan too.", "how about Japan?"),
        ("Paris is a beautiful city, and Barcelona is too.", "Paris, Barcelona, Amsterdam, Prague"),
        ("", "Hi!"),
    ],
)
def test_ordinary_turns_are_no_repetitions(candidate, earlier):
    assert not repeats(candidate, [earlier])


def test_words_ignore_case_and_punctuation():
    assert words("Well -- I'd LOVE to, (really)!") == ["well", "i'd", "love", "to", "really"]


@pytest.mark.shared_data
@pytest.mark.skipif(not SHARED.exists(), reason="the published conversations are not in ../shared/data/meena")
def test_few_human_turns_are_flagged_and_more_of_the_chatbots():
    counts = {name: count_flagged(name) for name in ("meena", "mitsuku", "human")}
    shares = {name: flagged / turns for name, (flagged, turns) in counts.items()}
    assert shares["human"] < 0.01
    assert shares["human"] * 2 < shares["meena"] < shares["mitsuku"]
    # docs/meena.md shows the same numbers
    row = next(line for line in DOCS.read_text().splitlines() if line.startswith("| **5** | **0.5** |"))
    assert re.findall(r"\*\*(\d+)\*\* \(", row) == [str(flagged) for flagged, _ in counts.values()]


def count_flagged(name):
    flagged = turns = 0
    with gzip.open(SHARED / f"{name}.jsonl.gz", "rt") as lines:
        for conversation in map(json.loads, lines):
            texts = [turn["text"] for turn in conversation["turns"]]
            for index, turn in enumerate(conversation["turns"]):
                if name == "human" or turn["speaker"] != "Human":
                    turns += 1
                    flagged += repeats(texts[index], texts[:index])
    return flagged, turns


def candidate(text, removed=None):
    return Candidate(text, -1.0, -0.5, 2, removed)


def test_the_best_allowed_candidate_is_the_reply():
    reply = choose([candidate("a", "repetition"), candidate("b"), candidate("c")])
    assert (reply.text, reply.fallback) == ("b", None)
    assert len(reply.candidates) == 3


def test_if_all_are_removed_the_best_repetition_is_said():
    reply = choose([candidate("a", "unsafe"), candidate("b", "repetition"), candidate("c", "repetition")])
    assert (reply.text, reply.fallback) == ("b", "repetition")


def test_if_nothing_harmless_is_left_a_fixed_sentence_is_said():
    reply = choose([candidate("a", "unsafe"), candidate("", "empty")])
    assert (reply.text, reply.fallback, reply.tokens) == (NOTHING_LEFT, "fixed", 0)


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


def test_the_default_classifier_knows_swear_words():
    found = ProfanityCheck().unsafe(["I like your garden.", "fuck you, you stupid bitch"])
    assert found == [False, True]
    assert ProfanityCheck().unsafe([]) == []


def test_base_allows_everything():
    assert AllowEverything().unsafe(["anything", "at all"]) == [False, False]
