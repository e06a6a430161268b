"""Texts as a researcher pastes them become sections, or are refused with the line that is wrong."""

import pytest
from django.core.exceptions import ValidationError

from turnwise.knowledge.reading_sets import LONGEST_TEXT, MOST_SECTIONS, Section, parse_pasted


def test_lines_with_a_hash_name_sections() -> None:
    source = "\r\n# Bees\r\nThey dance.\r\n\r\nThey sting. C# too.\r\n## The *hive* ##\r\nWarm.\r\n"

    assert parse_pasted(source) == [
        Section("S1", "Bees", "They dance.\n\nThey sting. C# too."),
        Section("S2", "The *hive*", "Warm."),
    ]


def test_a_text_without_names_is_one_section() -> None:
    assert parse_pasted("Only\nthis.") == [Section("S1", "To read", "Only\nthis.")]
    assert parse_pasted(" \n") == []


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("\n\n# A\nText\n#\nMore", "Line 5: a # without a name."),
        ("# A\n# B\nText", "Line 1: there is no text under “A”."),
        (f"# {'a' * 121}\nText", "Line 1: the name has 121 characters, more than 120."),
        (f"Text\n# B\n{'b' * (LONGEST_TEXT + 1)}", "Line 2: “B” has 32,001 characters, more than 32,000."),
        ("# A\nText\n" * (MOST_SECTIONS + 1), "Line 61 begins section 31, and there is room for 30."),
    ],
)
def test_what_cannot_be_read_is_named(source: str, why: str) -> None:
    with pytest.raises(ValidationError, match=why.replace("(", r"\(")):
        parse_pasted(source)
