"""The page for reviewers names every module, command and key that exists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation.__main__ import SSA_COLUMNS, main
from evaluation.texts.repetition import MIN_SHARE, MIN_WORDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")


def test_the_page_documents_every_module():
    modules = {f"evaluation/{path.name}" for path in (ROOT / "evaluation").glob("*.py")}

    assert set(re.findall(r"`(evaluation/\w+\.py)`", PAGE)) == modules - {"evaluation/__init__.py"}


def test_the_thresholds_on_the_page_are_those_of_the_rule():
    assert f"at least {MIN_WORDS} words and at least {MIN_SHARE:.0%}".replace("%", " %") in PAGE


@pytest.mark.parametrize("command", ["agreement", "ssa"])
def test_the_options_on_the_page_exist(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    described = capsys.readouterr().out
    usage = next(line for line in PAGE.splitlines() if line.startswith(f"python -m evaluation {command}"))

    assert all(option in described for option in re.findall(r"--[a-z]+", usage))
    assert command == "agreement" or all(column in described for column in SSA_COLUMNS)


_NAMED = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def undocumented(node: ast.AST, of: str) -> Iterator[str]:
    """Public classes, functions, methods and properties without a docstring."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, _NAMED) and not each.name.startswith("_"):
            if ast.get_docstring(each) is None:
                yield f"{of}: {each.name}"
            if isinstance(each, ast.ClassDef):
                yield from undocumented(each, of)


@pytest.mark.parametrize("package", ["evaluation", "chatbots"])
def test_everything_public_says_what_it_is(package):
    files = sorted((ROOT / package).rglob("*.py"))

    assert [name for path in files for name in undocumented(ast.parse(path.read_text()), path.name)] == []
