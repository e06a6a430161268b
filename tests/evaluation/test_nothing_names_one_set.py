"""No code but the declaration of a question set and its publications names its questions and scores."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = ("evaluation", "platform", "chatbots", "templates", "static")
ENDINGS = {".py", ".html", ".js", ".css", ".sql", ".json"}

# A key in quotes, as an attribute, as a keyword, or in a condition of a template.
NAMED = re.compile(
    r"""(['"])(?:ssa|sensible|specific)\1|\.(?:ssa|sensible|specific)\b(?! import)|\b(?:sensible|specific)="""
)

DECLARED = ("evaluation/questions/sets/ssa.py", "evaluation/protocols/")
"""Where the set is declared, and what was published of it."""

STATISTICS_OF_ONE_PAPER = (
    "evaluation/__main__.py",  # `python -m evaluation ssa`: a file with these columns
    "evaluation/rater_agreement/influence.py",
    "evaluation/statistics/labels.py",
    "evaluation/statistics/ssa.py",
    "platform/turnwise/project/papers/program.py",  # figures of the Meena paper, recomputed
)
"""Functions over two columns, sensible and specific, for those who compute from their own files."""

A_DEFAULT = ("platform/turnwise/studies/", "platform/turnwise/tasks/judging/demo.py")
"""A new study starts with the questions of the paper, and the demo study of a judge has them."""


MADE = ("platform/turnwise/front_door/examples/",)
"""Example reports, written by a script."""


def sources() -> list[str]:
    found = [path for place in PLACES for path in (ROOT / place).rglob("*") if path.suffix in ENDINGS]
    # The words that a trained model knows are no code.
    return sorted(str(path.relative_to(ROOT)) for path in found if "pretrained" not in path.parts)


def test_no_other_module_names_the_questions_of_one_set() -> None:
    exempt = (*DECLARED, *STATISTICS_OF_ONE_PAPER, *A_DEFAULT, *MADE)
    named = {
        f"{name}:{number}: {line.strip()}"
        for name in sources()
        if not name.startswith(exempt)
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1)
        if NAMED.search(line)
    }

    assert named == set()


@pytest.mark.parametrize("name", [*DECLARED, *STATISTICS_OF_ONE_PAPER, *A_DEFAULT])
def test_no_unneeded_exemption_is_left(name: str) -> None:
    files = [each for each in sources() if each.startswith(name)]

    assert any(NAMED.search((ROOT / each).read_text()) for each in files)


@pytest.mark.parametrize("package", ["platform", "evaluation/report"])
def test_no_page_and_no_report_uses_the_statistics_of_one_paper(package: str) -> None:
    names = {name.removesuffix(".py").replace("/", ".") for name in STATISTICS_OF_ONE_PAPER}
    modules = "|".join(sorted(names - {"evaluation.__main__", "evaluation.statistics.labels"}))
    used = re.compile(rf"from (?:{modules}) import (?!spread\b)")
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / package).rglob("*.py")
        if used.search(path.read_text())
    }

    assert found == set()
