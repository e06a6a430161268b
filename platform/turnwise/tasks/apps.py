from importlib import import_module

from django.apps import AppConfig
from typing_extensions import override

from turnwise.tasks import discovery


class TasksConfig(AppConfig):
    """All tasks. Their tables belong to this app, wherever their folders are."""

    name = "turnwise.tasks"

    @override
    def ready(self) -> None:
        list(discovery.parts_named("task"))
        import_module(
            "turnwise.tasks.discovery"
        )  # Celery itself looks only into modules that are called tasks
