"""Copy of the languages and their texts in this process, renewed within seconds of a change.

One short query every `CHECK_SECONDS` asks whether anything changed, and only where a language other than
English is wanted. Texts are read when they changed, all of a language in one query.
"""

import asyncio
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from django.db.models import Count, Max

from turnwise.languages.models import Language, Revision, Translation
from turnwise.languages.texts import shipped_base, worker_texts
from turnwise.live.database import in_database
from turnwise.live.rendering.replaced_texts import Key, replace_texts, restore_texts

CHECK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class LiveLanguage:
    """A language that is in use.

    Attributes:
        code: its code, such as es-MX.
        catalog: the code as Django writes it.
        name: its English name.
        local_name: its name in itself.
        version: newest revision.
        questions: translations of the question sets that come with Turnwise, by English text.
    """

    code: str
    catalog: str
    name: str
    local_name: str
    version: int
    questions: Mapping[str, str]


@dataclass
class _Copy:
    """Languages that this process has read, and until when they count as fresh."""

    fresh_until: float = 0.0
    state: tuple[int, int | None] = (0, None)
    languages: dict[str, LiveLanguage] = field(default_factory=dict)
    """By code in lower case."""


_copy = _Copy()
_lock = threading.Lock()


def refresh(*, at_once: bool = False) -> None:
    """Renew the copy if it is older than `CHECK_SECONDS`.

    On an event loop nothing is asked, as a query would block it: sockets call `refresh_async`.
    """
    if (not at_once and time.monotonic() < _copy.fresh_until) or _is_on_event_loop():
        return
    # A slow query holds up nobody: others go on with the copy that they have.
    if not _lock.acquire(blocking=at_once or not is_in_use()):
        return
    try:
        if not at_once and time.monotonic() < _copy.fresh_until:
            return
        found = Revision.objects.aggregate(number=Count("pk"), newest=Max("pk"))
        state = (found["number"], found["newest"])
        if state != _copy.state:
            _load()
            _copy.state = state
        _copy.fresh_until = time.monotonic() + CHECK_SECONDS
    finally:
        _lock.release()


async def refresh_async() -> None:
    """Do as `refresh`, for sockets."""
    if time.monotonic() >= _copy.fresh_until:
        await in_database(refresh)


def is_in_use() -> bool:
    """True if this process ever wanted a language other than English."""
    return _copy.fresh_until > 0


def forget() -> None:
    """Use the catalogs of locale/ alone, as tests do, which begin with another database."""
    for language in _copy.languages.values():
        restore_texts(language.catalog)
    _copy.languages, _copy.state, _copy.fresh_until = {}, (0, None), 0.0


def live_language(code: str) -> LiveLanguage | None:
    """The language of this code, in any case; None if it is not in use."""
    refresh()
    return _copy.languages.get(code.lower())


def live_languages() -> list[LiveLanguage]:
    """All languages in use, by name."""
    refresh()
    return sorted(_copy.languages.values(), key=lambda each: each.name)


def _is_on_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _load() -> None:
    """Read the languages that changed, and put their texts above the catalogs."""
    active = Language.objects.filter(active=True).annotate(newest=Max("revisions__pk"))
    wanted = {language.catalog: language for language in active}
    for gone in set(_copy.languages) - set(wanted):
        restore_texts(gone)
    before = _copy.languages
    changed = [
        each for code, each in wanted.items() if code not in before or before[code].version != each.newest
    ]
    kept = {code: before[code] for code in wanted if code in before}
    _copy.languages = kept | {each.catalog: _loaded(each) for each in changed}


def _loaded(language: Language) -> LiveLanguage:
    texts = worker_texts()
    forms = {key: forms for key, forms in current_forms(language).items() if forms and key in texts}
    version: int = language.newest  # type: ignore[attr-defined]  # annotated
    catalog: dict[Key, str] = {}
    for key, each in forms.items():
        text = texts[key]
        name = f"{text.context}\x04{text.english}" if text.context else text.english
        catalog |= {(name, n): form for n, form in enumerate(each)} if text.plural else {name: each[0]}
    base = shipped_base(language.code)
    replace_texts(
        language.catalog,
        catalog,
        plural_forms=language.plural_forms,
        version=version,
        right_to_left=language.right_to_left,
        beneath="" if base == language.catalog else base,
    )
    questions = {texts[key].english: each[0] for key, each in forms.items() if not texts[key].plural}
    return LiveLanguage(
        language.code, language.catalog, language.name, language.local_name, version, questions
    )


def current_forms(language: Language, *, until: int | None = None) -> dict[str, list[str]]:
    """Translations written in the product by key; an empty list is one that was withdrawn.

    Args:
        language: the language.
        until: only as of this revision; None for the newest.
    """
    rows = Translation.objects.filter(revision__language=language)
    if until is not None:
        rows = rows.filter(revision_id__lte=until)
    newest = rows.order_by("key", "-revision_id").distinct("key")
    return dict(newest.values_list("key", "forms"))
