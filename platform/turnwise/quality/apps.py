"""App configuration of quality."""

import importlib

from django.apps import AppConfig
from typing_extensions import override


class QualityConfig(AppConfig):
    name = "turnwise.quality"

    @override
    def ready(self) -> None:
        importlib.import_module("turnwise.quality.gates")  # registers the gates
