"""Transcripts as the authors of SSA published them (github.com/google-research, folder meena).

Meena Conversation 1
Human: Hi!
Meena: Hey there! What's up?
"""

import re
from collections.abc import Iterator

from dialogues.importers.formats import Conversation, Problem, Said, importer
from dialogues.importers.source import Source

_HEADING = re.compile(r"\S.{0,79}? Conversation \d+\s*")
_TURN = re.compile(r"(?P<speaker>[^\s:：][^:：]{0,39}?)\s*[:：](?:\s(?P<text>.*)|(?P<tight>.*))", re.DOTALL)  # noqa: RUF001


def turn_of(line: str) -> tuple[str, str] | None:
    """Speaker and text of a line such as “Human: Hi!”; None for any other line."""
    found = _TURN.fullmatch(line.strip())
    if found is None:
        return None
    # An address has its colon before two slashes; nobody is called http.
    text = found["text"] if found["text"] is not None else found["tight"]
    return None if text.startswith("//") else (found["speaker"], text)


def _looks_like(head: str) -> bool:
    first = [line for line in head.split("\n") if line.strip()][:2]
    if first and _HEADING.fullmatch(first[0]):
        return True
    return len(first) == 2 and all(map(turn_of, first)) and not head.startswith(("{", "["))


@importer("transcript", title="Published transcripts (“Meena Conversation 1”)", looks_like=_looks_like)
def read(source: Source) -> Iterator[Conversation | Problem]:
    """Conversations under their headings; without any heading the file is one conversation.

    A line without a speaker goes on with the turn before it.
    """
    heading, begins, turns = "Conversation", 0, list[Said]()
    for number, line in source.lines():
        if _HEADING.fullmatch(line):
            if begins:
                yield _ended(heading, begins, turns)
            heading, begins, turns = line.strip(), number, []
        elif line.strip():
            begins = begins or number
            spoken = turn_of(line)
            if spoken:
                turns.append(Said(*spoken, number))
            elif turns:
                turns[-1] = Said(turns[-1].speaker, f"{turns[-1].text}\n{line.strip()}", turns[-1].line)
            else:
                yield Problem(number, f"“{line.strip()[:60]}” names no speaker, as in “Human: Hi!”.")
    if begins:
        yield _ended(heading, begins, turns)


def _ended(heading: str, line: int, turns: list[Said]) -> Conversation | Problem:
    return Conversation(heading, line, tuple(turns)) if turns else Problem(line, f"“{heading}” has no turns.")
