from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.texts.similarity import NearDuplicate, TooAlikeError, character_ngrams, near_duplicates


def test_overlap_of_a_hand_worked_pair() -> None:
    # " abc " and " abd ", 4-grams: {" abc", "abc "} and {" abd", "abd "} share none;
    # with 2-grams: {" a","ab","bc","c "} and {" a","ab","bd","d "} share 2 of 6.
    assert near_duplicates(["abc", "abd"], threshold=0.1) == []
    assert near_duplicates(["abc", "abd"], threshold=0.3, gram=2) == [NearDuplicate(0, 1, 2 / 6)]


def test_case_punctuation_and_spaces_do_not_count() -> None:
    assert near_duplicates(["Don't you?", "dont  YOU", "I do."], threshold=0.9) == [NearDuplicate(0, 1, 1.0)]


def test_a_text_shorter_than_an_ngram_is_its_own() -> None:
    assert character_ngrams("a") == {" a "}
    assert character_ngrams("?!") == frozenset()


def test_texts_without_letters_are_never_duplicates() -> None:
    assert near_duplicates(["...", "?!", ""], threshold=0.1) == []


@given(st.lists(st.text(alphabet="abc d", max_size=12), max_size=8), st.sampled_from([0.1, 0.5, 1.0]))
def test_near_duplicates_equal_comparing_all_pairs(texts: list[str], threshold: float) -> None:
    expected = set()
    for first, second in combinations(range(len(texts)), 2):
        one, other = character_ngrams(texts[first]), character_ngrams(texts[second])
        if one | other and len(one & other) / len(one | other) >= threshold:
            expected.add((first, second))

    found = near_duplicates(texts, threshold)

    assert {(pair.first, pair.second) for pair in found} == expected
    assert [pair.overlap for pair in found] == sorted((pair.overlap for pair in found), reverse=True)


@pytest.mark.parametrize("threshold", [0, -0.5, 1.01])
def test_a_threshold_outside_its_range_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="above 0 and up to 1"):
        near_duplicates(["a"], threshold)


def test_an_empty_ngram_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 character"):
        character_ngrams("a", gram=0)


def test_too_many_similar_texts_are_refused() -> None:
    # "abcd" in all three and " abc" and "bcd " each: three n-grams that three pairs share.
    assert len(near_duplicates(["abcd"] * 3, 0.5, most=9)) == 3
    with pytest.raises(TooAlikeError, match="9 comparisons are more than 8"):
        near_duplicates(["abcd"] * 3, 0.5, most=8)
