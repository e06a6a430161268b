"""Conversations in which the bot listens: lines of templates and of people, answered by the rules.

Real lines come from files in the form that a corpus is built from. They are context only; nothing of them is
learnt as something to say, beyond a word or two that a reply takes up.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from chatbots.meena.everyday.conversations import LEADS, typed
from chatbots.meena.everyday.listening import Heard, answering, listener, openings, pairs, question_in
from chatbots.meena.everyday.templates import Filled, Slots, expand, fill, shipped

EXCHANGES = (2, 5)
"""Fewest and most exchanges of a conversation."""
ANSWERS, PAIRS, REAL, JOINS = 0.5, 0.45, 0.5, 0.12
"""Chances: that the bot's question is answered; else, that a line comes with its reply; else, that it is a
real one; that it is led over to."""
WORDS = (2, 24)
"""Fewest and most words of a real line."""
MOST_ALIKE, MOST_LINES = 500, 20_000
"""Most real lines that one rule answers, or others would drown the rest; most lines that are looked at."""


def overheard(paths: Sequence[Path], seed: int) -> list[str]:
    """Lines of conversations, as many of each kind as are allowed."""
    lines = sorted({line for path in paths for line in _turns(path)})
    random.Random(f"{seed}/lines").shuffle(lines)
    listening, alike, kept = listener(), dict[int, int](), list[str]()
    for line in lines[:MOST_LINES]:
        heard = listening.hear(line)
        number = heard.rule.number if heard else -1
        if heard and alike.get(number, 0) < MOST_ALIKE:
            alike[number] = alike.get(number, 0) + 1
            kept.append(line)
    return kept


def _turns(path: Path) -> Iterator[str]:
    with (
        gzip.open(path, "rt", encoding="utf-8")
        if path.suffix == ".gz"
        else path.open(encoding="utf-8") as file
    ):
        for line in file:
            for turn in json.loads(line).get("turns", ()):
                text = " ".join((turn if isinstance(turn, str) else turn["text"]).split())
                if WORDS[0] <= len(text.split()) <= WORDS[1] and text.isascii():
                    yield text


def conversations(count: int, seed: int, real: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Conversations in the form that a corpus is built from; the person's lines are context only.

    Args:
        count: how many.
        seed: the same one gives the same conversations.
        real: lines as of `overheard`; may be empty.
    """
    for number in range(count):
        chance = random.Random(f"{seed}/overheard/{number}")
        yield {"id": f"overheard-{seed}-{number}", "turns": conversation(real, chance)}


def conversation(real: Sequence[str], chance: random.Random) -> list[dict[str, Any]]:
    """Turns of one conversation."""
    slots, turns, before = shipped()[1], list[dict[str, Any]](), ""
    filled: Filled = {}
    for _ in range(chance.randint(*EXCHANGES)):
        if not (question_in(before) and chance.random() < ANSWERS) and chance.random() < PAIRS:
            before = _pair(turns, slots, chance)
            continue
        line, written = _said(before, real, slots, filled, chance)
        heard = listener().hear(line, before)
        if heard is None:
            continue
        said = _new_reply(heard, [turn["text"] for turn in turns], chance)
        turns += [{"text": typed(line, chance) if written else line, "context": True}, {"text": said}]
        before = said
    return turns


def _pair(turns: list[dict[str, Any]], slots: Slots, chance: random.Random) -> str:
    """Add a line with its reply, which is returned."""
    said, replies = chance.choice(pairs())
    filled: Filled = {}
    lead = chance.choice(LEADS) if turns and chance.random() < JOINS else ""
    line = fill(expand(chance.choice(said), chance), slots, filled, chance).strip()
    reply = fill(expand(chance.choice(replies), chance), slots, filled, chance)
    reply = re.sub(r"(^|[.!?] )([a-z])", lambda found: found[1] + found[2].upper(), reply)
    turns += [{"text": typed(lead + line, chance), "context": True}, {"text": reply}]
    return reply


def _said(
    before: str, real: Sequence[str], slots: Slots, filled: Filled, chance: random.Random
) -> tuple[str, bool]:
    """What the person says: an answer to the bot's question, a real line, or one of a template.

    Returns:
        The line, and whether it is from a template, so that it still has to look typed.
    """
    asked = question_in(before)
    if asked and chance.random() < ANSWERS:
        for question, said in answering():
            if question.search(asked):
                return _filled(chance.choice(said), slots, filled, chance), True
    if real and chance.random() < REAL:
        return chance.choice(real), False
    lead = chance.choice(LEADS) if before and chance.random() < JOINS else ""
    return lead + _filled(chance.choice(openings()), slots, filled, chance), True


def _filled(template: str, slots: Slots, filled: Filled, chance: random.Random) -> str:
    filled.clear()
    return fill(expand(template, chance), slots, filled, chance).strip()


def _new_reply(heard: Heard, earlier: Sequence[str], chance: random.Random) -> str:
    """A reply that was not given before, if a few tries find one."""
    for _ in range(4):
        said = listener().reply(heard, chance)
        if said not in earlier:
            break
    return said
