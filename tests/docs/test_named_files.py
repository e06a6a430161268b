"""Every file that a page of the docs names is there: a file that moves takes its name along."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    {*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md"}
)
# Of other projects: where a method or its published figures come from.
ELSEWHERE = {"nltk/chat/eliza.py", "parlai/core/metrics.py"}
_NAMED = re.compile(r"`((?:[\w-]+/)+[\w-]+\.(?:py|sql|js|html|sh))\b")


@pytest.fixture(scope="module")
def files() -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)
    return listed.stdout.splitlines()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_it_is_there(page: Path, files: list[str]) -> None:
    named = {name for name in _NAMED.findall(page.read_text(encoding="utf-8")) if not name.startswith("APP/")}

    assert {
        name for name in named - ELSEWHERE if not any(f"/{file}".endswith(f"/{name}") for file in files)
    } == set()
