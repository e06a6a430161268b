"""Batches of turns with their histories and sentences for the model.

Shapes: n turns to write, s words of the longest history, k of the longest sentence, t of the longest turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from chatbots.knowledge.config import TopicalChatConfig
from chatbots.knowledge.corpus import Part, Sentences
from chatbots.knowledge.oracle import NONE, IntArray
from chatbots.training.batching import EpochBatches
from chatbots.training.vocabulary import PADDING, START


@dataclass(frozen=True)
class Batch:
    """A batch of turns to write.

    Attributes:
        histories: newest words of earlier turns, padded on the right, (n, s).
        knowledge: words of each turn's sentence, padded on the right, (n, k); None without knowledge.
        targets: words of the turns with their ends, padded on the right, (n, t).
    """

    histories: Tensor
    knowledge: Tensor | None
    targets: Tensor

    @property
    def inputs(self) -> Tensor:
        """The decoder's inputs: the start, and all words but the last, (n, t)."""
        return torch.cat([torch.full_like(self.targets[:, :1], START), self.targets[:, :-1]], dim=1)

    @property
    def words(self) -> int:
        """Number of words to predict, ends included."""
        return int((self.targets != PADDING).sum())

    def to(self, device: torch.device) -> Batch:
        """Copy to another device."""
        knowledge = None if self.knowledge is None else self.knowledge.to(device)
        return Batch(self.histories.to(device), knowledge, self.targets.to(device))


Words = Sequence[int] | NDArray[np.uint16]
"""Numbers of the words of one history, sentence or turn."""


def collate(
    histories: Sequence[Words], sentences: Sequence[Words] | None, targets: Sequence[Words] | None = None
) -> Batch:
    """Pad words to a batch.

    Args:
        histories: history of each turn, none empty.
        sentences: sentence of each turn, empty for none; None without knowledge.
        targets: the turns; None if they must still be written.
    """
    return Batch(
        histories=_padded(histories),
        knowledge=None if sentences is None else _padded(sentences),
        targets=_padded(targets or [[]] * len(histories)),
    )


def _padded(rows: Sequence[Words]) -> Tensor:
    """Pad the rows, (n, t); an empty row becomes padding only."""
    filled = [torch.from_numpy(np.asarray(row if len(row) else [PADDING], dtype=np.int64)) for row in rows]
    return pad_sequence(filled, batch_first=True, padding_value=PADDING)


@dataclass(frozen=True)
class Batches(EpochBatches[Batch]):
    """Batches of the turns of a corpus part that answer others.

    Attributes:
        part: the part of the corpus.
        sentences: sentences of the corpus.
        config: with the lengths of history, sentence and turn.
        size: turns of a batch.
        seed: fixes the order of every epoch.
    """

    part: Part
    sentences: Sentences
    config: TopicalChatConfig
    size: int
    seed: int = 0

    @cached_property
    def answers(self) -> IntArray:
        """Numbers of the turns."""
        return self.part.answers

    @property
    def examples(self) -> IntArray:
        """Numbers of the examples that an epoch goes through."""
        return self.answers

    @cached_property
    def _begins(self) -> IntArray:
        return self.part.begins

    def __len__(self) -> int:
        """Number of batches in an epoch."""
        return -(-len(self.answers) // self.size)

    def of(self, numbers: IntArray) -> Batch:
        """Build the batch of these examples."""
        turns = numbers.tolist()
        sentences = [self.sentence(turn) for turn in turns] if self.config.knowledge else None
        return collate(
            [self.history(turn) for turn in turns], sentences, [self.target(turn) for turn in turns]
        )

    def history(self, turn: int) -> NDArray[np.uint16]:
        """The newest W_H words before a turn, with the ends of turns, within its conversation."""
        end = int(self.part.turns[turn])
        begin = max(int(self._begins[turn]), end - self.config.history)
        return self.part.words[begin:end]

    def target(self, turn: int) -> NDArray[np.uint16]:
        """The turn's first words; if the turn is cut, its end is missing."""
        begin, end = self.part.turns[turn], self.part.turns[turn + 1]
        return self.part.words[begin : min(end, begin + self.config.response_length)]

    def sentence(self, turn: int) -> NDArray[np.uint16]:
        """The first W_K words of the turn's sentence; empty without one."""
        number = int(self.part.sentences[turn])
        if number == NONE:
            return self.sentences.words[:0]
        begin, end = self.sentences.begins[number], self.sentences.begins[number + 1]
        return self.sentences.words[begin : min(end, begin + self.config.knowledge_length)]
