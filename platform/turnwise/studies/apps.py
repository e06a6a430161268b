import importlib

from django.apps import AppConfig
from typing_extensions import override


class StudiesConfig(AppConfig):
    name = "turnwise.studies"

    @override
    def ready(self) -> None:
        importlib.import_module("turnwise.studies.queries")  # registers which question sets a person may read
