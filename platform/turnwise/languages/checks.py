"""Checks of a translation against its English text.

Templates insert translations without escaping them, as they do the English. So a translation has the tags and
values of the English text, and no other character that could end a tag, an attribute or a value.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from django.utils.translation import gettext as _

from turnwise.languages.texts import WorkerText

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
