"""The table of a language's texts: what is translated, by whom, and what is missing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import Q, QuerySet

from turnwise.accounts.models import User
from turnwise.languages.live_texts import current_forms
from turnwise.languages.models import Language, Translation
from turnwise.languages.plurals import example_numbers
from turnwise.languages.texts import WorkerText, shipped_forms, worker_texts

Forms = Sequence[str]


@dataclass(frozen=True)
class TextRow:
    """A text in the table of a language.

    Attributes:
        text: the English.
        shipped: the translation that comes with Turnwise; empty if there is none.
        written: the translation that was written in the product; empty if there is none.
        author: name of the person who wrote it.
        saved_at: when they wrote it.
    """

    text: WorkerText
    shipped: Forms
    written: Forms
    author: str = ""
    saved_at: datetime | None = None

    @property
    def forms(self) -> Forms:
        """The translation that workers read; empty if it is missing."""
        return self.written or self.shipped

    @property
    def is_missing(self) -> bool:
        return not self.forms


@dataclass(frozen=True)
class Progress:
    """Number of a language's translated texts, and of all texts."""

    language: Language
    translated: int
    total: int

    @property
    def missing(self) -> int:
        return self.total - self.translated

    @cached_property
    def percent(self) -> int:
        """Share in percent; 100 only if nothing is missing."""
        return 100 * self.translated // self.total


def may_edit(user: User, language: Language) -> bool:
    """True for admins, for the person who added the language, and for its translators."""
    if user.is_superuser or language.created_by_id == user.pk:
        return True
    return language.editors.filter(pk=user.pk).exists()


def may_administer(user: User, language: Language) -> bool:
    """True for admins and the person who added the language."""
    return user.is_superuser or language.created_by_id == user.pk


def editable_languages(user: User) -> QuerySet[Language]:
    """Languages that a person may translate."""
    if user.is_superuser:
        return Language.objects.all()
    return Language.objects.filter(Q(created_by=user) | Q(editors=user)).distinct()


def rows_of(language: Language) -> list[TextRow]:
    """All texts in their order, with their translations."""
    shipped = shipped_forms(language.code, language.number_of_forms)
    newest = Translation.objects.filter(revision__language=language).order_by("key", "-revision_id")
    written = {row.key: row for row in newest.distinct("key").select_related("revision__author")}
    return [_row(text, shipped.get(key, ()), written.get(key)) for key, text in worker_texts().items()]


def _row(text: WorkerText, shipped: Forms, row: Translation | None) -> TextRow:
    if row is None:
        return TextRow(text, shipped, ())
    author = row.revision.author.get_username() if row.revision.author else ""
    return TextRow(text, shipped, row.forms, author, row.revision.saved_at)


def filtered(rows: Sequence[TextRow], *, find: str = "", only: str = "", area: str = "") -> list[TextRow]:
    """Narrow rows by a text in English or the language, to missing or written ones, and to an area."""
    sought = find.casefold()
    return [
        row
        for row in rows
        if (not only or (row.is_missing if only == "missing" else bool(row.written)))
        and (not area or row.text.area == area)
        and (not sought or any(sought in each.casefold() for each in _searched(row)))
    ]


def _searched(row: TextRow) -> Sequence[str]:
    return (row.text.english, row.text.plural, *row.forms, *row.text.sources)


def progress_of(language: Language) -> Progress:
    """Progress of a language, with the texts stored now."""
    return _progress(language, current_forms(language))


def used_by(codes: Iterable[str]) -> list[Progress]:
    """Progress of the languages in use that have the texts of these codes: their own, or the general form."""
    both = [each for code in codes for each in (code.lower(), code.split("-")[0].lower())]
    wanted = list(dict.fromkeys(both))
    known = {each.catalog: each for each in Language.objects.filter(active=True)}
    return [progress_of(known[code]) for code in wanted if code in known]


def all_progress() -> list[Progress]:
    """Every language with its progress, in two queries."""
    languages = list(Language.objects.select_related("created_by"))
    newest = Translation.objects.order_by("revision__language", "key", "-revision_id")
    rows = newest.distinct("revision__language", "key").values_list("revision__language", "key", "forms")
    written: dict[int, dict[str, Forms]] = {language.pk: {} for language in languages}
    for language_id, key, forms in rows:
        written[language_id][key] = forms
    return [_progress(language, written[language.pk]) for language in languages]


def _progress(language: Language, written: Mapping[str, Forms]) -> Progress:
    shipped, texts = shipped_forms(language.code, language.number_of_forms), worker_texts()
    return Progress(language, sum(bool(written.get(key) or shipped.get(key)) for key in texts), len(texts))


def form_labels(language: Language, text: WorkerText) -> Sequence[str]:
    """For each plural form, the numbers that use it; a single empty label for a text without plural."""
    return example_numbers(language.plural_forms) if text.plural else [""]
