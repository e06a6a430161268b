from importlib import import_module

from django.apps import AppConfig
from typing_extensions import override

from turnwise.tasks import discovery


class TasksConfig(AppConfig):
    """App of all tasks; it holds the tables of each of them."""

    name = "turnwise.tasks"

    @override
    def ready(self) -> None:
        list(discovery.parts_named("task"))
        import_module("turnwise.tasks.discovery")  # Celery itself only searches modules named tasks
