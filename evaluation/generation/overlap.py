"""F1 of the words of a response and of what was really said, as ParlAI counts it."""

import re
from collections import Counter
from collections.abc import Sequence

# ParlAI's set of marks: quotation marks other than these two, and dashes other than the hyphen, stay.
_MARKS = re.compile(r'[!"#$%&()*+,\-./:;<=>?@\[\]\\^`{|}~_\']')
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalised(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation and without a, an, the."""
    return _ARTICLES.sub(" ", _MARKS.sub(" ", text.lower())).split()


def f1(response: str, references: Sequence[str]) -> float:
    """The largest unigram F1 of a response with any of its references, in [0, 1].

    Words count as often as they occur on both sides. Nothing in common, also of two empty texts, is 0.

    Args:
        response: what was generated.
        references: what was really said, at least one.
    """
    given = Counter(normalised(response))
    return max(_f1(given, Counter(normalised(reference))) for reference in references)


def _f1(given: Counter[str], wanted: Counter[str]) -> float:
    common = (given & wanted).total()
    return 2 * common / (given.total() + wanted.total()) if common else 0.0
