"""Conversations in which the bot listens: lines of templates and of people, answered by rules and remarks.

Real lines come from files in the form of a corpus's input, and stay in their order. They are context only; a
model does not learn them as responses, except for the few words that a reply repeats.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from chatbots.meena.everyday.dialogues import LEADS, typed
from chatbots.meena.everyday.remarks import corrects, is_general, remark
from chatbots.meena.everyday.reply_rules import answering, listener, openings, pairs, question_in
from chatbots.meena.everyday.templates import Filled, Slots, expand, fill, shipped
from evaluation.texts.repetition import repeats

EXCHANGES = (2, 6)
"""Fewest and most exchanges of a conversation."""
ANSWERS, PAIRS, REAL, JOINS, CORRECTS = 0.5, 0.45, 0.8, 0.12, 0.06
"""Chances that the bot's question is answered from a template; else, that a line comes with its reply; that a
conversation follows a real one; that a line gets a lead-in; that it corrects the bot."""
TOPIC, TOPIC_WORDS = 0.4, 14
"""Chance that a rule for a subject is tried, and the longest line in words for it."""
WORDS = (1, 24)
"""Fewest and most words of a real line."""
TRIES = 8
"""Number of replies tried until one repeats nothing."""
KEPT = 0.3
"""Share of lines kept whose reply is general; those lines teach little."""
_OWN = re.compile(r"\b(?:i|i'm|im|i've|i'll|my|we|our|we're)\b", re.IGNORECASE)
_WORD = re.compile(r"\b[a-z]{4,}\b")
_REFUSALS = ("No, ", "", "", "What do you mean? ", "No. ", "I didn't say that. ")

Lines = Sequence[str]
"""The lines of one real conversation, in order."""


def overheard(paths: Sequence[Path]) -> list[Lines]:
    """Read the usable lines of conversations; conversations without any are left out."""
    return [lines for path in paths for lines in _conversations(path) if lines]


def _conversations(path: Path) -> Iterator[list[str]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        for line in file:
            turns = json.loads(line).get("turns", ())
            texts = (" ".join((turn if isinstance(turn, str) else turn["text"]).split()) for turn in turns)
            yield [text for text in texts if WORDS[0] <= len(text.split()) <= WORDS[1] and text.isascii()]


def conversations(count: int, seed: int, real: Sequence[Lines]) -> Iterator[dict[str, Any]]:
    """Yield conversations in the form of a corpus's input; the person's lines are context only.

    Args:
        count: their number.
        seed: the same one gives the same conversations.
        real: lines from `overheard`; may be empty.
    """
    for number in range(count):
        chance = random.Random(f"{seed}/overheard/{number}")
        follows = bool(real) and chance.random() < REAL
        turns = _following(chance.choice(real), chance) if follows else conversation(chance)
        if turns:
            yield {"id": f"overheard-{seed}-{number}", "turns": turns}


class Reply(NamedTuple):
    """A reply to a line; `general` if it would fit nearly any line."""

    text: str
    general: bool


def replied(line: str, earlier: Sequence[str], chance: random.Random) -> Reply:
    """Reply to a line after these turns: by a rule if one fits, else a remark; without repetition."""
    before = earlier[-1] if earlier else ""
    fits = len(line.split()) <= TOPIC_WORDS and _OWN.search(line) is not None
    topics = fits and chance.random() < TOPIC
    match = None if corrects(line) else listener().hear(line, before, topics=topics)
    for number in range(TRIES):
        if match and number < TRIES // 2:  # later tries: all of the rule's replies may be used up
            reply = Reply(listener().reply(match, chance), listener().is_general(match))
        else:
            text = remark(line, chance)
            reply = Reply(text, is_general(text))
        if not repeats(reply.text, [*earlier, line]):
            break
    return reply


def should_use(reply: Reply, chance: random.Random) -> bool:
    """Decide whether a reply is worth learning, by `KEPT`."""
    return not reply.general or chance.random() < KEPT


def _following(lines: Lines, chance: random.Random) -> list[dict[str, Any]]:
    """Create a conversation in which a person says the lines of a real one."""
    count = chance.randint(*EXCHANGES)
    first = chance.randint(0, max(0, len(lines) - count))
    turns: list[dict[str, Any]] = []
    for line in lines[first : first + count]:
        earlier = [turn["text"] for turn in turns]
        line_said = _corrected(line, earlier[-1], chance) if earlier and chance.random() < CORRECTS else line
        reply = replied(line_said, earlier, chance)
        if should_use(reply, chance):
            turns += [{"text": line_said, "context": True}, {"text": reply.text}]
    return turns


def _corrected(line: str, before: str, chance: random.Random) -> str:
    """Vary the line as a correction by a person who did not understand the turn before."""
    words = _WORD.findall(before)
    if not words or "?" in line:
        return line
    doubted = chance.choice(["", "what ", "a ", "my ", "the "]) + chance.choice(words)
    return f"{doubted[0].upper()}{doubted[1:]}? {chance.choice(_REFUSALS)}{line}"


def conversation(chance: random.Random) -> list[dict[str, Any]]:
    """Create the turns of one conversation from templates."""
    slots, turns = shipped()[1], list[dict[str, Any]]()
    filled: Filled = {}
    for _ in range(chance.randint(*EXCHANGES)):
        earlier = [turn["text"] for turn in turns]
        question = question_in(earlier[-1]) if earlier else ""
        if not (question and chance.random() < ANSWERS) and chance.random() < PAIRS:
            turns += _pair(slots, chance, bool(turns))
            continue
        line = typed(_phrased(question, slots, filled, chance), chance)
        turns += [{"text": line, "context": True}, {"text": replied(line, earlier, chance).text}]
    return turns


def _pair(slots: Slots, chance: random.Random, goes_on: bool) -> list[dict[str, Any]]:
    """Create a line with its reply."""
    lines, replies = chance.choice(pairs())
    filled: Filled = {}
    lead = chance.choice(LEADS) if goes_on and chance.random() < JOINS else ""
    line = fill(expand(chance.choice(lines), chance), slots, filled, chance).strip()
    reply = fill(expand(chance.choice(replies), chance), slots, filled, chance)
    reply = re.sub(r"(^|[.!?] )([a-z])", lambda match: match[1] + match[2].upper(), reply)
    return [{"text": typed(lead + line, chance), "context": True}, {"text": reply}]


def _phrased(bot_question: str, slots: Slots, filled: Filled, chance: random.Random) -> str:
    """Choose the person's line: an answer to the bot's question, or something else."""
    if bot_question and chance.random() < ANSWERS:
        for question, answers in answering():
            if question.search(bot_question):
                return _filled(chance.choice(answers), slots, filled, chance)
    lead = chance.choice(LEADS) if bot_question and chance.random() < JOINS else ""
    return lead + _filled(chance.choice(openings()), slots, filled, chance)


def _filled(template: str, slots: Slots, filled: Filled, chance: random.Random) -> str:
    filled.clear()
    return fill(expand(template, chance), slots, filled, chance).strip()
