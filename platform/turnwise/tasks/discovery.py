"""Find the parts of every task by their names: a folder with a `task.py` is a task."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

from celery import shared_task


def parts_named(part: str) -> Iterator[ModuleType]:
    """Import this module of each task that has it, in the order of the folder names."""
    for task in sorted(Path(__file__).parent.glob("*/task.py")):
        if task.with_name(f"{part}.py").exists():
            yield import_module(f"turnwise.tasks.{task.parent.name}.{part}")


def register_tasks() -> None:
    """Import every `task` module, which registers its task."""
    list(parts_named("task"))


@shared_task
def take_up() -> None:
    """Resume the work of processes that have died, for each task; runs every few seconds."""
    for each in parts_named("jobs"):
        each.take_up()
