from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.conversation.ngrams import Overlap, known, overlap

TALKS = [
    ["hi", "how are you", "fine", "and you", "fine"],
    ["Hi", "how  are you", "FINE", "bye"],  # three turns as above
    ["fine", "and you", "hi", "how are you"],  # two of the first, two of the second
    ["fine"],
]


def test_pairs_are_counted_by_hand() -> None:
    # Length 1: "fine" is in all four, so all six pairs. Length 2: 1-2 and 1-3 and 2-3 ("hi", "how are you").
    # Length 3: 1-2 alone.
    assert [overlap(TALKS, length) for length in (1, 2, 3, 4)] == [
        Overlap(6, 6), Overlap(3, 6), Overlap(1, 6), Overlap(0, 6),
    ]  # fmt: skip
    assert overlap(TALKS, 2).percent == 50


def test_equal_conversations_all_overlap() -> None:
    assert overlap([["a", "b", "c"]] * 100, 3) == Overlap(4950, 4950)


@pytest.mark.parametrize("talks", [[], [["a", "b", "c"]]])
def test_without_pairs_there_is_nothing_to_share(talks: list[list[str]]) -> None:
    assert overlap(talks, 3) == Overlap(0, 0)
    assert overlap(talks, 3).percent == 0


def test_an_impossible_length_is_refused() -> None:
    with pytest.raises(ValueError, match="0 turns in a row cannot be compared"):
        overlap(TALKS, 0)


@given(st.lists(st.lists(st.sampled_from("ab"), max_size=6), max_size=8), st.integers(1, 4))
def test_overlap_equals_comparing_every_pair(talks: list[list[str]], length: int) -> None:
    def shares(one: list[str], other: list[str]) -> bool:
        return any(
            one[i : i + length] == other[j : j + length]
            for i in range(len(one) - length + 1)
            for j in range(len(other) - length + 1)
        )

    assert overlap(talks, length).sharing == sum(shares(*pair) for pair in combinations(talks, 2))


def test_conversations_with_turns_of_a_corpus_are_counted_by_hand() -> None:
    corpus = iter([["x", "HOW are   you", "fine", "y"], ["fine"], ["hi", "bye"]])

    found = known(TALKS, corpus, 2)

    # "how are you", "fine" is in the first two; "and you", "hi" of the third is not in a row there.
    assert (found.knowing, found.conversations, found.example) == (2, 4, ("how are you", "fine"))
    assert found.percent == 50
    assert known([], [["a", "b"]], 2).percent == 0
    with pytest.raises(ValueError, match="0 turns in a row"):
        known(TALKS, [], 0)


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=5), max_size=5), st.integers(1, 3))
def test_a_corpus_of_the_same_conversations_contains_all_long_ones(
    talks: list[list[str]], length: int
) -> None:
    assert known(talks, talks, length).knowing == sum(len(talk) >= length for talk in talks)
