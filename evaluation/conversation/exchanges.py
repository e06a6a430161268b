"""Conversations as exchanges: a turn, the reply to it, and the next turn of the first speaker.

With a person, these are the k-th message u(k), the reply b(k) and the next message u(k+1). In self-play every
turn is both a reply to the turn before and its continuation: `reply` and `following` are then the same turn,
and all metrics hold for both (Ghandeharioun et al. 2019, arXiv:1906.09308, section 4.3).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from evaluation.statistics.labels import IntArray

Turn: TypeAlias = tuple[str, str]
"""Speaker and text."""
Conversation: TypeAlias = Sequence[Turn]

NONE = -1
"""Number of a missing turn, in place of the number of a text."""


@dataclass(frozen=True, eq=False)
class Exchanges:
    """All exchanges of some conversations, and the distinct texts in them.

    Attributes:
        texts: each text once.
        said: (n,) number of the answered text.
        reply: (n,) number of the replying text; `NONE` if the conversation ends before.
        following: (n,) number of the text after the reply; `NONE` if the conversation ends before.
        position: (n,) number of the exchange in its conversation, from 0.
        conversation: (n,) number of the conversation, rising.
        conversations: number of conversations, including those without an exchange.
        replier: (n,) number of the speaker of the reply among `speakers`.
        speakers: all speakers of replies, in the order of their first reply.
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
    """Make the exchanges of conversations of people with a bot: `bot` is the bot, all others are the person.

    Consecutive turns of one side are joined. A bot's turns before the person's first turn are left out.
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
    """Make the exchanges of conversations of bots with each other: every two neighbouring turns."""
    rows = _Rows()
    for number, conversation in enumerate(conversations):
        for position, ((_, message), (speaker, reply)) in enumerate(pairwise(conversation)):
            rows.add(number, position, speaker, (message, reply, reply))
        rows.conversations = number + 1
    return rows.done()


def _merged(turns: Iterable[tuple[bool, str]]) -> list[tuple[bool, str]]:
    merged: list[tuple[bool, str]] = []
    for by_bot, text in turns:
        if merged and merged[-1][0] == by_bot:
            merged[-1] = by_bot, f"{merged[-1][1]} {text}"
        else:
            merged.append((by_bot, text))
    return merged


class _Rows:
    """Collector of exchanges."""

    def __init__(self) -> None:
        self.conversations = 0
        self._texts: dict[str, int] = {}
        self._speakers: dict[str, int] = {}
        self._rows: list[tuple[int, int, int, int, int, int]] = []

    def add(self, conversation: int, position: int, replier: str, said: Sequence[str]) -> None:
        """Add an exchange of one to three texts; missing ones become `NONE`."""
        numbers = [self._texts.setdefault(text, len(self._texts)) for text in said]
        numbers += [NONE] * (3 - len(numbers))
        speaker = self._speakers.setdefault(replier, len(self._speakers))
        self._rows.append((*numbers, position, conversation, speaker))  # type: ignore[arg-type]

    def done(self) -> Exchanges:
        columns = np.array(self._rows, dtype=np.int64).reshape(-1, 6).T
        message, reply, following, position, conversation, replier = columns
        return Exchanges(
            list(self._texts), message, reply, following, position, conversation, self.conversations, replier,
            list(self._speakers),
        )  # fmt: skip
