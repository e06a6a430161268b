"""Writes of languages and their translations: everything that is stored passes the checks, or nothing is.

Templates insert translations without escaping them, as they do the English. So a translation has the tags and
values of the English text, and no other character that could end a tag, an attribute or a value.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import to_locale

from turnwise.accounts.models import User
from turnwise.languages.live_texts import current_forms
from turnwise.languages.models import Language, Revision, Translation
from turnwise.languages.texts import WorkerText, shipped_base, shipped_forms, worker_texts

TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_VALUE = re.compile(r"%\(\w+\)[sd]|\{[^{}]*\}")
_LOOSE = re.compile(r"[<>\"{}]|%%|%|&(?=[#\w])")
_CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_OPTIONAL = ("<kbd>", "</kbd>")
"""Tags of keys, which a language may not have."""
_WITHOUT_END = re.compile(r"<(?:br|wbr|hr|img)\b", re.IGNORECASE)


def faults(text: WorkerText, forms: Sequence[str], number_of_forms: int) -> list[str]:
    """Faults of a translation, in sentences; empty if it may be used.

    Args:
        text: the English.
        forms: the translation; of a text with a plural, all forms of the language.
        number_of_forms: how many plural forms the language has.
    """
    wanted = number_of_forms if text.plural else 1
    if len(forms) != wanted:
        return [
            _("It has %(n)d forms, but this text needs %(wanted)d.") % {"n": len(forms), "wanted": wanted}
        ]
    if not all(form.strip() for form in forms):
        return [_("Translate every plural form, or none.") if text.plural else _("It is empty.")]
    found = [
        says for n, form in enumerate(forms) for says in _faults_of_form(text, form, is_last=n == wanted - 1)
    ]
    return list(dict.fromkeys(found))


def _faults_of_form(text: WorkerText, form: str, *, is_last: bool) -> Iterator[str]:
    if len(form) > text.most:
        yield _("It has %(n)d characters; at most %(most)d are allowed.") % {
            "n": len(form),
            "most": text.most,
        }
        return
    if _CONTROLS.search(form):
        yield _("It contains an invisible control character. Type the text anew.")
    english = text.plural or text.english
    yield from _faults_of_values(english, form, is_last=is_last)
    yield from _faults_of_tags(english, form)
    for loose in sorted(set(_loose(form)) - set(_loose(english))):
        yield _advice(loose)


def _faults_of_values(english: str, form: str, *, is_last: bool) -> Iterator[str]:
    """Check the values; all forms but the last may write the number as a word."""
    wanted, present = set(_values(english)), set(_values(form))
    for value in sorted(wanted - present if is_last else ()):
        yield _("%(value)s is missing. Copy it from the English text.") % {"value": value}
    for value in sorted(present - wanted):
        yield _("%(value)s is not in the English text. Remove it.") % {"value": value}


def _faults_of_tags(english: str, form: str) -> Iterator[str]:
    wanted, present = Counter(TAG.findall(english)), Counter(TAG.findall(form))
    for tag in sorted((wanted - present).elements()):
        if tag not in _OPTIONAL:
            yield _("%(tag)s is missing. Copy it from the English text.") % {"tag": tag}
    for tag in sorted((present - wanted).elements()):
        yield _("%(tag)s is not in the English text, or too often here. Remove it.") % {"tag": tag}
    if not present - wanted and not _is_nested(TAG.findall(form)):
        yield _("Its tags end in another order than they begin.")


def _is_nested(tags: Sequence[str]) -> bool:
    """True if every tag ends after it begins, and within the tag around it."""
    opened: list[str] = []
    for tag in tags:
        name = tag.strip("</>").split()[0].lower()
        if tag.startswith("</"):
            if not opened or opened.pop() != name:
                return False
        elif not _WITHOUT_END.match(tag):
            opened.append(name)
    return not opened


def _values(text: str) -> list[str]:
    return _VALUE.findall(text)


def _loose(text: str) -> list[str]:
    """Characters with a meaning in HTML or in formats, outside of tags and values."""
    return _LOOSE.findall(_VALUE.sub("", TAG.sub("", text)))


def _advice(loose: str) -> str:
    if loose == '"':
        return _("Write “ and ” instead of straight quotation marks, which would end an attribute.")
    if "%" in loose:
        return _("A percent sign that is not in the English text would be read as a value. Write the word.")
    return _("%(character)s is not in the English text. Remove it.") % {"character": loose}


MOST_LANGUAGES = 200

Faults = dict[str, list[str]]


class RefusedTranslationsError(Exception):
    """Translations that cannot be saved; `faults` says why, by key of the text."""

    def __init__(self, faults: Faults) -> None:
        super().__init__(str(faults))
        self.faults = faults


def add_language(user: User, **values: object) -> Language:
    """Add a language, of which nothing is translated yet.

    Anyone who makes studies may add one: workers meet it only in studies that name it. Running studies may
    already use a language that comes with Turnwise or a variant of it, so only admins may add such a one.

    Raises:
        ValidationError: there is one with this code, too many, or the user may not add it.
    """
    language = Language(created_by=user, **values)
    base = shipped_base(language.code)
    if language.catalog == settings.LANGUAGE_CODE:
        raise ValidationError(
            {"code": _("English is the language of the source. Choose a variant, such as en-GB.")}
        )
    if base and not user.is_superuser:
        raise ValidationError({"code": _(
            "Turnwise comes with translations for this language, and running studies may use them. "
            "Ask an admin to add it and to name you as a translator."
        )})  # fmt: skip
    with transaction.atomic():
        if Language.objects.filter(code__iexact=language.code).exists():
            raise ValidationError({"code": _("This language is already in the list.")})
        if Language.objects.count() >= MOST_LANGUAGES:
            raise ValidationError(
                _("There are %(most)d languages, which is the most.") % {"most": MOST_LANGUAGES}
            )
        language.full_clean()
        language.save()
        Revision.objects.create(language=language, author=user, origin=Revision.Origin.MADE)
    return language


def change_language(language: Language, user: User, editors: Iterable[User], **values: object) -> None:
    """Change a language's names, direction, use and translators."""
    with transaction.atomic():
        # As in `save_translations`: revisions of a language take effect in the order of their numbers.
        Language.objects.select_for_update().get(pk=language.pk)
        for name, value in values.items():
            setattr(language, name, value)
        language.full_clean()
        language.save()
        language.editors.set(editors)
        Revision.objects.create(language=language, author=user, origin=Revision.Origin.SETTINGS)


