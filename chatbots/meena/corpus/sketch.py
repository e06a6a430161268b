"""How often each text occurs, in memory of fixed size."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


class CountSketch:
    """A count-min sketch: counts are never too small, and hardly ever too large.

    A text is overcounted by about (different texts / columns) at most: with the default, 64 MiB, by 24 in a
    corpus of 100 million different texts. Give a larger corpus more columns. Sketches of parts of a corpus
    add up.

    Args:
        rows: independent tables.
        columns: counters of each, a power of two.

    Source: Cormode and Muthukrishnan 2005, doi:10.1016/j.jalgor.2003.12.001.
    """

    def __init__(self, *, rows: int = 4, columns: int = 1 << 22) -> None:
        self.counts: NDArray[np.uint32] = np.zeros((rows, columns), dtype=np.uint32)
        self._rows = np.arange(rows)

    def add(self, text: str) -> None:
        """Count one more occurrence."""
        self.counts[self._rows, self._cells(text)] += 1

    def count(self, text: str) -> int:
        """Occurrences so far; an upper bound."""
        return int(self.counts[self._rows, self._cells(text)].min())

    def merge(self, other: CountSketch) -> None:
        """Add the counts of another part of the corpus.

        Raises:
            ValueError: the other has a different shape.
        """
        if other.counts.shape != self.counts.shape:
            raise ValueError(
                f"Sketches of shapes {self.counts.shape} and {other.counts.shape} do not add up."
            )
        self.counts += other.counts

    def save(self, path: Path) -> None:
        """Write the counters as a compressed NumPy archive."""
        with path.open("wb") as file:
            np.savez_compressed(file, counts=self.counts)

    @classmethod
    def load(cls, path: Path) -> CountSketch:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as archive:
            counts = archive["counts"]
        sketch = cls(rows=counts.shape[0], columns=1)
        sketch.counts = counts
        return sketch

    def _cells(self, text: str) -> NDArray[np.int64]:
        digest = hashlib.blake2b(text.lower().encode(), digest_size=4 * len(self._rows)).digest()
        cells: NDArray[np.int64] = np.frombuffer(digest, dtype="<u4").astype(np.int64) % self.counts.shape[1]
        return cells
