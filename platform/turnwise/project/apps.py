"""App configuration of the whole project: what every process with models loads at its start."""

from importlib import import_module

import django_stubs_ext
from django.apps import AppConfig
from typing_extensions import override

# Lets `ModelAdmin[Study]` and the like, which the type checker wants, exist at run time: before any model.
django_stubs_ext.monkeypatch()

REGISTERING = (
    "turnwise.studies.queries",  # which question sets a person may read
    "turnwise.questionnaires.services",  # the gate of questionnaires
    "turnwise.quality.gates",  # the gates of blocks and qualifications
    "turnwise.publications.removal",  # deletes published rows that somebody withdraws
    "turnwise.webhooks.outbox",  # stores published events
    "turnwise.project.celery",  # so that every process can send jobs
)
"""Modules that register something when they are imported."""


class ProjectConfig(AppConfig):
    name = "turnwise.project"

    @override
    def ready(self) -> None:
        # Its job of all tasks is registered, too: Celery itself only searches modules named `tasks`.
        from turnwise.tasks import discovery

        for module in REGISTERING:
            import_module(module)
        discovery.register_tasks()
