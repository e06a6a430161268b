"""The order of an epoch's batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from chatbots.training.settings import check_range

Batch = TypeVar("Batch")


class EpochBatches(ABC, Generic[Batch]):
    """Batches of a fixed number of examples: shuffled for each epoch, or in order.

    Attributes:
        size: examples of a batch, at least 1.
        seed: fixes the order of every epoch.
    """

    size: int
    seed: int

    def __post_init__(self) -> None:
        check_range("batch", self.size, least=1)

    @property
    @abstractmethod
    def examples(self) -> NDArray[np.int64]:
        """Numbers of all examples, in order."""

    @abstractmethod
    def of(self, numbers: NDArray[np.int64]) -> Batch:
        """Build the batch of these examples."""

    def epoch(self, number: int, *, skip: int = 0) -> Iterator[Batch]:
        """Yield the batches of one pass over all examples.

        Args:
            number: number of the epoch; each has its own order.
            skip: number of first batches to leave out.
        """
        order = np.random.default_rng((self.seed, number)).permutation(self.examples)
        for start in range(skip * self.size, len(order), self.size):
            yield self.of(order[start : start + self.size])

    def in_order(self) -> Iterator[Batch]:
        """Yield the batches of all examples in order, for measuring."""
        examples = self.examples
        for start in range(0, len(examples), self.size):
            yield self.of(examples[start : start + self.size])
