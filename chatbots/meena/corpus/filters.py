"""The paper's filters: which messages teach nothing good.

Each filter is a pure function of one message; `reason_to_remove` names the first that strikes. The paper
gives no numbers for overlap; ours are stated here. Source: arXiv:2001.09977, section 3.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

SHORTEST, LONGEST = 2, 128
"""Subwords."""
LEAST_ALPHABETIC = 0.70
"""Share of letters among characters that are not spaces."""
MOST_REPEATS = 100
OVERLAP_WORDS = 3
MOST_OVERLAP = 0.6
"""Share of a message's word trigrams that its parent has too."""

# Without a path, only ends that are no words of English: "yesterday.no surprise" lacks a space.
_ENDS = (
    "com|org|net|edu|gov|mil|info|biz|io|co|ai|app|dev|xyz|tv|gg|fm|ly|eu|uk|ie|de|ch|fr|es|nl|se|dk|fi|pl"
    "|cz|sk|hu|ro|gr|pt|ru|ua|tr|il|jp|cn|kr|tw|au|nz|ca|mx|br|cl|za"
)
_URL = re.compile(rf"https?://|\bwww\.|\b[\w-]{{1,63}}\.(?:(?:{_ENDS})\b|[a-z]{{2,10}}/\w)", re.IGNORECASE)
_WORD = re.compile(r"\w+(?:'\w+)?")


class Candidate(NamedTuple):
    """A message with all that the filters ask about it.

    Attributes:
        text: without quotes of the parent.
        author: user name; empty if not told.
        parent: the parent's text; empty at a root.
        subwords: tokens of the text.
        occurrences: how often the text occurs in the corpus.
        unsafe: what the safety classifier says.
        context_only: whether nobody is to learn to say it.
    """

    text: str
    author: str
    parent: str
    subwords: int
    occurrences: int
    unsafe: bool
    context_only: bool = False


def wrong_length(message: Candidate) -> bool:
    """Fewer than 2 or more than 128 subwords."""
    return not SHORTEST <= message.subwords <= LONGEST


def not_alphabetic(message: Candidate) -> bool:
    """Under 70 % letters; spaces do not count."""
    characters = "".join(message.text.split())
    return sum(map(str.isalpha, characters)) < LEAST_ALPHABETIC * len(characters)


def has_url(message: Candidate) -> bool:
    """A web address, with or without its scheme."""
    return _URL.search(message.text) is not None


def by_bot(message: Candidate) -> bool:
    """The author's name contains "bot"."""
    return "bot" in message.author.lower()


def repeated(message: Candidate, most: int = MOST_REPEATS) -> bool:
    """The same text more than 100 times, unless another number is given."""
    return message.occurrences > most


def overlaps_parent(message: Candidate) -> bool:
    """More than 60 % of its word trigrams are the parent's; fewer than three words cannot be told."""
    own = word_ngrams(message.text, OVERLAP_WORDS)
    shared = own & word_ngrams(message.parent, OVERLAP_WORDS)
    return len(shared) > MOST_OVERLAP * len(own)


def unsafe(message: Candidate) -> bool:
    """The safety classifier objects."""
    return message.unsafe


FILTERS: dict[str, Callable[[Candidate], bool]] = {
    "length": wrong_length,
    "alphabetic": not_alphabetic,
    "url": has_url,
    "bot": by_bot,
    "repeated": repeated,
    "overlap": overlaps_parent,
    "unsafe": unsafe,
}


def reason_to_remove(message: Candidate, most_repeats: int = MOST_REPEATS) -> str | None:
    """Name of the first filter, in the paper's order, that strikes; None if the message stays.

    What nobody is to learn to say stays unless it is empty or too long: a bot has to have read how people
    talk, "Yes" and insults included.
    """
    if message.context_only:
        return None if message.text and message.subwords <= LONGEST else "length"
    filters = FILTERS | {"repeated": partial(repeated, most=most_repeats)}
    return next((name for name, strikes in filters.items() if strikes(message)), None)


def word_ngrams(text: str, n: int) -> set[tuple[str, ...]]:
    """All runs of n words, in lower case, without punctuation."""
    words = _WORD.findall(text.lower())
    return {tuple(words[start : start + n]) for start in range(len(words) - n + 1)}


def without_quotes(text: str, parent: str) -> str:
    r"""Cut out copies of the parent's text.

    A copy is a line that begins with ">" and whose rest the parent contains, or the parent's whole text if it
    has at least three words.

    >>> without_quotes("> I love cheese\nWhich one?", "Well, I love cheese a lot")
    'Which one?'
    """
    lines = (line for line in text.splitlines() if not _quotes(line, parent))
    rest = " ".join(" ".join(lines).split())
    flat = " ".join(parent.split())
    if len(flat.split()) >= OVERLAP_WORDS:
        rest = " ".join(rest.replace(flat, " ").split())
    return rest


def _quotes(line: str, parent: str) -> bool:
    quoted = line.strip()
    return quoted.startswith(">") and quoted.lstrip("> ").strip() in parent
