"""Conversations made from the templates' blocks, with the errors of typing people.

Also converts the conversations of the package `chitchat-dataset` (PyPI, MIT) to lines for a corpus. Its
`dataset.json` maps an id to a conversation, whose `messages` are turns: lists of messages that one person
wrote in a row, each with `text` and `sender`. It is read from the wheel, which need not be installed.
"""

from __future__ import annotations

import gzip
import itertools
import json
import random
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from chatbots.meena.everyday.templates import Block, Exchange, Filled, Slots, expand, fill, names, shipped
from chatbots.training.files import write_atomically

BLOCKS = (2, 6)
"""Fewest and most subjects of a conversation."""
FOLLOWS, JOINS, ALSO_SAYS, BOT_BEGINS = 0.8, 0.25, 0.08, 0.15
"""Chances that a subject goes on, that a new one gets a lead-in, that another remark comes first, and that
the bot greets first."""
LEADS = (
    *("By the way, ", "Anyway, ", "So ", "Hmm, ", "Ok. ", "I see. ", "Cool. ", "Nice. ", "Haha. ", "Oh. "),
    *("Thanks. ", "Yeah. ", "Interesting. ", "Well, ", "Okay, ", "Right. ", "Makes sense. ", "Good point. "),
    *("Hm, ", "Alright, ", "Oh nice. ", "Lol. ", "True. ", "Also, ", "And "),
)
GREETINGS = ("Hi!", "Hello!", "Hi! How are you?", "Hello! How are you doing?", "Hey there!")
LONG_FORMS = {
    "I'm": "I am", "don't": "do not", "what's": "what is", "it's": "it is", "can't": "cannot",
    "you're": "you are", "I've": "I have", "that's": "that is", "didn't": "did not", "isn't": "is not",
    "I'd": "I would", "who's": "who is",
}  # fmt: skip
CHAT_FORMS = {
    "you": "u",
    "are": "r",
    "because": "cuz",
    "going to": "gonna",
    "want to": "wanna",
    "please": "pls",
}
CHAT_FORMS |= {"really": "rly", "favorite": "favourite", "right now": "rn", "to be honest": "tbh"}
_WORDS = re.compile(r"[A-Za-z]{5,}")