def save_translations(
    language: Language,
    user: User,
    sent: Mapping[str, Sequence[str]],
    *,
    origin: str = Revision.Origin.TABLE,
    seen: int | None = None,
) -> int:
    """Save those translations that differ from what is stored; returns how many.

    Args:
        language: the language.
        user: the author.
        sent: forms by key of the text. Empty forms withdraw a translation.
        origin: where they come from.
        seen: newest revision that the author saw. Later changes of others are kept: a text that the
            author left alone stays as it is now, and one that both changed is refused. None: nobody else's
            changes matter.

    Raises:
        RefusedTranslationsError: nothing is saved; names the faults of each text.
    """
    with transaction.atomic():
        Language.objects.select_for_update().get(pk=language.pk)
        now = current_forms(language)
        before = now if seen is None else current_forms(language, until=seen)
        shipped = shipped_forms(language.code, language.number_of_forms)
        cleaned = {key: _cleaned(forms, shipped.get(key, ())) for key, forms in sent.items()}
        changed = {key: forms for key, forms in cleaned.items() if forms != list(before.get(key, []))}
        changed = {key: forms for key, forms in changed.items() if forms != list(now.get(key, []))}
        refused = faults_of(language, changed)
        for key in changed:
            if list(now.get(key, [])) != list(before.get(key, [])):
                refused.setdefault(key, []).append(
                    _("Someone else changed this text after you opened the page. Reload the page to see it.")
                )
        if refused:
            raise RefusedTranslationsError(refused)
        if changed:
            _store(language, user, changed, origin)
    return len(changed)


def _cleaned(forms: Sequence[str], shipped: Sequence[str]) -> list[str]:
    """Forms without space around them; none if all are empty, or equal to what comes with Turnwise."""
    stripped = [form.replace("\r\n", "\n").strip() for form in forms]
    return [] if not any(stripped) or stripped == list(shipped) else stripped


def faults_of(language: Language, sent: Mapping[str, Sequence[str]]) -> Faults:
    """Faults of translations by key of the text; texts without faults are left out."""
    texts, shipped = worker_texts(), shipped_forms(language.code, language.number_of_forms)
    refused: Faults = {}
    for key, forms in sent.items():
        cleaned = _cleaned(forms, shipped.get(key, ()))
        if key not in texts:
            refused[key] = [_("Workers cannot read such a text in this version of Turnwise.")]
        elif cleaned and (why := faults(texts[key], cleaned, language.number_of_forms)):
            refused[key] = why
    return refused


def _store(language: Language, user: User, changed: Mapping[str, list[str]], origin: str) -> None:
    revision = Revision.objects.create(language=language, author=user, origin=origin, changed=len(changed))
    texts = worker_texts()
    Translation.objects.bulk_create(
        Translation(revision=revision, key=key, english=texts[key].english, forms=forms)
        for key, forms in changed.items()
    )


def locale_of(language: Language) -> str:
    """Its code as catalogs write it, such as es_MX."""
    return to_locale(language.catalog)
