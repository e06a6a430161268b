from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transcripts.relaying import joined, parsed


def test_names_before_colons_tell_who_speaks() -> None:
    text = "Mitsuku: Hi there.\nYou: Hi!\nMitsuku: How are you?\nIt rains here.\n\nYou: Fine: thanks."

    assert parsed(text) == [
        (False, "Hi there."),
        (True, "Hi!"),
        (False, "How are you?\nIt rains here."),
        (True, "Fine: thanks."),
    ]


def test_the_first_of_two_strange_names_is_the_human() -> None:
    assert parsed("小明：你好\n小冰：在呢") == [(True, "你好"), (False, "在呢")]  # noqa: RUF001


def test_without_names_lines_alternate_beginning_with_the_human() -> None:
    assert parsed("Hi!\n\n Hello. \nSee http://example.org\n") == [
        (True, "Hi!"),
        (False, "Hello."),
        (True, "See http://example.org"),
    ]


def test_a_name_that_is_used_less_than_two_others_is_part_of_a_turn() -> None:
    text = "You: Hi!\nBot: Hello.\nNote: it blinks\nYou: Bye.\nBot: Bye."

    assert parsed(text)[1] == (False, "Hello.\nNote: it blinks")


@pytest.mark.parametrize("text", ["", " \n\t\n"])
def test_nothing_is_no_turn(text: str) -> None:
    assert parsed(text) == []


@given(st.lists(st.tuples(st.booleans(), st.text(max_size=5))))
def test_joined_turns_alternate_and_lose_no_word(turns: list[tuple[bool, str]]) -> None:
    result = joined(turns)

    assert all(first[0] != second[0] for first, second in pairwise(result))
    assert all(text for _, text in result)
    assert [word for _, text in result for word in text.split()] == [
        word for _, text in turns for word in text.split()
    ]


@given(st.text(alphabet="A:B \n你：/x"))  # noqa: RUF001
def test_any_paste_can_be_read(text: str) -> None:
    assert all(isinstance(human, bool) for human, _ in parsed(text))
