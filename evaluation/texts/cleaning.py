"""The one cleaner of texts that others wrote: bots' replies, workers' answers, researchers' declarations.

In which script texts are written: enough to notice Chinese conversations that would be called English.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from itertools import islice

# C0 and C1 controls except tab and newline, bidirectional overrides and isolates, line and paragraph
# separators, lone surrogates (no database can encode them), noncharacters of the first plane.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)

WITHDRAWN = "[withdrawn]"
"""Stands for what somebody said who has taken it back; no figure counts it."""


def cleaned(text: str, most: int) -> str:
    """Make an untrusted text safe to store and to show: no control characters, bounded length.

    Removes control characters except tab and newline, bidirectional overrides, lone surrogates and outer
    white space; turns every kind of line break into a newline; cuts after `most`. HTML is left as it came:
    templates escape it.

    Returns:
        At most `most` code points that UTF-8 and PostgreSQL can hold; maybe empty.
    """
    # Bounded first, so that a text of gigabytes costs no more than a long one.
    shortened = text.lstrip()[: 4 * most]
    lines = re.sub("\r\n?|[\u2028\u2029\x85]", "\n", shortened)
    return _UNSAFE.sub("", lines).strip()[:most].rstrip()


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
ENOUGH_LETTERS = 20
"""So many letters tell in which script a text is, though it names people and places in another."""
# A character that is a syllable or a word says more.
_ENOUGH_CHARACTERS = 4
_OF_CHARACTERS = {"CJK", "HIRAGANA", "KATAKANA", "HANGUL"}
_MOST_LETTERS = 1000


def script_of(texts: Iterable[str], *, enough: int = ENOUGH_LETTERS) -> str:
    """In which script most letters are, such as CJK or LATIN; empty if that cannot be told.

    Args:
        texts: of which the first thousand letters are looked at.
        enough: so many letters are needed to tell; of characters, which say more, a few at most.
    """
    letters = islice((letter for text in texts for letter in text if letter.isalpha()), _MOST_LETTERS)
    scripts = Counter(map(_script, letters))
    if not scripts:
        return ""
    script, count = scripts.most_common(1)[0]
    needed = min(enough, _ENOUGH_CHARACTERS) if script in _OF_CHARACTERS else enough
    is_most = 2 * count > scripts.total()
    return script if is_most and scripts.total() >= needed else ""


def may_be_in(script: str, language: str) -> bool:
    """Whether a language is written so; nothing is known of scripts that are not listed here."""
    code = language.partition("-")[0].lower()
    if script in _LANGUAGES:
        return code in _LANGUAGES[script]
    return script != "LATIN" or code not in _WITH_SCRIPT_OF_THEIR_OWN - {"sr"}


def script_title(script: str) -> str:
    """What people call it."""
    return _NAMES.get(script, script.title())


def contradiction(texts: Iterable[str], language: str, *, enough: int = ENOUGH_LETTERS) -> str:
    """Why these texts cannot be in this language, such as "mostly in Greek script"; empty if they may be."""
    script = script_of(texts, enough=enough)
    return "" if not script or may_be_in(script, language) else f"mostly in {script_title(script)} script"


_NAMES = {"CJK": "Chinese"}


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]
