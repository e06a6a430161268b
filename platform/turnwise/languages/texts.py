"""All texts that workers can read, with where they are used and the translations that come with Turnwise."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import to_locale

from evaluation.questions import QUESTION_SETS
from evaluation.questions.checks import texts_of
from evaluation.questions.declarations import shipped_translations
from evaluation.questions.sets.preference import TRAINING
from turnwise.languages.catalog_files import CatalogEntry, read_catalog

QUESTIONS = "questions"
LONGEST = 4000
LONGEST_LINE, LONGEST_CAPTION = 300, 120
"""As in `evaluation.questions.validation`."""

AREAS: Mapping[str, tuple[Promise, tuple[str, ...]]] = {
    "entry": (_("First page, consent, instructions, last page"), ("templates/crowd/", "turnwise/crowd/")),
    "chat": (
        _("Conversation"),
        ("conversation", "turnwise/dialogues/", "templates/chat/", "static/js/chat/", "two_people", "arena"),
    ),
    "judging": (_("Judging, pairs and writing"), ("judging", "pairs", "writing", "responses")),
    "data": (_("Personal data"), ("privacy",)),
    QUESTIONS: (_("Questions that come with Turnwise"), ("evaluation/questions", "questionnaires")),
    "other": (_("Everywhere"), ("",)),
}
"""Where texts are used: title, and parts of the paths of files. The first area that fits counts."""


@dataclass(frozen=True, slots=True)
class WorkerText:
    """A text that workers can read.

    Attributes:
        key: hash of the text, its plural and its context.
        english: the text; its singular if it has a plural.
        plural: the form for other numbers, or "".
        context: what distinguishes it from an equal text, or "".
        sources: files in which it is used.
        area: key of `AREAS`.
        most: most characters of a translation.
        is_question: True if it belongs to a question set.
    """

    key: str
    english: str
    plural: str
    context: str
    sources: tuple[str, ...]
    area: str
    most: int
    is_question: bool = False

    @property
    def title_of_area(self) -> str:
        """Where it is used, in words."""
        return str(AREAS[self.area][0])


def key_of(english: str, plural: str = "", context: str = "") -> str:
    """Key of a text."""
    return sha256("\x04".join((context, english, plural)).encode()).hexdigest()[:32]


@cache
def worker_texts() -> Mapping[str, WorkerText]:
    """All texts by key, sorted by where they are used.

    Every catalog of locale/ lists the same texts of pages (tests/project/test_catalogs.py), so any will do.
    """
    limits = _question_limits()
    pages = [_of_page(entry, limits) for entry in _shipped_catalog(_catalogs()[0].name)]
    known = {text.english for text in pages if not text.plural and not text.context}
    questions = [
        _of_question(english, sources, limits)
        for english, sources in _question_texts().items()
        if english not in known
    ]
    order = list(AREAS)
    every = sorted((*pages, *questions), key=lambda text: order.index(text.area))
    return {text.key: text for text in every}


def _of_page(entry: CatalogEntry, limits: Mapping[str, int]) -> WorkerText:
    key, most = key_of(entry.english, entry.plural, entry.context), _most(entry.english, entry.plural, limits)
    area = _area(entry.sources)
    return WorkerText(key, entry.english, entry.plural, entry.context, entry.sources, area, most)


def _of_question(english: str, sources: tuple[str, ...], limits: Mapping[str, int]) -> WorkerText:
    most = _most(english, "", limits)
    return WorkerText(key_of(english), english, "", "", sources, QUESTIONS, most, is_question=True)


def _most(english: str, plural: str, limits: Mapping[str, int]) -> int:
    """Most characters of a translation: generous, but no more than its place in a question can hold."""
    return min(4 * max(len(english), len(plural)) + 200, limits.get(english, LONGEST))


def _question_limits() -> dict[str, int]:
    """The limits of texts that are captions or wordings of shipped questions."""
    limits: dict[str, int] = {}
    for questions in QUESTION_SETS.values():
        for question in questions.questions:
            limits[question.wording] = min(LONGEST_LINE, limits.get(question.wording, LONGEST_LINE))
            for choice in question.choices:
                limits |= dict.fromkeys((choice.label, choice.hint), LONGEST_CAPTION)
    return limits


def _area(sources: Iterable[str]) -> str:
    first = next(iter(sources), "")
    return next(area for area, (_title, parts) in AREAS.items() if any(part in first for part in parts))


def _question_texts() -> dict[str, tuple[str, ...]]:
    """English texts of the shipped question sets, with the keys of the sets that use them."""
    found: dict[str, dict[str, None]] = {}
    for key, questions in QUESTION_SETS.items():
        examples = (*questions.examples, *TRAINING.get(key, ()))
        for text in texts_of(questions.questions, examples):
            if any(character.isalpha() for character in text):  # a scale's bare numbers stay as they are
                found.setdefault(text, {})[f"evaluation/questions: {key}"] = None
    return {text: tuple(sources) for text, sources in found.items()}


def _catalogs() -> list[Path]:
    """Folders of the languages in locale/."""
    return sorted(path for path in settings.LOCALE_PATHS[0].iterdir() if path.is_dir())


@cache
def _shipped_catalog(locale: str) -> tuple[CatalogEntry, ...]:
    path = settings.LOCALE_PATHS[0] / locale / "LC_MESSAGES" / "django.po"
    return tuple(read_catalog(path.read_text(encoding="utf-8")).entries) if path.exists() else ()


def shipped_base(code: str) -> str:
    """Language that comes with Turnwise and has a language's texts: itself or its general form; or ""."""
    shipped = {each for each, _name in settings.LANGUAGES if each != settings.LANGUAGE_CODE}
    lower = code.lower()
    return next((each for each in (lower, lower.split("-")[0]) if each in shipped), "")


@cache
def shipped_forms(code: str, number_of_forms: int) -> Mapping[str, tuple[str, ...]]:
    """Complete translations of a language that come with Turnwise, by key of the text.

    Args:
        code: code of the language.
        number_of_forms: how many plural forms it has. Its general form may have another number; then the
            texts with plurals are left out.
    """
    base = shipped_base(code)
    found = {}
    for entry in _shipped_catalog(to_locale(base)) if base else ():
        wanted = number_of_forms if entry.plural else 1
        if len(entry.forms) == wanted and all(entry.forms) and not entry.is_fuzzy:
            found[key_of(entry.english, entry.plural, entry.context)] = entry.forms
    texts = shipped_translations()
    general = code.split("-")[0].lower()
    of_questions = {**texts.get(general, {}), **texts.get(code, {})}
    return found | {key_of(english): (text,) for english, text in of_questions.items() if text}
