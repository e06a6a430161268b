"""`platform/` is a source root that must never become a package: `import platform` is Python's own."""

import importlib.util
import platform
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "platform" / "turnwise"
APPS = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists())


def test_platform_folder_is_a_source_root_not_a_package() -> None:
    assert platform.python_version()
    assert not list((ROOT / "platform").glob("*.py"))


def test_all_apps_are_in_the_one_package() -> None:
    assert [path.name for path in (ROOT / "platform").iterdir() if path.name != "__pycache__"] == ["turnwise"]
    assert {"studies", "dialogues"} < set(APPS)
    for app in APPS:
        spec = importlib.util.find_spec(f"turnwise.{app}")
        assert spec
        assert spec.origin == str(PACKAGE / app / "__init__.py")


def test_modules_import_one_another_in_no_circle() -> None:
    """Counts every import: at the top of a module, in a function, and for annotations alone."""
    graph = grimp.build_graph("turnwise", "chatbots", "evaluation", cache_dir=None)
    imported = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}

    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_pinned_versions_name_no_index() -> None:
    pins = (ROOT / "constraints.txt").read_text()

    assert "://" not in pins
    assert all("==" in line for line in pins.splitlines() if line and not line.startswith("#"))
