"""Templates of exchanges, and the words that fill them.

A file in `talk/` holds blocks, each with openings of a subject and the following turns:

    ## drinks *2
    u [I love|I like] {drink} | {drink} is great
    b {Drink}! {drink.Note}. How often do you have it?
      u [every day|now and then]
      b A good habit.

Lines with `u` are the person's, lines with `b` the bot's answers, `|` separates alternatives, brackets
enclose shorter ones, and indented lines may follow. `*2` makes a block twice as likely. A name in braces
stands for an entry of `slots.txt`, the same one throughout a block; `{drink2}` is another one, `{Drink}`
begins with a capital letter, `{a:drink}` has its article, and `{drink.note}` is the entry's note.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import NamedTuple

_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_NAME = re.compile(r"\{([Aa]:)?([A-Za-z]+?)(\d?)(?:\.([A-Za-z]+))?\}")
_BLOCK = re.compile(r"## (\w+)(?: \*(\d+))?$")


class TemplateError(ValueError):
    """A template file that cannot be read; says which line and why."""


class Entry(NamedTuple):
    """A word that fills a slot, and its note ("" without one)."""

    text: str
    note: str


@dataclass
class Exchange:
    """The person's possible lines, the bot's possible answers, and the exchanges that may follow."""

    said: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    following: list[Exchange] = field(default_factory=list)


@dataclass
class Block:
    """The openings of one subject.

    Attributes:
        name: the subject.
        weight: its relative frequency.
        openings: exchanges that may begin it.
    """

    name: str
    weight: int
    openings: list[Exchange] = field(default_factory=list)


Slots = dict[str, list[Entry]]
Filled = dict[str, Entry]
"""Values of slots, by name and number."""


def read_slots(text: str) -> Slots:
    """Parse entries by slot: lines `name: entry; entry = note`."""
    slots: Slots = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        name, colon, entries = line.partition(":")
        if not colon:
            raise TemplateError(f"slots, line {number}: no colon after the name of a slot: {line[:40]!r}.")
        parted = (entry.partition("=") for entry in entries.split(";"))
        slots[name.strip()] = [Entry(word.strip(), note.strip()) for word, _, note in parted if word.strip()]
    return slots


def read_blocks(text: str, source: str, slots: Slots) -> list[Block]:
    """Parse the blocks of one file.

    Raises:
        TemplateError: a line that is no template, an answer to nothing, or a slot that does not exist.
    """
    blocks: list[Block] = []
    levels: list[list[Exchange]] = []  # at each depth, the exchanges that still take lines
    for number, line in enumerate(text.splitlines(), start=1):
        where = f"{source}, line {number}"
        if not line.strip():
            continue
        if heading := _BLOCK.match(line):
            blocks.append(Block(heading[1], int(heading[2] or 1)))
            levels = [blocks[-1].openings]
            continue
        stripped = line.lstrip(" ")
        depth = (len(line) - len(stripped)) // 2
        kind, _, rest = stripped.partition(" ")
        if kind not in ("u", "b") or depth >= len(levels):
            raise TemplateError(f"{where}: neither a heading nor what follows one: {line.strip()[:40]!r}.")
        _check_names(rest, slots, where)
        _add(levels, depth, kind, alternatives(rest), where)
    return blocks


def _add(levels: list[list[Exchange]], depth: int, kind: str, texts: list[str], where: str) -> None:
    level = levels[depth]
    if kind == "u":
        if not level or level[-1].answers:
            level.append(Exchange())
        level[-1].said += texts
    elif not level:
        raise TemplateError(f"{where}: an answer, but nothing was said before it.")
    else:
        level[-1].answers += texts
        levels[depth + 1 :] = [level[-1].following]


def _check_names(text: str, slots: Slots, where: str) -> None:
    for name in _NAME.finditer(text):
        if name[2].lower() not in slots:
            raise TemplateError(f"{where}: {name[0]} is not a slot of slots.txt.")
    if text.count("{") != len(_NAME.findall(text)):
        raise TemplateError(f"{where}: a brace that encloses no slot.")


def alternatives(text: str) -> list[str]:
    """Split at the bars outside brackets."""
    depth, parts = 0, [""]
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


@cache
def shipped() -> tuple[list[Block], Slots]:
    """Load the templates of this package."""
    folder = resources.files("chatbots.meena.everyday") / "talk"
    files = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}
    slots = read_slots(files.pop("slots.txt"))
    return [block for name in sorted(files) for block in read_blocks(files[name], name, slots)], slots


def expand(template: str, chance: random.Random) -> str:
    """Choose within brackets, innermost first."""
    while _BRACKET.search(template):
        template = _BRACKET.sub(lambda match: chance.choice(match[1].split("|")), template)
    return template


def names(template: str) -> Iterator[tuple[str, str]]:
    """Yield the slots that a template needs: (slot, key under which it is filled)."""
    for _, name, number, _ in _NAME.findall(template):
        yield name.lower(), name.lower() + number


def fill(template: str, slots: Slots, filled: Filled, chance: random.Random) -> str:
    """Replace names by words; empty slots get different values."""
    for slot, key in names(template):
        if key not in filled:
            used = {entry.text for other, entry in filled.items() if other.rstrip("0123456789") == slot}
            filled[key] = chance.choice([entry for entry in slots[slot] if entry.text not in used])

    def word(match: re.Match[str]) -> str:
        article, name, number, note = match.groups()
        entry = filled[name.lower() + number]
        text = entry.note if note else entry.text
        if article:
            text = f"{'an' if text[0].lower() in 'aeiou' else 'a'} {text}"
        upper = (note or article or name)[0].isupper()
        return text[0].upper() + text[1:] if upper and text else text

    return _NAME.sub(word, template)