def conversations(count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield conversations in the form of a corpus's input; the person's lines are context only.

    Args:
        count: their number.
        seed: the same one gives the same conversations.
    """
    blocks, slots = shipped()
    for number in range(count):
        chance = random.Random(f"{seed}/{number}")
        turns = conversation(blocks, slots, chance)
        yield {"id": f"everyday-{seed}-{number}", "turns": turns}


def write_conversations(path: Path, talks: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Write conversations as JSON Lines, compressed if the name ends in .gz; the same bytes each time.

    Returns:
        Numbers of conversations, of exchanges (a turn of the bot and the one that it answers), and of
        different ones among them.
    """
    count = exchanges = 0
    different: set[int] = set()
    out = BytesIO()
    for talk in talks:
        count += 1
        out.write(json.dumps(talk, ensure_ascii=False).encode() + b"\n")
        texts = [turn["text"] for turn in talk["turns"]]
        answered = [
            pair
            for pair, turn in zip(itertools.pairwise(texts), talk["turns"][1:], strict=True)
            if "context" not in turn
        ]
        exchanges += len(answered)
        different.update(map(hash, answered))
    data = out.getvalue()
    write_atomically(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return {"conversations": count, "exchanges": exchanges, "different": len(different)}


def conversation(blocks: Sequence[Block], slots: Slots, chance: random.Random) -> list[dict[str, Any]]:
    """Create the turns of one conversation."""
    turns: list[dict[str, Any]] = []
    if chance.random() < BOT_BEGINS:
        turns.append({"text": chance.choice(GREETINGS)})
    weights = [block.weight for block in blocks]
    for block in chance.choices(blocks, weights, k=chance.randint(*BLOCKS)):
        before = ""
        if chance.random() < ALSO_SAYS:
            (other,) = chance.choices(blocks, weights)
            before = _phrased(chance.choice(other.openings), slots, {}, chance).rstrip(".!?") + ". "
        elif turns and chance.random() < JOINS:
            before = chance.choice(LEADS)
        for line, answer in walk(chance.choice(block.openings), slots, chance):
            turns.append({"text": typed(before + line, chance), "context": True})
            turns.append({"text": answer})
            before = ""
    return turns


def walk(exchange: Exchange, slots: Slots, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Follow one path through a subject; yields the person's line and the answer until nothing follows."""
    filled: Filled = {}
    while True:
        line = _phrased(exchange, slots, filled, chance)
        yield line, _answer(exchange, slots, filled, chance)
        if not exchange.following or chance.random() > FOLLOWS:
            return
        exchange = chance.choice(exchange.following)


def _phrased(exchange: Exchange, slots: Slots, filled: Filled, chance: random.Random) -> str:
    return fill(expand(chance.choice(exchange.said), chance), slots, filled, chance).strip()


def _answer(exchange: Exchange, slots: Slots, filled: Filled, chance: random.Random) -> str:
    """Choose an answer whose names the person has used, if there is one; prefer one that repeats them."""
    fitting = [answer for answer in exchange.answers if all(key in filled for _, key in names(answer))]
    weights = [3 if "{" in answer else 1 for answer in fitting]
    answer = chance.choices(fitting, weights)[0] if fitting else chance.choice(exchange.answers)
    return _capital(fill(expand(answer, chance), slots, filled, chance))


def typed(text: str, chance: random.Random) -> str:
    """Vary a text as people type it: short or long forms, small letters, no marks, slips."""
    text = " ".join(text.split())
    for forms, share in ((LONG_FORMS, 0.15), (CHAT_FORMS, 0.04)):
        if chance.random() < share:
            for form, other in forms.items():
                text = re.sub(rf"\b{form}\b", other, text)
    if chance.random() < 0.05:
        text = text.replace("'", "")
    if chance.random() < 0.04:
        text = _slip(text, chance)
    text = text.lower() if chance.random() < 0.3 else _capital(text)
    if chance.random() < 0.25:
        return text.rstrip(".!?,")
    return text if text.endswith((".", "!", "?")) or chance.random() < 0.5 else text + "."


def _slip(text: str, chance: random.Random) -> str:
    """Exchange two neighbouring letters of a longer word."""
    words = list(_WORDS.finditer(text))
    if not words:
        return text
    place = chance.choice(words).start() + chance.randint(1, 3)
    return text[:place] + text[place + 1] + text[place] + text[place + 2 :]


def _capital(text: str) -> str:
    """Begin every sentence with a capital letter."""
    return re.sub(r"(^|[.!?] )([a-z])", lambda match: match[1] + match[2].upper(), text)


INSIDE = "chitchat_dataset/dataset.json"
"""Path of the data in the wheel."""


class ChitchatError(ValueError):
    """A file that is not the data of chitchat-dataset; says what is missing."""


def chitchat_conversations(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the conversations in the order of the file; consecutive messages of one person are one turn.

    Args:
        path: the wheel, or its `dataset.json`.

    Raises:
        ChitchatError: the path is neither.
    """
    try:
        for identity, talk in json.loads(_read(path)).items():
            turns = [_turn(messages) for messages in talk["messages"] if messages]
            if turns:
                yield {"id": f"chitchat-{identity}", "turns": turns}
    except (ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise ChitchatError(f"{path} is not the data of chitchat-dataset: {error!r:.120}.") from error


def _read(path: Path) -> bytes:
    if path.suffix != ".whl":
        return path.read_bytes()
    with zipfile.ZipFile(path) as wheel:
        return wheel.read(INSIDE)


def _turn(messages: list[dict[str, str]]) -> dict[str, str]:
    texts = (" ".join(message["text"].split()) for message in messages)
    return {"author": messages[0]["sender"], "text": " ".join(filter(None, texts))}
