"""Plural rules of languages: as Django's catalogs have them, else one that the user chooses."""

from collections.abc import Mapping, Sequence
from functools import cache
from gettext import NullTranslations, translation
from pathlib import Path

import django.conf
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import to_locale

from turnwise.live.rendering.replaced_texts import number_of_forms, plural_rule

_BY_LAST_DIGITS = (
    "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);"
)
CHOICES: Mapping[str, Promise] = {
    "nplurals=2; plural=(n != 1);": _("Two forms: 1, and all other numbers (as English)"),
    "nplurals=2; plural=(n > 1);": _("Two forms: 0 and 1, and all other numbers (as French)"),
    "nplurals=1; plural=0;": _("One form for all numbers (as Japanese)"),
    _BY_LAST_DIGITS: _("Three forms, by the last digits (as Russian)"),
}
"""Rules for languages that Django does not know."""
_NUMBERS = (*range(200), 1_000_000)
_SHOWN = 4


@cache
def known_plural_forms(code: str) -> str:
    """Plural rule of a language or its general form; "" if Django does not know it."""
    folder = Path(django.conf.__file__).parent / "locale"
    for each in (code.lower(), code.split("-")[0].lower()):
        found = translation("django", folder, [to_locale(each)], fallback=True)
        if type(found) is not NullTranslations and "plural-forms" in found.info():
            return str(found.info()["plural-forms"])
    return ""


@cache
def example_numbers(plural_forms: str) -> Sequence[str]:
    """For each plural form, the first numbers that use it, such as "2, 3, 4, …"."""
    rule = plural_rule(plural_forms)
    found: list[list[int]] = [[] for _form in range(number_of_forms(plural_forms))]
    for number in _NUMBERS:
        found[rule(number)].append(number)
    shown = [(", ".join(map(str, numbers[:_SHOWN])), len(numbers) > _SHOWN) for numbers in found]
    return [f"{first}, …" if has_more else first for first, has_more in shown]


def is_same_rule(one: str, other: str) -> bool:
    """True if two rules choose the same form for every number tried.

    Raises:
        ValueError: one of them is not a plural rule.
    """
    first, second = plural_rule(one), plural_rule(other)
    if number_of_forms(one) != number_of_forms(other):
        return False
    try:
        return all(first(n) == second(n) for n in _NUMBERS)
    except ZeroDivisionError:
        raise ValueError("A plural rule divides by zero.") from None
