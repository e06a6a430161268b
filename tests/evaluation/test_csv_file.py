"""Numbers as people write them in files."""

import pytest

from evaluation.files.reading import number


@pytest.mark.parametrize(
    ("text", "value"),
    [("12", 12.0), ("12.", 12.0), ("-1.5", -1.5), (".5", 0.5), ("+2e3", 2000.0), ("1.E-1", 0.1)],
)
def test_a_number_is_read_as_it_is_written(text: str, value: float) -> None:
    assert number(text) == value


@pytest.mark.parametrize("text", ["", ".", "1.2.3", "e5", "1e", "1e5.0", "0x10", "1_000", "٣"])
def test_text_instead_of_a_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="number"):
        number(text)


def test_a_cell_of_a_million_digits_is_parsed_quickly() -> None:
    """As many steps as digits, not as the square of that."""
    with pytest.raises(ValueError, match="number"):
        number("1" * 1_000_000 + "x")
