"""Numbers are printed by one filter: with a minus sign, no p of 0, and on one line with their unit."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from evaluation.files.writing import figure, p_equals, p_value, percent, signed

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "templates"
# A number and what it counts, with a space at which a line may end.
PARTED = re.compile(r"(?:\d|}|\)[sd]|^) (?:%(?![\w(}])|(?:ms|s|h|MB|GB|MiB|GiB)\b)")
# What these say is read in a terminal or a log.
ON_NO_PAGE = ("project", "live", "commands", "migrations")
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


def in_templates() -> Iterator[tuple[Path, str]]:
    for path in TEMPLATES.rglob("*.html"):
        yield path, re.sub(r"{#.*?#}|{% comment %}.*?{% endcomment %}", "", path.read_text(), flags=re.DOTALL)


def in_scripts() -> Iterator[tuple[Path, str]]:
    for path in (ROOT / "static" / "js").rglob("*.js"):
        comments = re.compile(r"/\*.*?\*/|(?<![:'\"])//[^\n]*", flags=re.DOTALL)
        yield path, comments.sub("", path.read_text())


def in_programs() -> Iterator[tuple[Path, str]]:
    """What stands between quotation marks; not what functions and modules say of themselves."""
    for folder in ("platform", "evaluation"):
        for path in (ROOT / folder).rglob("*.py"):
            if set(ON_NO_PAGE) & {*path.parts}:
                continue
            tree = ast.parse(path.read_text())
            remarks = {each.value for each in ast.walk(tree) if isinstance(each, ast.Expr)}
            for node in ast.walk(tree):
                if isinstance(node, ast.JoinedStr):
                    yield path, ast.unparse(node)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in remarks:
                    yield path, node.value


def in_catalogs() -> Iterator[tuple[Path, str]]:
    for path in (ROOT / "locale").rglob("*.po"):
        yield path, path.read_text()
    for path in (ROOT / "evaluation" / "questions").rglob("*.json"):
        yield path, path.read_text()


@pytest.mark.parametrize("texts", [in_templates, in_scripts, in_programs, in_catalogs])
def test_no_line_ends_between_a_number_and_its_unit(
    texts: Callable[[], Iterator[tuple[Path, str]]],
) -> None:
    """Mended by `&nbsp;` in templates; in programs by `with_unit` and `percent`."""
    found = [
        f"{path.relative_to(ROOT)}: {text[max(0, each.start() - 30) : each.end() + 10]}"
        for path, text in texts()
        for each in PARTED.finditer(text)
    ]

    assert found == []


def test_what_is_printed() -> None:
    assert [figure(269_199_999_999_999_995_805_696.0, 2), figure(-1.0e6)] == ["2.7e23", "−1.0e6"]  # noqa: RUF001
    assert [figure(-0.04), figure(-1.25, 1), signed(2.0), signed(-2.0)] == ["0.0", "−1.2", "+2.0", "−2.0"]  # noqa: RUF001
    assert [p_value(0.0), p_value(0.0009), p_value(0.05), p_value(None)] == [
        "< 0.001", "< 0.001", "0.050", "unknown",
    ]  # fmt: skip
    assert [p_equals(0.0), p_equals(0.5), percent(0.95), percent(0.9)] == [
        "p < 0.001",
        "p = 0.500",
        "95\u00a0%",
        "90\u00a0%",
    ]
