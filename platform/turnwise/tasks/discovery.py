"""Finds the parts of every task by their names: a folder with a `task.py` is a task."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

from celery import shared_task


def parts_named(part: str) -> Iterator[ModuleType]:
    """This module of each task that has it, in the order of the folders' names."""
    for task in sorted(Path(__file__).parent.glob("*/task.py")):
        if task.with_name(f"{part}.py").exists():
            yield import_module(f"turnwise.tasks.{task.parent.name}.{part}")


@shared_task
def take_up() -> None:
    """Every few seconds: have each task take up what a process has left that died."""
    for each in parts_named("jobs"):
        each.take_up()
