"""Batches of conversations for the model.

Shapes: n conversations, u utterances of all of them, m = u - n that answer another one, t positions.
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

from chatbots.hierarchical.corpus import Part
from chatbots.hierarchical.distillation import TargetFile, Targets
from chatbots.training.batching import EpochBatches
from chatbots.training.vocabulary import PADDING

NO_TARGETS = Targets()


@dataclass(frozen=True)
class Batch:
    """A batch: all utterances of the first conversation, then of the second, and so on.

    Attributes:
        utterances: words with their ends, padded on the right, (u, t).
        lengths: words of each, on the CPU, (u,).
        turns: utterances of each conversation, on the CPU, (n,).
        targets: the teachers' values for all utterances except each conversation's last.
    """

    utterances: Tensor
    lengths: Tensor
    turns: Tensor
    targets: Targets = NO_TARGETS

    @property
    def read(self) -> Tensor:
        """Mask of the utterances that are answered: all but each conversation's last, (m,)."""
        is_last = torch.zeros(len(self.lengths), dtype=torch.bool)
        is_last[self.turns.cumsum(0) - 1] = True
        return (~is_last).nonzero().squeeze(1)

    @property
    def written(self) -> Tensor:
        """Indices of the answers, one for each utterance that is read, (m,)."""
        return self.read + 1

    @property
    def words(self) -> int:
        """Number of words to predict, ends included."""
        return int(self.lengths[self.written].sum())

    def to(self, device: torch.device) -> Batch:
        """Copy to another device; tensors that must be on the CPU stay there."""
        targets = Targets(*(None if each is None else each.to(device) for each in self.targets))
        return Batch(self.utterances.to(device), self.lengths, self.turns, targets)


def collate(conversations: Sequence[Sequence[Sequence[int]]], targets: Targets = NO_TARGETS) -> Batch:
    """Pad utterances to a batch.

    Args:
        conversations: utterances of each, words of each with its end; nothing may be empty.
        targets: targets of all utterances except each conversation's last, in that order.
    """
    utterances = [torch.tensor(words) for turns in conversations for words in turns]
    return Batch(
        utterances=pad_sequence(utterances, batch_first=True, padding_value=PADDING),
        lengths=torch.tensor([len(words) for words in utterances]),
        turns=torch.tensor([len(turns) for turns in conversations]),
        targets=targets,
    )


@dataclass(frozen=True)
class Batches(EpochBatches[Batch]):
    """Batches of the conversations of a corpus part.

    Attributes:
        part: the part of the corpus.
        size: conversations of a batch.
        targets: the teachers' values, for a model with heads.
        seed: fixes the order of every epoch.
    """

    part: Part
    size: int
    targets: TargetFile | None = None
    seed: int = 0

    @cached_property
    def rows(self) -> NDArray[np.int64] | None:
        """Row of each utterance in the file of targets."""
        return None if self.targets is None else self.targets.rows_for(self.part)

    @property
    def examples(self) -> NDArray[np.int64]:
        """Numbers of the examples that an epoch goes through."""
        return np.arange(len(self.part))

    def of(self, numbers: NDArray[np.int64]) -> Batch:
        """Build the batch of these examples."""
        conversations = [self.part.conversation(int(number)) for number in numbers]
        if self.targets is None or self.rows is None:
            return collate(conversations)
        places = [place for number in numbers for place in self.part.places(int(number))[:-1]]
        return collate(conversations, self.targets.of(self.rows[places]))
