"""Finds the parts of every task by their names: a folder with a `task.py` is a task."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType


def each(part: str) -> Iterator[ModuleType]:
    """This module of each task that has it, in the order of the folders' names."""
    for task in sorted(Path(__file__).parent.glob("*/task.py")):
        if task.with_name(f"{part}.py").exists():
            yield import_module(f"turnwise.tasks.{task.parent.name}.{part}")
