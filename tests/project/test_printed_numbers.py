"""Numbers are printed by one filter: with a minus sign, a space before the percent sign, and no p of 0."""

import re
from pathlib import Path

import pytest

from evaluation.printed import figure, p_equals, p_value, percent, signed

TEMPLATES = Path(__file__).parents[2] / "templates"
# A decimal number that Django's own filter prints has a hyphen for a minus, and another decimal point in
# languages that have one. What it may print: sums of money, milliseconds and what else is never below 0.
RESULTS = ("reports", "judging", "tasks", "labels")


@pytest.mark.parametrize("folder", RESULTS)
def test_no_page_of_results_prints_decimals_by_another_filter(folder: str) -> None:
    other = re.compile(r"\|(floatformat:[12]|stringformat:)")
    found = [
        f"{path.relative_to(TEMPLATES)}: {each.group()}"
        for path in (TEMPLATES / folder).rglob("*.html")
        for each in other.finditer(path.read_text())
    ]

    assert found == []


def test_no_text_of_a_page_has_a_percent_sign_without_its_space() -> None:
    texts = re.compile(r"{#.*?#}|{% (?:end)?(?:block|if|elif|else|for|with|include|load|url|comment)[^%]*%}")
    found = [
        f"{path.relative_to(TEMPLATES)}: {each.group()}"
        for path in TEMPLATES.rglob("*.html")
        for each in re.finditer(r"(?:\d|}})%(?!})[^\n]{0,20}", texts.sub(" ", path.read_text()))
        if 'style="' not in path.read_text()[: each.start()][-60:]
    ]

    assert found == []


def test_what_is_printed() -> None:
    assert [figure(-0.04), figure(-1.25, 1), signed(2.0), signed(-2.0)] == ["0.0", "−1.2", "+2.0", "−2.0"]  # noqa: RUF001
    assert [p_value(0.0), p_value(0.0009), p_value(0.05), p_value(None)] == [
        "< 0.001", "< 0.001", "0.050", "unknown",
    ]  # fmt: skip
    assert [p_equals(0.0), p_equals(0.5), percent(0.95), percent(0.9)] == [
        "p < 0.001",
        "p = 0.500",
        "95 %",
        "90 %",
    ]
