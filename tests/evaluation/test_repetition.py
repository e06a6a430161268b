"""The repetition rule: its parts against brute force, its effect on patterns and published dialogues."""

import gzip
import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.conversation.figures import repetition
from evaluation.statistics.interval import Interval, Undefined
from evaluation.texts.repetition import (
    MIN_SAME,
    MIN_SHARE,
    MIN_WORDS,
    common_subsequence,
    repeated_turns,
    repeats,
    words,
)

PAGE = Path(__file__).parents[2] / "docs" / "statistics.md"
FIELD = "Because he was outstanding in his field!"
WHY = "Yes! I am! Do you know why? Because he was outstanding in his field!"
MALL = "I was at the mall and I heard it in the food court. How was your day?"

sequences = st.lists(st.sampled_from("abcd"), max_size=12)


def literal(first: list[str], second: list[str]) -> int:
    """The textbook recursion."""

    @cache
    def length(i: int, j: int) -> int:
        if not i or not j:
            return 0
        if first[i - 1] == second[j - 1]:
            return length(i - 1, j - 1) + 1
        return max(length(i - 1, j), length(i, j - 1))

    return length(len(first), len(second))


@given(sequences, sequences)
def test_the_bit_parallel_length_equals_the_textbook_recursion(first, second):
    assert common_subsequence(first, second) == literal(first, second)


@given(sequences, sequences)
def test_the_rule_equals_its_statement(first, second):
    shorter, common = min(len(first), len(second)), literal(first, second)
    expected = common >= MIN_WORDS and common >= MIN_SHARE * shorter

    assert repeated_turns([" ".join(first), " ".join(second)]) == [False, expected]
    expected = expected or (len(first) >= MIN_SAME and first == second)
    assert repeats(" ".join(first), [" ".join(second)]) is expected
    assert repeats(" ".join(second), ["Hi!", " ".join(first)]) is expected


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
        ("I see.", "I see."),  # two words may recur
        ("Yes, I do too.", "Yes, I do."),  # so may four that are not the same
        ("I'd love to go to Japan too.", "how about Japan?"),
        ("Paris is a beautiful city, and Barcelona is too.", "Paris, Barcelona, Amsterdam, Prague"),
        ("", "Hi!"),
    ],
)
def test_ordinary_turns_are_no_repetitions(candidate, earlier):
    assert not repeats(candidate, [earlier])


def test_words_ignore_case_punctuation_and_the_shape_of_apostrophes():
    assert words("I\N{RIGHT SINGLE QUOTATION MARK}d LOVE to go, too!") == ["i'd", "love", "to", "go", "too"]
    assert words("snake_case 3.5") == ["snake", "case", "3", "5"]


def test_scripts_without_spaces_are_cut_into_characters():
    assert words("你好ok吗") == ["你", "好", "ok", "吗"]


def test_near_copies_with_one_word_changed_are_repetitions():
    turns = ["I'd really like to visit Rome too.", "How nice!", "I'd really like to visit Oslo, too!"]

    assert repeated_turns(turns) == [False, False, True]


def test_a_phrase_repeated_inside_a_longer_turn_is_a_repetition():
    first = "Because he was the best in his class!"
    second = "Do you know why? Because, I tell you, he was the best in his whole class, and he knew."

    assert repeats(second, [first])


def test_a_bot_repeats_itself_with_the_same_few_words_where_a_person_does_not():
    assert repeats("yes I DO!", ["Do you like cats?", "Yes, I do."])
    assert repeated_turns(["Do you like cats?", "Yes, I do.", "Dogs?", "yes I DO!"]) == [False] * 4


def test_short_and_everyday_turns_are_not_repetitions():
    assert (
        repeated_turns(["I don't know.", "I don't know.", "Do you like cats?", "Do you like dogs?"])
        == [False] * 4
    )


def test_sharing_only_function_words_is_no_repetition():
    first = "I went to the market and I bought a kilo of apples for my mother"
    second = "The weather in my town is lovely and I am off to a walk in the park"

    assert not repeats(first, [second])


def test_repetition_per_bot_counts_bot_turns_only():
    copy = "my favourite food is pizza with cheese"
    echo = [(False, copy), (True, copy), (False, copy), (True, "Is it? I never heard of it.")]
    calm = [(False, "hello"), (True, "Hello to you, how are you today?")]

    found = repetition({"echo": [echo, calm], "mute": []}, np.random.default_rng(1))

    assert found["echo"].share == pytest.approx(1 / 3)
    assert found["echo"].dialogues_affected == pytest.approx(1 / 2)
    assert (found["echo"].turns, found["echo"].dialogues) == (3, 2)
    assert isinstance(found["echo"].interval, Interval)
    assert isinstance(found["mute"], Undefined)


@pytest.mark.shared_data
def test_the_published_conversations_have_the_documented_repetition(shared_folder):
    flagged = {}
    for system in ("meena", "mitsuku", "human"):
        with gzip.open(shared_folder / "meena" / f"{system}.jsonl.gz", "rt") as file:
            conversations = [json.loads(row)["turns"] for row in file]
        flagged[system] = [
            repeated
            for turns in conversations
            for turn, repeated in zip(turns, repeated_turns([t["text"] for t in turns]), strict=True)
            if turn["speaker"] != "Human"
        ]

    start = f"| **{MIN_WORDS}** | **{MIN_SHARE}** |"
    row = next(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(start))
    shown = re.findall(r"\*\*(\d+)\*\*", row.removeprefix(start))
    assert shown == [str(sum(flags)) for flags in flagged.values()]
    assert np.mean(flagged["human"]) < 0.005 < 0.03 < np.mean(flagged["meena"]) < np.mean(flagged["mitsuku"])
