import hashlib
import json
import unicodedata
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, TypeAdapter, ValidationError

from chatbots.base import Bot, BotConfiguration, Context, Device, Speaker, Turn
from chatbots.hosting.response_checks import (
    MAX_CANDIDATES,
    MAX_REMARK_CHARS,
    MAX_REMARKS,
    clean_response,
    clean_text,
    is_blank,
)
from chatbots.replies import Candidate, ReplyOutcome, Response
from evaluation.texts.lengths import MAX_REPLY_CHARS


class SecretiveBot(Bot):
    class Configuration(BotConfiguration):
        key: SecretStr
        temperature: float = 1.0

    libraries = ("pydantic",)

    def respond(self, contexts):
        return [Response("hm") for _ in contexts]


def test_speakers_of_texts_alternate_and_the_human_is_last():
    context = Context.from_texts(["Hi!", "Hello", "How are you?"])

    assert context.turns == (
        Turn(Speaker.HUMAN, "Hi!"),
        Turn(Speaker.BOT, "Hello"),
        Turn(Speaker.HUMAN, "How are you?"),
    )


def test_a_context_without_turns_is_refused():
    with pytest.raises(ValueError, match="nothing to answer"):
        Context(())


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_a_candidate_with_a_score_that_is_not_finite_is_refused(score):
    with pytest.raises(ValueError, match=f"score {score}"):
        Candidate("Hi", score)


def test_a_response_that_is_not_text_is_refused_where_it_is_made():
    with pytest.raises(TypeError, match="None, not a string"):
        Response(None)


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("  Hi there \n", "  Hi there \n"),
        ("a\x00b\x07c\x1b[31md\x7f", "abc[31md"),
        ("one\r\ntwo\rthree\u2028four", "one\r\ntwo\rthree\u2028four"),
        ("tab\tstays", "tab\tstays"),
        ("\u2067\u05d0\u2069", "\u2067\u05d0\u2069"),  # how models isolate names in right-to-left text
        ("- a\n    - b\n\n        code\n", "- a\n    - b\n\n        code\n"),
        ("half \ud83d a pair", "half  a pair"),
        ("👩‍👩‍👧 family", "👩‍👩‍👧 family"),  # joined by U+200D, which must stay
        ("<b>bold</b>", "<b>bold</b>"),
        ("", ""),
    ],
)
def test_cleaning(dirty, clean):
    assert clean_text(dirty) == clean


@given(st.text(st.characters(exclude_categories=[]), max_size=200))
def test_clean_text_holds_no_control_character_and_stays_as_it_is_when_cleaned_again(text):
    clean = clean_text(text)

    assert {unicodedata.category(c) for c in clean if c not in "\n\t\r\x85"}.isdisjoint({"Cc", "Cs"})
    assert clean.encode("utf-8").decode("utf-8") == clean
    assert clean_text(clean) == clean


@pytest.mark.parametrize("length", [MAX_REPLY_CHARS, MAX_REPLY_CHARS + 1, 50 * MAX_REPLY_CHARS])
def test_clean_text_is_cut_at_the_limit(length):
    assert clean_text("x" * length) == "x" * MAX_REPLY_CHARS


def test_that_a_text_was_cut_is_remarked_whatever_else_is():
    long = "x" * (MAX_REPLY_CHARS + 1)
    said = tuple(f"remark {number}" for number in range(MAX_REMARKS))

    assert clean_response(Response(long[1:], remarks=said)).remarks == said
    *kept, cut = clean_response(Response(long, remarks=said)).remarks
    assert tuple(kept) == said[:-1]
    assert cut == "The reply had 32,001 characters; what follows the first 32,000 was cut off."
    assert clean_response(clean_response(Response(long))).remarks == (cut,)  # once, though hosts pass it on


def test_candidates_are_cleaned_and_limited_like_the_text():
    response = Response("a\x00", tuple(Candidate("b\x00", float(-n)) for n in range(MAX_CANDIDATES + 5)))

    clean = clean_response(response)

    assert clean.text == "a"
    assert clean.candidates == tuple(Candidate("b", float(-n)) for n in range(MAX_CANDIDATES))


def test_remarks_are_cleaned_and_as_few_and_short_as_may_be_kept():
    response = Response("a", remarks=("b\x00", "c" * 5_000, *["d"] * 100), outcome=ReplyOutcome.FALLBACK)

    clean = clean_response(response)

    assert clean.remarks == ("b", "c" * MAX_REMARK_CHARS, *["d"] * (MAX_REMARKS - 2))
    assert clean.outcome is ReplyOutcome.FALLBACK


@pytest.mark.parametrize(
    ("text", "blank"), [("", True), (" \n\u200b\ufeff", True), ("👍", False), (".", False)]
)
def test_blank_means_that_nothing_can_be_seen(text, blank):
    assert is_blank(text) is blank


def test_the_fingerprint_is_json_and_hides_secrets():
    bot = SecretiveBot(SecretiveBot.Configuration(key=SecretStr("swordfish")))

    fingerprint = json.loads(json.dumps(bot.fingerprint()))

    assert fingerprint["configuration"] == {"key": "**********", "temperature": 1.0}
    assert "swordfish" not in json.dumps(fingerprint)
    assert list(fingerprint["libraries"]) == ["pydantic"]


def test_the_fingerprint_tells_configurations_apart():
    one = SecretiveBot(SecretiveBot.Configuration(key=SecretStr("k")))
    other = SecretiveBot(SecretiveBot.Configuration(key=SecretStr("k"), temperature=0.5))

    assert one.fingerprint() != other.fingerprint()
    assert one.fingerprint() == SecretiveBot(SecretiveBot.Configuration(key=SecretStr("k"))).fingerprint()


def test_the_code_hash_is_the_sha256_of_the_source_file():
    bot = SecretiveBot(SecretiveBot.Configuration(key=SecretStr("k")))

    assert bot.fingerprint()["code"] == hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ["cpu", "cuda", "cuda:0", "cuda:7", "cuda:15", "mps", "xpu:1", "hpu"])
def test_a_device_that_only_another_machine_may_have_is_taken(name):
    assert TypeAdapter(Device).validate_python(name) == name
    torch.device(name)  # knows it, too


@pytest.mark.parametrize("name", ["", "foo", "gpu", "CUDA", " cuda", "cuda:", "cuda:01", "cuda:x", "meta"])
def test_a_device_of_another_name_is_refused_with_those_that_there_are(name):
    with pytest.raises(ValidationError, match="give cpu, cuda, one of several GPUs such as cuda:1, or mps"):
        TypeAdapter(Device).validate_python(name)
