"""In which script texts are written: enough to notice Chinese conversations that would be called English."""

import unicodedata
from collections import Counter
from collections.abc import Iterable

# By the first word of a letter's Unicode name, the languages that are written so; all others are in Latin.
_LANGUAGES = {
    "CJK": ("zh", "ja"),
    "HIRAGANA": ("ja",),
    "KATAKANA": ("ja",),
    "HANGUL": ("ko",),
    "ARABIC": ("ar", "fa", "ur", "ps"),
    "HEBREW": ("he", "yi"),
    "CYRILLIC": ("ru", "uk", "bg", "sr", "mk", "be", "kk", "mn"),
    "GREEK": ("el",),
    "DEVANAGARI": ("hi", "mr", "ne"),
    "THAI": ("th",),
}
_WITH_SCRIPT_OF_THEIR_OWN = {code for codes in _LANGUAGES.values() for code in codes}
_ENOUGH_LETTERS = 20


def contradiction(texts: Iterable[str], language: str) -> str:
    """Why these texts cannot be in this language, such as "mostly in Greek script"; empty if they may be."""
    scripts = Counter(_script(letter) for text in texts for letter in text if letter.isalpha())
    letters = sum(scripts.values())
    if letters < _ENOUGH_LETTERS:
        return ""
    script, count = scripts.most_common(1)[0]
    if 2 * count <= letters:
        return ""
    code = language.partition("-")[0].lower()
    if script in _LANGUAGES:
        return "" if code in _LANGUAGES[script] else f"mostly in {_NAMES.get(script, script.title())} script"
    return (
        "mostly in Latin script" if script == "LATIN" and code in _WITH_SCRIPT_OF_THEIR_OWN - {"sr"} else ""
    )


_NAMES = {"CJK": "Chinese"}


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]
