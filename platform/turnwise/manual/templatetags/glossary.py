"""Words of the product with their meanings, read from docs/glossary.md, and the tag that explains them."""

import re
from functools import lru_cache
from pathlib import Path

from django import template

from turnwise.manual.pages import FILES

_ROW = re.compile(r"^\| (?P<word>[^|]+?) \| (?P<meaning>[^|]+?) \|$", re.M)
# Names of classes and modules, which only readers of the code need.
_CODE_NAMES = re.compile(r" \(`[^`]+`\)")
_MARKUP = re.compile(r"[*`]")


class UnknownWordError(Exception):
    """The glossary has no such word."""


def meaning_of(word: str) -> str:
    """Meaning of a word, as plain text.

    Raises:
        UnknownWordError: names the word and where to add it.
    """
    path = FILES["glossary"]
    meanings = _read(path, path.stat().st_mtime_ns)
    if word not in meanings:
        raise UnknownWordError(f"docs/glossary.md does not explain “{word}”. Add a row to one of its tables.")
    return meanings[word]


@lru_cache(maxsize=1)
def _read(path: Path, _changed: int) -> dict[str, str]:
    rows = _ROW.finditer(path.read_text(encoding="utf-8"))
    return {row["word"]: _MARKUP.sub("", _CODE_NAMES.sub("", row["meaning"])) for row in rows}


register = template.Library()


@register.inclusion_tag("manual/words.html")
def explain(*words: str) -> dict[str, object]:
    """Explain these words of the glossary in a fold."""
    return {"words": [(word, meaning_of(word)) for word in words]}
