"""Remarks on lines that no rule knows: an echo of the line, or a remark true of almost anything.

Remarks are in `listening/remarks.txt`, by the kind of line. An echo says a clause back: "My father taught me
in his shop" becomes "your father taught you". Only clauses of plain grammar are used: a person or a thing, a
verb, and little more. An echo is always true, and a small model cannot know more of most lines.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import NamedTuple

from chatbots.meena.everyday.reply_rules import is_question
from chatbots.meena.everyday.templates import alternatives

MOST_WORDS = 6
"""Longest clause in words for an echo; a longer one would repeat the line, or be copied with slips."""
MOST_OF_A_PART, MOST_BEFORE_A_THING = 24, 14
"""Longest part of a sentence, in words, that is searched for a clause, and for a thing at its end."""
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
    """A clause or thing to say back.

    Attributes:
        text: begins in small letters, but for names.
        when: tense of a clause, "past", "future" or "now"; "thing" if it is no clause.
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
    """Yield the possible echoes of a sentence, the best first."""
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
    """Find the longest beginning that is short enough and ends at a possible place."""
    for end in range(min(len(words), MOST_WORDS), 2, -1):
        ends_here = end == len(words) or words[end].lower() in _KNOWN["ends"]
        if ends_here and words[end - 1].lower() not in _UNFINISHED:
            return words[:end]
    return None


def _thing(text: str) -> list[str] | None:
    """Find the thing named at the end, with its article."""
    if not (match := _THING.search(_WHEN.sub("", text))):
        return None
    words = match[1].split()
    is_one = not _KNOWN["times"] & set(match[1].lower().split()) and words[1] not in _KNOWN["vague"]
    return words if is_one else None


def _turned(words: list[str]) -> str:
    """Turn the words to the other speaker's view."""
    turned: list[str] = []
    for word in words:
        other = _OTHERS.get(word.lower(), word)
        turned.append("were" if turned and turned[-1] == "you" and word.lower() == "was" else other)
    first = turned[0]
    turned[0] = first if first.isupper() and len(first) > 1 else first[0].lower() + first[1:]
    return " ".join(turned)


def _when(clause: str) -> str:
    if _FUTURE.search(clause.lower()):
        return "future"
    verbs = clause.lower().split()[1:4]
    past = any(word in _KNOWN["past"] or (len(word) > 4 and word.endswith("ed")) for word in verbs)
    return "past" if past else "now"


