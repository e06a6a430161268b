"""Texts that replace those of a language's catalogs in a running process.

Django loads the catalogs of locale/ once. Here a catalog is put above them. The translation object stays the
same, so pages and sockets that already use the language read the new texts at once. The attributes of
Django's catalogs are private; `tests/languages` would find that they have changed.
"""

from collections.abc import Callable, Mapping
from gettext import c2py
from typing import Any

from django.utils.translation import get_language, get_language_bidi, trans_real

Key = str | tuple[str, int]
"""Key of a text in a catalog of gettext; of a plural form, with the number of the form."""

_versions: dict[str, int] = {}
_right_to_left: dict[str, bool] = {}


def replace_texts(
    language: str,
    texts: Mapping[Key, str],
    *,
    plural_forms: str,
    version: int,
    right_to_left: bool,
    beneath: str = "",
) -> None:
    """Put texts above a language's own catalogs; they replace those of an earlier call.

    Args:
        language: as Django writes it, such as es-mx.
        texts: by key of gettext.
        plural_forms: the plural rule, as in the header of a catalog.
        version: of the texts; other caches of translated texts use it in their keys.
        right_to_left: True if the language is written from right to left.
        beneath: language whose catalogs are used for texts that the language lacks; empty for none.
    """
    translation: Any = trans_real.translation(language)
    shipped = translation.__dict__.setdefault("shipped_catalog", translation._catalog)
    catalog: Any = trans_real.TranslationCatalog()
    layers = [(dict(texts), plural_rule(plural_forms)), *_layers(shipped)]
    if beneath:
        lower: Any = trans_real.translation(beneath)
        layers += _layers(lower.__dict__.get("shipped_catalog", lower._catalog))
    catalog._catalogs = [texts for texts, _rule in layers]
    catalog._plurals = [rule for _texts, rule in layers]
    _right_to_left[language] = right_to_left
    translation._catalog = catalog  # a single assignment, so that no thread meets half of the texts
    _versions[language] = version  # last, so that no cache keeps old texts under the new version


def restore_texts(language: str) -> None:
    """Use a language's own catalogs alone again."""
    translation: Any = trans_real.translation(language)
    translation._catalog = translation.__dict__.get("shipped_catalog", translation._catalog)
    _versions.pop(language, None)
    _right_to_left.pop(language, None)


def _layers(catalog: Any) -> list[tuple[dict[Key, str], Callable[[int], int]]]:
    return list(zip(catalog._catalogs, catalog._plurals, strict=True))


def plural_rule(plural_forms: str) -> Callable[[int], int]:
    """Function from a number to the number of its plural form.

    Args:
        plural_forms: as in the header of a catalog, such as "nplurals=2; plural=(n != 1);".

    Raises:
        ValueError: it is not such a rule.
    """
    count, rule = number_of_forms(plural_forms), c2py(plural_forms.partition("plural=")[2].strip(" ;"))
    return lambda n: min(int(rule(n)), count - 1)


def number_of_forms(plural_forms: str) -> int:
    """Number of plural forms in a plural rule.

    Raises:
        ValueError: it is not a plural rule.
    """
    named, _, number = plural_forms.partition(";")[0].partition("=")
    if named.strip() != "nplurals" or not number.strip().isdecimal() or "plural=" not in plural_forms[8:]:
        raise ValueError(f"“{plural_forms}” is not a plural rule such as “nplurals=2; plural=(n != 1);”.")
    return max(1, int(number))


def version_of_texts(language: str) -> int:
    """Version of the texts that replace those of the catalogs; 0 if there are none."""
    return _versions.get(language, 0)


def is_right_to_left() -> bool:
    """True if the active language is written from right to left."""
    known = _right_to_left.get(get_language() or "")
    return get_language_bidi() if known is None else known
