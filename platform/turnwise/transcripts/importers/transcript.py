"""Transcripts as the authors of SSA published them (github.com/google-research, folder meena).

Meena Conversation 1
Human: Hi!
Meena: Hey there! What's up?
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from turnwise.transcripts.importers.formats import Conversation, Problem, Source, Utterance, importer

_HEADING = re.compile(r"(?:\S.{0,79}? )?Conversation \d+\s*")
_COLON = re.compile("[:\uff1a]")  # the second is Chinese
LONGEST_SPEAKER = 40


def turn_of(line: str) -> tuple[str, str] | None:
    """Speaker and text of a line such as “Human: Hi!”; None for any other line.

    Takes time in proportion to the line: it is somebody else's, and may have a million spaces.
    """
    line = line.strip()
    colon = _COLON.search(line)
    speaker = line[: colon.start()].rstrip() if colon else ""
    if colon is None or not 1 <= len(speaker) <= LONGEST_SPEAKER:
        return None
    text = line[colon.end() :]
    text = text[1:] if text[:1].isspace() else text
    # An address has its colon before two slashes; nobody is called http.
    return None if text.startswith("//") else (speaker, text)


@dataclass(frozen=True, slots=True)
class _Spoken:
    """A turn whose lines are still being read."""

    speaker: str
    lines: list[str]
    number: int

    def utterance(self) -> Utterance:
        return Utterance(self.speaker, "\n".join(self.lines).strip(), self.number)


def _looks_like(head: str) -> bool:
    first = [line for line in head.split("\n") if line.strip()][:2]
    if first and _HEADING.fullmatch(first[0]):
        return True
    return len(first) == 2 and all(map(turn_of, first)) and not head.startswith(("{", "["))


@importer(
    "transcript",
    title="Published transcripts (“Meena Conversation 1”)",
    looks_like=_looks_like,
    is_loose=True,
)
def read(source: Source) -> Iterator[Conversation | Problem]:
    """Conversations under their headings; without any heading the file is one conversation.

    A line without a speaker goes on with the turn before it.
    """
    heading, begins, turns = "Conversation", 0, list[_Spoken]()
    for number, line in source.lines():
        if _HEADING.fullmatch(line):
            if begins:
                yield _ended(heading, begins, turns)
            heading, begins, turns = line.strip(), number, []
        elif line.strip():
            begins = begins or number
            spoken = turn_of(line)
            if spoken:
                turns.append(_Spoken(spoken[0], [spoken[1]], number))
            elif turns:
                turns[-1].lines.append(line.strip())
            else:
                yield Problem(number, f"“{line.strip()[:60]}” names no speaker, as in “Human: Hi!”.")
    if begins:
        yield _ended(heading, begins, turns)


def _ended(heading: str, line: int, turns: list[_Spoken]) -> Conversation | Problem:
    if not turns:
        return Problem(line, f"“{heading}” has no turns.")
    return Conversation(heading, line, tuple(turn.utterance() for turn in turns))