SAID_BACK, GOES_ON, MORE, TAKES_UP = 0.8, 0.7, 0.3, 0.5
"""Chances that a possible echo is used; that a remark follows it; that the remark asks for more; that an
apology echoes the correction."""
GENERAL = ("bad", "good", "opinion", "any", "yes", "no", "question")
"""Kinds of remarks that repeat nothing of the line."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_CORRECTS = re.compile(
    r"^(?:what|which|who|huh|(?:an?|my|the|your|no|not|in|on|at|so|but|oh,?) )?[\w' -]{2,40}\? "
    r"(?:no\b|nope|nothing|not |i |i'm|it |it's|she|he|they|there|we|that|just|don't|never|my |what do you)|"
    r"\b(?:not what i (?:said|meant|asked)|i (?:just |already )?(?:told|said to) you|"
    r"you (?:seem|are|sound) (?:a bit |a little |very )?(?:confused|wrong|mistaken)|"
    r"you (?:didn't|don't) (?:listen|understand|get|answer)|you(?:'re| are) not listening|"
    r"(?:makes|making) no sense|doesn't make sense|you misunderst|i meant|what are you talking about|"
    r"i never said|i didn't say|that's not (?:it|right|true)|that was not my)|"
    r"^(?:no,? )?(?:i'm|i am|it's|it is|she's|he's) not an? \w+, (?:i'm|it's|she's|he's|but)|"
    r"^(?:never ?mind|no, no)\b",
    re.IGNORECASE,
)
_YES = re.compile(
    r"^\W*(?:oh |well )?(?:yes|yeah|yep|yup|sure|of course|definitely|absolutely|i do|i did|i am|it is|"
    r"it was|i think so|i guess so|certainly|indeed)\b[\w ']{0,12}\W*$",
    re.IGNORECASE,
)
_NO = re.compile(
    r"^\W*(?:oh |well )?(?:no|nope|nah|not really|never|i don't|i didn't|not yet|not at all|no way|not much|"
    r"nothing|nobody|hardly)\b[\w ']{0,12}\W*$",
    re.IGNORECASE,
)
_BAD = re.compile(
    r"\b(?:die[ds]?|dead|death|sick|ill|cancer|pain\w*|hurts?|sad|lonely|lost|broken?|terrible|awful|horrible|"
    r"stress\w*|tired|exhausted|unfortunately|sadly|miss(?:ed)? (?:her|him|them|my)|worried|afraid|scared|"
    r"cry\w*|divorced?|fired|alone|depress\w*|hard for (?:me|us)|suffer\w*|accident|sucks|confused)\b",
    re.IGNORECASE,
)
_GOOD = re.compile(
    r"\b(?:love|loved|great|fun|enjoy\w*|wonderful|happy|excited|beautiful|favorite|favourite|awesome|amazing|"
    r"fantastic|lovely|nice|perfect|delicious|excellent|can't wait|glad|proud)\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:not|\w+n't|never|no|hardly|but|used to)\b", re.IGNORECASE)
_OPINION = re.compile(
    r"\b(?:i think|i believe|i guess|i feel like|in my opinion|i agree|people|everyone|everybody|should|"
    r"better|worse|best|worst|true|exactly|probably|seems?|definitely)\b|"
    r"^(?:it's|it is|they're|they are|that's|that is)\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:i|my|our|i'm|i'll|i've|i'd|we|we're|me|us)\b", re.IGNORECASE)
_TOLD = re.compile(r"\b(?:my|our|i'm|i was|i have|i'll|i've|we|me)\b", re.IGNORECASE)
_BIT = re.compile(
    r"^(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|\d+|every|once|twice|in|at|"
    r"with|on|for|about|since|from|almost|over|both|mostly|near|just (?:me|my|a|the))\b[\w' -]{2,30}$",
    re.IGNORECASE,
)
_TURNED = {"my": "your", "me": "you", "our": "your", "us": "you", "i": "you"}


@cache
def remarks() -> dict[str, list[str]]:
    """Read the remarks of this package, by the kind of line."""
    file = resources.files("chatbots.meena.everyday") / "listening" / "remarks.txt"
    lines = (line for line in file.read_text("utf-8").splitlines() if line and not line.startswith("#"))
    parted = (line.partition(" => ") for line in lines)
    return {kind: alternatives(templates) for kind, _, templates in parted}


def is_general(text: str) -> bool:
    """True if a remark repeats nothing of the line."""
    return any(text in remarks()[kind] for kind in GENERAL)


def corrects(line: str) -> bool:
    """True if the line says that its speaker was misunderstood."""
    return _CORRECTS.search(line.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")) is not None


def remark(line: str, chance: random.Random) -> str:
    """Choose a remark that fits a line of any subject."""
    text = line.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").strip()
    sentences = _SENTENCE_END.split(text)
    echo = next((match for each in reversed(sentences) if (match := _find_echo(each))), None)
    if corrects(text):
        clause = echo if echo and echo.when in ("past", "now", "future") else None
        return (
            _with(clause, "corrected", chance)
            if clause and chance.random() < 0.5
            else _one("correction", chance)
        )
    if is_question(sentences[-1]):
        return _one("question", chance)
    if echo and chance.random() < SAID_BACK:
        return _render_echo(echo, text, chance)
    return _one(_kind(text), chance)


def _find_echo(sentence: str) -> Echo | None:
    if is_question(sentence) and sentence.endswith("?"):
        return None
    if echo := next(echoes(sentence), None):
        return echo
    bit = sentence.strip(" .!")
    if _BIT.match(bit) and len(bit.split()) <= 4:
        turned = " ".join(_TURNED.get(word.lower(), word) for word in bit.split())
        return Echo(turned[0].lower() + turned[1:], "bit")
    return None


def _render_echo(echo: Echo, text: str, chance: random.Random) -> str:
    if echo.when == "thing":
        definite = echo.text.split()[0] in ("the", "your", "his", "her", "their")
        return _with(echo, "known" if definite else "thing", chance)
    if echo.when == "bit":
        return _with(echo, "bit", chance)
    remark_text = _with(echo, "clause", chance)
    if chance.random() > GOES_ON:
        return remark_text
    kind = _kind(text) if _OWN.search(text) else "more"
    if kind not in ("bad", "good"):
        kind = "more" if kind == "more" or chance.random() < MORE else echo.when
    return f"{remark_text} {_one(kind, chance)}"


def _kind(text: str) -> str:
    """Classify a statement by its words."""
    if _BAD.search(text):
        return "bad" if not _NOT.search(text) else "any"
    if _YES.match(text):
        return "yes"
    if _NO.match(text):
        return "no"
    if _GOOD.search(text) and not _NOT.search(text):
        return "good"
    return "opinion" if _OPINION.search(text) and not _TOLD.search(text) else "any"


def _one(kind: str, chance: random.Random) -> str:
    return chance.choice(remarks()[kind])


def _with(echo: Echo, kind: str, chance: random.Random) -> str:
    upper = echo.text[0].upper() + echo.text[1:]
    return _one(kind, chance).replace("<e>", echo.text).replace("<E>", upper)
