"""GenericBot: the baseline that shows why sensibleness alone is not enough."""

import re
import unicodedata
from collections.abc import Sequence

from chatbots.base import Bot, Context, Response
from chatbots.registry import register

ANSWER_TO_QUESTION = "I don't know"
ANSWER_TO_STATEMENT = "ok"

# Marks that the compatibility form NFKC does not turn into "?", in this order: Arabic, reversed, Armenian,
# Ethiopic, Vai, Limbu, interrobang, two emoji, inverted, Greek (which NFKC would turn into a semicolon).
_MARKS = "\u061f\u2e2e\u055e\u1367\ua60f\u1945\u203d\u2753\u2754\u00bf\u037e"
_MARK = re.compile(rf"\?(?![\w=&/%])|[{_MARKS}]|[\u0370-\u03ff\u1f00-\u1fff];(?!\w)")

_YOU = "(?:you|u|ya|yourself|yours)"
_PERSON = "(?:i|you|u|ya|we|they|he|she|anyone|anybody|someone|somebody|people|everyone|everybody)"
_SUBJECT = f"(?:{_PERSON}|it|this|that|these|those|there|the|an?|my|your|our|his|her|their|any|some)"
_MODAL = "(?:can|could|will|would|should|shall|might|must)"
_BEGINS = re.compile(
    r"^(?:(?:so|and|but|or|well|ok|okay|oh|ah|hey|hi|hello|um|hmm|wow|then|also|lol|haha|yes|yeah|no) +)*(?:"
    r"(?:what|who|whom|whose|why|how)\b(?! (?:an?|i|we|he|she|they|thank)\b)"
    rf"|which(?:$| one| of| \w+ (?:is|are|was|were|do|does|did|have|has|{_MODAL}))\b"
    r"|(?:what|who|where|when|why|how)'?(?:s|re|d|ll)\b"
    rf"|(?:where|when)(?:$| (?:is|are|am|was|were|do|does|did|have|has|had|to|{_MODAL})\b)"
    r"|(?:is|are|does|did)(?:n't)? (?!not?\b|nothing\b)\w"
    rf"|(?:do|have|may)(?:n't)? {_PERSON}\b"
    rf"|(?:am|was|were|has|{_MODAL}|can't|won't)(?:n't)? {_SUBJECT}\b)"
)
_EMBEDS = re.compile(
    r"\b(?:(?:tell|show) (?:me|us)|explain(?: to me)?|wonder|wondering|(?:like|want) to know),? "
    r"(?:what|who|whom|whose|which|where|when|why|how)\b"
)
_ENDS = re.compile(
    rf"(?:\b(?:how|what) about {_YOU}|\bhow (?:are|r) {_YOU}(?: \w+)?|\band {_YOU}|\b[hw]bu"
    rf"|(?:n't|won't|can't) (?:{_PERSON}|it|there|that))$"
)


@register("generic")
class GenericBot(Bot):
    """Answers "I don't know" to a question and "ok" to a statement.

    A turn is a question if it has one of these:

    1. A question mark of any script, wherever it stands, except inside an address such as `page?id=1`. So
       "you like cats?" and "what?!" are questions.
    2. A clause with the form of an English question although the mark is missing: it begins with a
       question word ("what is that", "why") or with an auxiliary before its subject ("do you like cats"),
       holds an embedded question ("Tell me why"), or ends with a tag ("nice isn't it", "I'm fine and you").

    Everything else is a statement: clauses that only begin like one ("What a day", "When I was young"),
    echoes without a mark ("Really"), an empty turn, and one of emoji only.

    Source: Adiwardana et al. 2020, arXiv:2001.09977, the GenericBot of the static evaluation.
    """

    max_batch = 64

    def respond(self, contexts: Sequence[Context]) -> list[Response]:
        """One of the two answers for the last turn of each context."""
        return [Response(_answer(context.turns[-1].text)) for context in contexts]


def is_question(text: str) -> bool:
    """Whether a turn asks something, by the rule of `GenericBot`."""
    if _MARK.search(text) or _MARK.search(unicodedata.normalize("NFKC", text)):
        return True
    plain = unicodedata.normalize("NFKC", text).lower().replace("\u2019", "'")
    return any(map(_asks, re.split(r"[.,!;:\n()\U0001f000-\U0001faff]+", plain)))


def _asks(clause: str) -> bool:
    words = clause.strip(" \t-\"'*")
    return any(pattern.search(words) for pattern in (_BEGINS, _EMBEDS, _ENDS))


def _answer(text: str) -> str:
    return ANSWER_TO_QUESTION if is_question(text) else ANSWER_TO_STATEMENT
