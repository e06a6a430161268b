"""Texts cut into sentences."""

import re

# Where a sentence may end: a mark, perhaps with closing signs, before blanks and what may begin a sentence.
_END = re.compile(r"(?<=[.!?…])[\"')\]\u201d\u2019]*\s+(?=[\"'(\[\u201c\u2018]*[A-Z0-9])|(?<!\s)\s*\n\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Gen|Sen|Rep|Gov|Lt|Col|Sgt|Capt|No|Vol|vs|etc|e\.g|i\.e|approx|cf|al)"
    r"|\b[A-Z](?:\.[A-Z])*)\.$"
)


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, without blanks around them; none is empty.

    A line break ends a sentence. A mark does not after a title, a common abbreviation or a single capital:
    rather two sentences in one than half a name.
    """
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        piece = text[start : end.start() + len(end[0].rstrip())]
        if "\n" not in end[0] and _ABBREVIATION.search(piece.rstrip("\"')]\u201d\u2019")):
            continue
        found.append(piece.strip())
        start = end.end()
    found.append(text[start:].strip())
    return [sentence for sentence in found if sentence]
