"""Texts cut into sentences, however they are spaced."""

import pytest

from chatbots.knowledge.oracle import sentences_of


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two!  Three?", ["One.", "Two!", "Three?"]),
        ("Mr. Moss came. He left.", ["Mr. Moss came.", "He left."]),
        ("a line \n\n another", ["a line", "another"]),
        ("It ended.\n  and went on", ["It ended.", "and went on"]),
        (" \n ", []),
    ],
)
def test_a_mark_or_a_line_break_ends_a_sentence(text: str, sentences: list[str]) -> None:
    assert sentences_of(text) == sentences


def test_a_million_blanks_take_no_hours() -> None:
    """As many steps as blanks, not as the square of that: whoever talks in this process would wait."""
    assert sentences_of("It ended." + " " * 1_000_000 + "and went on") == [
        "It ended." + " " * 1_000_000 + "and went on"
    ]
