"""What docstrings and `__all__` name is there: a thing that is renamed takes its name along."""

import ast
import builtins
import keyword
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = ("chatbots", "evaluation", "platform")
ELSEWHERE = {"TfidfVectorizer", "glmer"}
"""Functions of other libraries and languages."""

_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_QUOTED = re.compile(r"`([A-Za-z_][\w.]*)(?:\(\))?`")


@cache
def trees() -> dict[Path, ast.Module]:
    files = [path for folder in PRODUCT for path in sorted((ROOT / folder).rglob("*.py"))]
    return {path: ast.parse(path.read_text()) for path in files}


def docstrings() -> Iterator[tuple[str, str]]:
    """Each docstring, with where it stands."""
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, _DOCUMENTED) and (text := ast.get_docstring(node)):
                yield f"{path.relative_to(ROOT)}: {getattr(node, 'name', 'module')}", text


@cache
def known_names() -> set[str]:
    """Every name in the code, and every string that could be one, such as a key or a column."""
    found = {*dir(builtins), *keyword.kwlist}
    for path, tree in trees().items():
        found |= {path.stem, *path.relative_to(ROOT).parts}
        for node in ast.walk(tree):
            found |= set(_names_of(node))
    files = [path for path in ROOT.rglob("*") if path.suffix in {".sql", ".html", ".js", ".md", ".sh"}]
    return found | {path.name for path in files} | {path.stem for path in files}


def _names_of(node: ast.AST) -> Iterator[str]:
    for field in ("id", "arg", "attr", "name", "asname", "module"):
        if isinstance(name := getattr(node, field, None), str):
            yield from name.split(".")
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 100:
        yield from re.findall(r"\w+", node.value)


def test_every_name_in_backticks_exists() -> None:
    lost = {
        f"{where}: {name}"
        for where, text in docstrings()
        for name in _QUOTED.findall(text)
        if name.rpartition(".")[2] not in known_names() | ELSEWHERE
    }

    assert lost == set()


def test_every_exception_that_a_docstring_names_exists() -> None:
    lost = {
        f"{where}: {name}"
        for where, text in docstrings()
        for part in re.findall(r"^Raises:\n((?: +.*\n?)+)", text, flags=re.MULTILINE)
        for name in re.findall(r"^    (\w+):", part, flags=re.MULTILINE)
        if name not in known_names()
    }

    assert lost == set()


def test_a_module_defines_what_it_offers() -> None:
    lost = {
        f"{path.relative_to(ROOT)}: {name}"
        for path, tree in trees().items()
        for name in _offered(tree) - {name for node in ast.walk(tree) for name in _defined(node)}
    }

    assert lost == set()


def _offered(tree: ast.Module) -> set[str]:
    values = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and [getattr(each, "id", "") for each in node.targets] == ["__all__"]
    ]
    return {name for value in values for name in ast.literal_eval(value)}


def _defined(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name
    elif isinstance(node, ast.alias):
        yield node.asname or node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
