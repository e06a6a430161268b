"""Conversations as exchanges: a turn, what is said to it, and what its speaker says next.

Of a person with a bot: k-th message u(k), reply b(k), next message u(k+1). Of bots with each other every turn
is both a reply to the one before and what comes next: then `reply` and `following` are the same turn, and all
metrics hold for both (Ghandeharioun et al. 2019, arXiv:1906.09308, section 4.3).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from evaluation.statistics.labels import IntArray

Turn: TypeAlias = tuple[str, str]
"""Who speaks, and what."""
Conversation: TypeAlias = Sequence[Turn]

NONE = -1
"""In place of a text's number: there is no such turn."""


@dataclass(frozen=True, eq=False)
class Exchanges:
    """All exchanges of some conversations, and the distinct texts in them.

    Attributes:
        texts: each text once.
        said: (n,) number of the text that is answered.
        reply: (n,) number of the text that answers; `NONE` where a conversation ends before.
        following: (n,) number of what is said to the reply; `NONE` where a conversation ends before.
        position: (n,) which exchange of its conversation it is, from 0.
        conversation: (n,) number of the conversation, rising.
        conversations: how many there are, those without an exchange included.
        replier: (n,) number of the speaker of the reply among `speakers`.
        speakers: all who reply, in the order in which they first do.
    """

    texts: Sequence[str]
    said: IntArray
    reply: IntArray
    following: IntArray
    position: IntArray
    conversation: IntArray
    conversations: int
    replier: IntArray
    speakers: Sequence[str]

    def __len__(self) -> int:
        return len(self.said)


def with_bot(conversations: Iterable[Conversation], bot: str) -> Exchanges:
    """The exchanges of conversations in which this speaker is the bot, and whoever else the person.

    Turns of one side in a row are one turn. What the bot says before the person has said anything answers
    nothing.
    """
    rows = _Rows()
    for number, conversation in enumerate(conversations):
        turns = _merged((speaker == bot, text) for speaker, text in conversation)
        if turns and turns[0][0]:
            turns = turns[1:]
        texts = [text for _, text in turns]
        for position, at in enumerate(range(0, len(texts), 2)):
            rows.add(number, position, bot, texts[at : at + 3])
        rows.conversations = number + 1
    return rows.done()


def of_bots(conversations: Iterable[Conversation]) -> Exchanges:
    """The exchanges of conversations of bots with each other: every two neighbouring turns."""
    rows = _Rows()
    for number, conversation in enumerate(conversations):
        for position, ((_, said), (speaker, reply)) in enumerate(pairwise(conversation)):
            rows.add(number, position, speaker, (said, reply, reply))
        rows.conversations = number + 1
    return rows.done()


def _merged(turns: Iterable[tuple[bool, str]]) -> list[tuple[bool, str]]:
    found: list[tuple[bool, str]] = []
    for by_bot, text in turns:
        if found and found[-1][0] == by_bot:
            found[-1] = by_bot, f"{found[-1][1]} {text}"
        else:
            found.append((by_bot, text))
    return found


class _Rows:
    """Exchanges while they are gathered."""

    def __init__(self) -> None:
        self.conversations = 0
        self._texts: dict[str, int] = {}
        self._speakers: dict[str, int] = {}
        self._rows: list[tuple[int, int, int, int, int, int]] = []

    def add(self, conversation: int, position: int, replier: str, said: Sequence[str]) -> None:
        """Two or three texts; of one alone there is no exchange, but what was said last counts as said."""
        numbers = [self._texts.setdefault(text, len(self._texts)) for text in said]
        numbers += [NONE] * (3 - len(numbers))
        speaker = self._speakers.setdefault(replier, len(self._speakers))
        self._rows.append((*numbers, position, conversation, speaker))  # type: ignore[arg-type]

    def done(self) -> Exchanges:
        columns = np.array(self._rows, dtype=np.int64).reshape(-1, 6).T
        said, reply, following, position, conversation, replier = columns
        return Exchanges(
            list(self._texts), said, reply, following, position, conversation, self.conversations, replier,
            list(self._speakers),
        )  # fmt: skip
