"""Cleaning of untrusted texts (of bots, workers and researchers), and detection of scripts.

Script detection is just good enough to notice, for example, Chinese conversations that are labelled English.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

# C0 and C1 controls except tab and newline, bidirectional overrides and isolates, line and paragraph
# separators, lone surrogates (no database can encode them), noncharacters of the first plane.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)

# What PostgreSQL, JSON or XML cannot hold, and controls other than tab, line feed and carriage return.
_UNSTORABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)

WITHDRAWN = "[withdrawn]"
"""Replacement for texts of a worker who has withdrawn them; no figure counts it."""


def cleaned(text: str, most: int) -> str:
    """Make an untrusted text safe to store and to show: no control characters, bounded length.

    Removes control characters except tab and newline, bidirectional overrides, lone surrogates and outer
    white space; turns every kind of line break into a newline; cuts after `most`. HTML stays unchanged:
    templates escape it.

    Returns:
        At most `most` code points that UTF-8 and PostgreSQL can hold; maybe empty.
    """
    # Cut first, so that a text of gigabytes costs no more than a long one.
    shortened = text.lstrip()[: 4 * most]
    lines = re.sub("\r\n?|[\u2028\u2029\x85]", "\n", shortened)
    return _UNSAFE.sub("", lines).strip()[:most].rstrip()


def storable(text: str, most: int) -> str:
    """Keep a model's text as it is, without what cannot be stored, and cut it.

    Unlike `cleaned`, this keeps outer white space, every kind of line break, and marks of the direction of
    writing, so that Markdown, code and right-to-left text stay as the model wrote them. It removes control
    characters, lone surrogates and noncharacters.

    Returns:
        At most `most` code points that UTF-8 and PostgreSQL can hold; maybe empty.
    """
    # Cut first, so that a text of gigabytes costs no more than a long one.
    return _UNSTORABLE.sub("", text[: 4 * most])[:most]


# Languages by the first word of a letter's Unicode name; all other languages use the Latin script.
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
"""Letters needed to tell the script of a text, even if it has names in another script."""
# Characters that stand for a syllable or a word say more, so fewer are needed.
_ENOUGH_CHARACTERS = 4
_OF_CHARACTERS = {"CJK", "HIRAGANA", "KATAKANA", "HANGUL"}
_MOST_LETTERS = 1000


def script_of(texts: Iterable[str], *, enough: int = ENOUGH_LETTERS) -> str:
    """Detect the script of most letters, such as CJK or LATIN; empty if it is unclear.

    Args:
        texts: texts, of which about the first thousand letters are read.
        enough: number of letters needed; at most 4 for scripts of syllables or words.
    """
    scripts, left = Counter[str](), _MOST_LETTERS
    for text in texts:
        if left <= 0:
            break
        letters = [*filter(str.isalpha, text[:left])]
        # Naming each letter takes longer than all else that an import does with a text.
        scripts.update({"LATIN": len(letters)} if text.isascii() else Counter(map(_script, letters)))
        left -= len(letters)
    if not scripts.total():
        return ""
    script, count = scripts.most_common(1)[0]
    needed = min(enough, _ENOUGH_CHARACTERS) if script in _OF_CHARACTERS else enough
    is_most = 2 * count > scripts.total()
    return script if is_most and scripts.total() >= needed else ""


def may_be_in(script: str, language: str) -> bool:
    """True if a language can be written in this script; scripts that are not listed here are accepted."""
    code = language.partition("-")[0].lower()
    if script in _LANGUAGES:
        return code in _LANGUAGES[script]
    return script != "LATIN" or code not in _WITH_SCRIPT_OF_THEIR_OWN - {"sr"}


def script_title(script: str) -> str:
    """Name of a script for people."""
    return _NAMES.get(script, script.title())


def contradiction(texts: Iterable[str], language: str, *, enough: int = ENOUGH_LETTERS) -> str:
    """Reason why texts cannot be in a language, such as "mostly in Greek script"; empty if they can."""
    script = script_of(texts, enough=enough)
    return "" if not script or may_be_in(script, language) else f"mostly in {script_title(script)} script"


_NAMES = {"CJK": "Chinese"}


def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]
