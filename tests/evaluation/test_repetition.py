"""The repetition rule: its parts against brute force, its effect on patterns and published dialogues."""

import gzip
import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.interval import Interval, Undefined
from evaluation.repetition import common_subsequence, repeated_turns, repeats, repetition, words

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
def test_the_rule_is_symmetric(first, second):
    assert repeats(first, second) == repeats(second, first)


def test_words_ignore_case_punctuation_and_the_shape_of_apostrophes():
    assert words("I\N{RIGHT SINGLE QUOTATION MARK}d LOVE to go, too!") == ["i'd", "love", "to", "go", "too"]
    assert words("snake_case 3.5") == ["snake", "case", "3", "5"]


def test_scripts_without_spaces_are_cut_into_characters():
    assert words("你好ok吗") == ["你", "好", "ok", "吗"]


def test_near_copies_with_one_word_changed_are_repetitions():
    turns = ["I'd really like to visit Rome too.", "How nice!", "I'd really like to visit Oslo, too!"]

    assert repeated_turns(turns) == [False, False, True]


def test_a_phrase_repeated_inside_a_longer_turn_is_a_repetition():
    first = words("Because he was the best in his class!")
    second = words("Do you know why? Because, I tell you, he was the best in his whole class, and he knew.")

    assert repeats(second, first)


def test_short_and_everyday_turns_are_not_repetitions():
    assert (
        repeated_turns(["I don't know.", "I don't know.", "Do you like cats?", "Do you like dogs?"])
        == [False] * 4
    )


def test_sharing_only_function_words_is_no_repetition():
    first = words("I went to the market and I bought a kilo of apples for my mother")
    second = words("The weather in my town is lovely and I am off to a walk in the park")

    assert not repeats(first, second)


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
def test_published_human_conversations_hardly_repeat_and_chatbots_do(shared_folder):
    shares = {}
    for system in ("human", "mitsuku"):
        with gzip.open(shared_folder / "meena" / f"{system}.jsonl.gz", "rt") as file:
            flags = [f for row in file for f in repeated_turns([t["text"] for t in json.loads(row)["turns"]])]
        shares[system] = np.mean(flags)

    assert shares["human"] < 0.005
    assert shares["mitsuku"] > 0.03
