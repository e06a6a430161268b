"""The package's version comes from the newest tag, and every other source can be built as well."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AUTHOR = ("-c", "user.name=Builder", "-c", "user.email=builder@example.org")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """What names the version, without git."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def version_of(folder: Path) -> str:
    build = [sys.executable, "-m", "hatchling", "metadata", "version"]
    return subprocess.run(build, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *AUTHOR, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "First")


def test_a_release_has_the_version_of_its_tag(sources: Path) -> None:
    commit(sources)
    git(sources, "tag", "v1.2.3")

    assert version_of(sources) == "1.2.3"


def test_a_commit_after_a_release_is_newer_and_named(sources: Path) -> None:
    commit(sources)
    git(sources, "tag", "v1.2.3")
    git(sources, "commit", "--quiet", "--allow-empty", "--message", "Second")

    assert version_of(sources).startswith("1.2.4.dev1+g")


def test_a_clone_without_tags_names_its_commit(sources: Path) -> None:
    commit(sources)

    assert version_of(sources).startswith("0.1.dev1+g")


def test_sources_without_git_have_a_version(sources: Path) -> None:
    assert version_of(sources) == "0.1.dev0"
