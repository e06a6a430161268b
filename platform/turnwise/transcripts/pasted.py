"""A conversation pasted from a web page, as far as it can be told apart; people then correct it. Pure."""

import re
from collections import Counter
from collections.abc import Iterable

from turnwise.transcripts.importers.transcript import turn_of

_HUMAN = re.compile(r"human|user|you|me|i|guest|visitor|我|你|用户", re.IGNORECASE)

MOST_LINES = 400


def parsed(text: str) -> list[tuple[bool, str]]:
    """(spoken by the human?, text) of each turn.

    With lines such as “You: Hi!” the two names used most are the speakers, and other lines go on with the
    turn before. Without names, lines alternate, beginning with the human.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()][:MOST_LINES]
    names = _names(lines)
    if len(names) < 2:
        return [(number % 2 == 0, line) for number, line in enumerate(lines)]
    human = next((name for name in names if _HUMAN.fullmatch(name)), names[0])
    turns: list[tuple[bool, str]] = []
    for line in lines:
        spoken = turn_of(line)
        if spoken and spoken[0] in names:
            turns.append((spoken[0] == human, spoken[1]))
        elif turns:
            turns[-1] = (turns[-1][0], f"{turns[-1][1]}\n{line}")
        else:
            turns.append((True, line))
    return joined(turns)


def _names(lines: Iterable[str]) -> list[str]:
    """The two names before colons that are used most, in the order in which they appear."""
    used = Counter(spoken[0] for line in lines if (spoken := turn_of(line)))
    return sorted((name for name, _ in used.most_common(2)), key=list(used).index)


def joined(turns: Iterable[tuple[bool, str]]) -> list[tuple[bool, str]]:
    """Without empty turns, and what one speaker says in a row as one turn: they alternate."""
    result: list[tuple[bool, str]] = []
    for human, text in turns:
        text = text.strip()
        if not text:
            continue
        if result and result[-1][0] == human:
            result[-1] = (human, f"{result[-1][1]}\n{text}")
        else:
            result.append((human, text))
    return result
