"""What somebody said, said back: "My father taught me in his shop" becomes "your father taught you".

Only clauses whose grammar is plain are taken up: a person or a thing, a verb, and little more. Whatever is
said about somebody's own words is true of them; that is all that a small model can know of most lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from typing import NamedTuple

MOST_WORDS = 6
"""Most words of a clause that is said back; more would be a repetition of the line, or copied with slips."""
MOST_OF_A_PART, MOST_BEFORE_A_THING = 24, 14
"""Most words of a part of a sentence that is looked at, for a clause and for a thing at its end."""
_OTHERS = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself", "we": "you", "us": "you",
    "our": "your", "ours": "yours", "i'm": "you're", "i've": "you've", "i'll": "you'll", "i'd": "you'd",
    "we're": "you're", "we've": "you've", "we'll": "you'll", "we'd": "you'd", "am": "are",
}  # fmt: skip
_SKIPPED = re.compile(
    r"^(?:(?:well|oh|yes|yeah|yep|no|nope|right|ok|okay|sure|hi|hello|hey|haha|lol|so|but|and|actually|"
    r"honestly|anyway|sorry|true|good|thanks|also|hmm|hm|ah|maybe|fine|nice|cool|wow|i think|i guess|"
    r"of course|by the way|to be honest|never mind|good to know|not really|not much|only|just|"
    r"then)\b[ ,.!-]*)+",
    re.IGNORECASE,
)
_CUT = re.compile(r"[,;:()\"]| -+ |\.\.+|--+")
_PERSON = r"(?:i|we|my(?: \w+)? \w+|our \w+|she|he|they|the \w+|there(?= (?:is|are|was|were) ))"
_CLAUSE = re.compile(
    rf"^(?:(?:i|we)'(?:m|re|ve|ll|d)|(?:she|he|they|there)'(?:s|re|ve|ll)|{_PERSON}) [a-z][\w' -]*$",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"^[A-Za-z0-9][\w' -]*$")
_BOT = re.compile(r"\b(?:you|your|yours|yourself|u|ur|you're|you've|you'll)\b", re.IGNORECASE)
_THING = re.compile(
    r"\b((?:an?|the|my|our|his|her|their|some|two|three|four|five|six|ten|twenty|\d+) (?:[a-z-]+ )??"
    r"(?!(?:one|things?|lot|bit|way|time|same|day|other|most|best)\b)[a-z-]{3,})$",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r" (?:every|next|last|this|on|in) (?:the )?\w+$| (?:now|again|today|tonight|yesterday|too)$"
)
_FUTURE = re.compile(
    r"\b(?:you'll|will|going to|gonna|want to|wanna|hope to|plan to|you'd like|would like|would love|need to|"
    r"have to|should|must|might|planning|thinking)\b"
)


class Echo(NamedTuple):
    """What is said back.

    Attributes:
        text: begins in small letters, but for names.
        when: of a clause, "past", "future" or "now"; "thing" if it is none.
    """

    text: str
    when: str


def _words() -> dict[str, frozenset[str]]:
    file = resources.files("chatbots.meena.everyday") / "listening" / "words.txt"
    lines = (line for line in file.read_text("utf-8").splitlines() if line and not line.startswith("#"))
    return {kind: frozenset(words.split()) for kind, _, words in (line.partition(" => ") for line in lines)}


_KNOWN = _words()
_UNFINISHED = _KNOWN["ends"] - _KNOWN["closed"] | _KNOWN["open"]


def echoes(sentence: str) -> Iterator[Echo]:
    """What of a sentence may be said back, the best first."""
    for part in _CUT.split(sentence.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")):
        words = _SKIPPED.sub("", part.strip(" .!")).strip(" .!").split()
        text = " ".join(words)
        if not 1 < len(words) <= MOST_OF_A_PART or not _PLAIN.match(text) or _BOT.search(text):
            continue
        if _CLAUSE.match(text) and (clause := _shortened(words)):
            turned = _turned(clause)
            yield Echo(turned, _when(turned))
        if len(words) <= MOST_BEFORE_A_THING and (thing := _thing(text)):
            yield Echo(_turned(thing), "thing")


def _shortened(words: list[str]) -> list[str] | None:
    """The longest beginning that is short enough and may end where it ends."""
    for end in range(min(len(words), MOST_WORDS), 2, -1):
        ends_here = end == len(words) or words[end].lower() in _KNOWN["ends"]
        if ends_here and words[end - 1].lower() not in _UNFINISHED:
            return words[:end]
    return None


def _thing(text: str) -> list[str] | None:
    """What is named at the end, with its article."""
    if not (found := _THING.search(_WHEN.sub("", text))):
        return None
    words = found[1].split()
    is_one = not _KNOWN["times"] & set(found[1].lower().split()) and words[1] not in _KNOWN["vague"]
    return words if is_one else None


def _turned(words: list[str]) -> str:
    """As the other one says it."""
    said: list[str] = []
    for word in words:
        other = _OTHERS.get(word.lower(), word)
        said.append("were" if said and said[-1] == "you" and word.lower() == "was" else other)
    first = said[0]
    said[0] = first if first.isupper() and len(first) > 1 else first[0].lower() + first[1:]
    return " ".join(said)


def _when(clause: str) -> str:
    if _FUTURE.search(clause.lower()):
        return "future"
    verbs = clause.lower().split()[1:4]
    past = any(word in _KNOWN["past"] or (len(word) > 4 and word.endswith("ed")) for word in verbs)
    return "past" if past else "now"
