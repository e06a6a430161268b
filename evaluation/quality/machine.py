"""A weak sign that a language model wrote messages: marks and phrases that people rarely type in chats.

No text can be told to be a machine's for certain, and whoever wants to hide it can. So this is the weakest of
all signs: it never stands alone for anything, and it is for a person to read the messages.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

FEWEST = 3
"""Messages with a mark before it is a sign at all."""
LEAST_SHARE = 0.3
"""Share of somebody's messages with a mark from which on it is a sign."""

_MARKS = re.compile(
    r"""—|\*\*\S[^*]*\*\*|^\s*(?:[-*•]|\d+[.)])\s+\S.*\n\s*(?:[-*•]|\d+[.)])\s|^\#{1,4}\s
    |\bas\ an?\ (?:ai\b|artificial\ intelligence|(?:large\ )?language\ model)
    |\bi(?:['\u2019]d|\ would)\ be\ (?:happy|glad)\ to\ (?:help|assist|provide|share)
    |\b(?:it['\u2019]s|it\ is)\ (?:important|worth)\ (?:to\ note|noting)
    |\bfeel\ free\ to\ (?:ask|share|reach)
    |^(?:certainly|absolutely|of\ course|great\ question|what\ a\ (?:great|fascinating|wonderful)\ \w+)!
    |\bdelv(?:e|ing)\b|\btapestry\b|\bin\ (?:conclusion|summary),""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Marked:
    """How many messages of somebody carry a mark, of how many."""

    marked: int
    messages: int

    @property
    def is_sign(self) -> bool:
        return self.marked >= FEWEST and self.marked >= LEAST_SHARE * self.messages


def marked(texts: Sequence[str]) -> Marked:
    """How many of these messages carry a mark of a language model.

    Args:
        texts: the messages of one person, in English; in other languages only the marks, not the phrases.
    """
    return Marked(sum(_MARKS.search(text) is not None for text in texts), len(texts))
