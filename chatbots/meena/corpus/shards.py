"""Token files (shards): every turn once, with a pointer to the turn it answers.

A shard is a folder of three raw little-endian arrays, memory-mapped by training: `tokens.u16`, the turns'
subwords, concatenated; `offsets.i64`, the start of each turn, and the end; `parents.i64`, the index of the
turn that each turn answers, -1 at a root, and -2 - index for a turn that is context only. A pair is a turn
that has a parent and is not context only; its context is the chain of its ancestors, so nothing is stored
twice, however many branches a tree has.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chatbots.meena.tokenizer import fit_context

MOST_TURNS = 7


class Pair(NamedTuple):
    """One training example.

    Attributes:
        context: tokens for the encoder, turn tokens included.
        response: subwords of the response, without start and end.
    """

    context: list[int]
    response: list[int]


class ShardWriter:
    """Writer of one shard, which appears under its name only when complete.

    Args:
        folder: folder of the new shard; an existing one is replaced.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.turns = self.tokens = self.pairs = 0
        self._unfinished = folder.with_name(folder.name + ".part")

    def __enter__(self) -> ShardWriter:
        """Open the files."""
        self._unfinished.mkdir(parents=True, exist_ok=True)
        self._tokens = (self._unfinished / "tokens.u16").open("wb")
        self._offsets = (self._unfinished / "offsets.i64").open("wb")
        self._parents = (self._unfinished / "parents.i64").open("wb")
        self._offsets.write(np.array([0], dtype="<i8").tobytes())
        return self

    def add(
        self,
        turns: Sequence[Sequence[int]],
        parents: Sequence[int],
        context_only: Sequence[bool] | None = None,
    ) -> None:
        """Append a tree.

        Args:
            turns: subwords of each turn.
            parents: parent of each turn, within the tree; -1 at a root.
            context_only: for each turn, True if it must not be learnt as a response; by default none.
        """
        lengths = [len(turn) for turn in turns]
        flat = np.array([token for turn in turns for token in turn], dtype="<u2")
        self._tokens.write(flat.tobytes())
        self._offsets.write((self.tokens + np.cumsum(lengths, dtype="<i8")).tobytes())
        shifted = np.array([parent + self.turns if parent >= 0 else -1 for parent in parents], dtype="<i8")
        if context_only is not None:
            shifted = np.where(np.array(context_only, dtype=bool) & (shifted >= 0), -2 - shifted, shifted)
        self._parents.write(shifted.tobytes())
        self.tokens += len(flat)
        self.turns += len(turns)
        self.pairs += int((shifted >= 0).sum())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the files; without an error, give the shard its name."""
        for file in (self._tokens, self._offsets, self._parents):
            file.close()
        if error is None:
            if self.folder.exists():
                for old in self.folder.iterdir():
                    old.unlink()
                self.folder.rmdir()
            os.replace(self._unfinished, self.folder)


class Shard:
    """One memory-mapped shard.

    Args:
        folder: written by a `ShardWriter`.

    Raises:
        ValueError: the files do not belong together.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tokens = _map(folder / "tokens.u16", "<u2")
        self.offsets = _map(folder / "offsets.i64", "<i8")
        self.parents = _map(folder / "parents.i64", "<i8")
        if len(self.offsets) != len(self.parents) + 1 or self.offsets[-1] != len(self._tokens):
            raise ValueError(
                f"{folder} has {len(self.parents)} turns, {len(self.offsets)} offsets that end at "
                f"{self.offsets[-1]} and {len(self._tokens)} tokens: they do not fit. Encode it again."
            )

    def pairs(self) -> NDArray[np.int64]:
        """Indices of the turns that answer another one and must be learnt."""
        return np.flatnonzero(self.parents >= 0)

    def pair(self, turn: int, *, context_length: int) -> Pair:
        """Build the training example whose response is that turn."""
        ancestors: list[list[int]] = []
        ancestor = int(_above(self.parents[turn]))
        while ancestor >= 0 and len(ancestors) < MOST_TURNS:
            ancestors.append(self.turn(ancestor))
            ancestor = int(_above(self.parents[ancestor]))
        return Pair(fit_context(ancestors[::-1], length=context_length).tokens, self.turn(turn))

    def lengths(
        self, turns: NDArray[np.int64], *, context_length: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Count tokens of context and response of many pairs, without building them.

        Args:
            turns: responses, (n,).
            context_length: most tokens of a context.

        Returns:
            Context lengths and response lengths, each (n,).
        """
        sizes = np.diff(self.offsets)
        total = np.zeros(len(turns), dtype=np.int64)
        ancestor = _above(self.parents[turns])
        fits = ancestor >= 0
        for _ in range(MOST_TURNS):
            grown = total + np.where(fits, sizes[ancestor] + 1, 0)
            fits = fits & ((grown <= context_length) | (total == 0))
            total = np.where(fits, np.minimum(grown, context_length), total)
            ancestor = np.where(fits, _above(self.parents[ancestor]), -1)
            fits = ancestor >= 0
        return total, sizes[turns]

    def turn(self, turn: int) -> list[int]:
        """The subwords of one turn."""
        tokens: list[int] = self._tokens[self.offsets[turn] : self.offsets[turn + 1]].tolist()
        return tokens


def open_shards(folder: Path) -> list[Shard]:
    """Open all shards of one part (`train` or `heldout`) of a corpus, in order of name.

    Raises:
        ValueError: the part has no shards.
    """
    shards = [
        Shard(path.parent) for path in sorted(folder.glob("*/parents.i64")) if path.parent.suffix != ".part"
    ]
    if not shards:
        raise ValueError(f"{folder} holds no shards. Build them with 'python -m chatbots meena corpus'.")
    return shards


def _above(parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Indices of the parents, -1 for none, whether or not a turn is context only."""
    return np.where(parents < -1, -2 - parents, parents)


def _map(path: Path, dtype: str) -> NDArray[np.int64]:
    if path.stat().st_size == 0:  # an empty file cannot be mapped
        return np.zeros(0, dtype=dtype)
    return np.memmap(path, dtype=dtype, mode="r")
