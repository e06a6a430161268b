"""Importers: readers of files of conversations, one module per format. They use no database."""

from importlib import import_module
from pkgutil import iter_modules

from turnwise.transcripts.importers.checking import Checked, Limits, checked
from turnwise.transcripts.importers.formats import (
    FORMATS,
    Conversation,
    Problem,
    Rated,
    ResearcherSets,
    Source,
    UnreadableError,
    guessed,
)

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = [
    "FORMATS",
    "Checked",
    "Conversation",
    "Limits",
    "Problem",
    "Rated",
    "ResearcherSets",
    "Source",
    "UnreadableError",
    "checked",
    "guessed",
]
