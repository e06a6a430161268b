import importlib

from django.apps import AppConfig
from typing_extensions import override


class QuestionnairesConfig(AppConfig):
    name = "turnwise.questionnaires"

    @override
    def ready(self) -> None:
        importlib.import_module("turnwise.questionnaires.services")  # registers the questionnaire gate
