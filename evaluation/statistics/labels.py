"""Sensibleness and specificity labels as columns, checked once so that every statistic can trust them."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
AnyArray: TypeAlias = NDArray[Any]
Row: TypeAlias = tuple[Hashable, Hashable, int, Hashable, bool, bool]


class LabelsError(ValueError):
    """Invalid labels; the message names the row and the column.

    Attributes:
        row: index of the faulty row, counted from 0 (the message counts from 1); None: no single row.
        column: name of the faulty column.
        problem: the message without the rows.
        earlier: index of the earlier row that this row repeats, if there is one.
    """

    def __init__(self, problem: str, column: str, row: int | None = None, earlier: int | None = None) -> None:
        where = "" if row is None else f"Row {row + 1}, column {column}: "
        before = "" if earlier is None else f" See row {earlier + 1}."
        super().__init__(where + problem + before)
        self.problem = problem
        self.column = column
        self.row = row
        self.earlier = earlier


def coded(values: ArrayLike) -> tuple[AnyArray, IntArray]:
    """Replace values by their rank among the distinct values.

    Args:
        values: (n,) integers, strings or other values that can be hashed.

    Returns:
        The k distinct values in rising order (values of mixed type in the order of their text), and (n,)
        codes in [0, k).
    """
    array = np.asarray(values)
    if array.dtype.kind in "iubf" and array.size:
        return _coded_numbers(array)
    # Hashing is several times faster than sorting a million strings.
    listed = array.tolist()
    distinct: list[Hashable] = list(dict.fromkeys(listed))
    names = np.empty(len(distinct), dtype=array.dtype)
    names[:] = distinct
    order = np.argsort(names.astype(np.str_), kind="stable") if len(names) else np.empty(0, np.int64)
    ranks = np.empty(len(names), np.int64)
    ranks[order] = np.arange(len(names))
    rank_of = dict(zip(distinct, ranks.tolist(), strict=True))
    return names[order], np.fromiter(map(rank_of.__getitem__, listed), np.int64, len(listed))


def _coded_numbers(array: AnyArray) -> tuple[AnyArray, IntArray]:
    low, high = array.min().item(), array.max().item()
    if 0 <= high - low <= 4 * array.size and abs(low) < 2**53:
        # Whole numbers of small range are ranked by counting, ten times faster than by sorting.
        offsets = array.astype(np.int64) - int(low)
        if array.dtype.kind != "f" or (offsets + int(low) == array).all():
            present = np.bincount(offsets) > 0
            ranks = np.cumsum(present) - 1
            return (np.flatnonzero(present) + int(low)).astype(array.dtype), ranks[offsets]
    names, codes = np.unique(array, return_inverse=True)
    return names, codes.astype(np.int64, copy=False)


def recode_rows(column: tuple[AnyArray, IntArray], keep: BoolArray | IntArray) -> tuple[AnyArray, IntArray]:
    """Result of `coded` for some rows of a coded column, without hashing the values again.

    Args:
        column: names (u,) and codes (n,) from `coded`.
        keep: (n,) booleans, or indices of rows.

    Returns:
        (v,) the names that remain, and a code from 0 up for each kept row.
    """
    names, codes = column
    left, codes_left = coded(codes[keep])
    return names[left], codes_left


@dataclass(frozen=True, eq=False)
class Labels:
    """One row per label: a rater's judgment of one bot turn.

    An item is a (bot, dialogue, turn). In static evaluation `dialogue` is the context and `turn` numbers the
    response. Construction converts the columns to arrays and checks them together.

    Attributes:
        bot: (n,) name of the bot.
        dialogue: (n,) the conversation or static context; the same value under two bots means the same
            context given to both.
        turn: (n,) position of the bot turn, integers.
        rater: (n,) the rater of each label.
        sensible: (n,) booleans, or 0 and 1.
        specific: (n,) booleans, or 0 and 1; never true where `sensible` is not.

    Raises:
        LabelsError: columns of different length, a missing value, a turn that is no integer, a label that is
            not true or false, specific without sensible, or the same rater twice on an item.
    """

    bot: AnyArray
    dialogue: AnyArray
    turn: IntArray
    rater: AnyArray
    sensible: BoolArray
    specific: BoolArray

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, np.asarray(getattr(self, field.name)))
        self._check_lengths()
        for name, (names, codes) in (("bot", self.bots), ("dialogue", self.contexts), ("rater", self.raters)):
            _refuse_missing(names, codes, name)
        object.__setattr__(self, "turn", _as_integers(self.turn, "turn"))
        for name in ("sensible", "specific"):
            object.__setattr__(self, name, _as_booleans(getattr(self, name), name))
        self._refuse_specific_without_sensible()
        self._refuse_duplicates()

    @classmethod
    def from_rows(cls, rows: Iterable[Row]) -> "Labels":
        """Build labels from rows (bot, dialogue, turn, rater, sensible, specific), in any order.

        Raises:
            LabelsError: a row of another length, or any error of the constructor.
        """
        table = list(rows)
        names = [field.name for field in fields(cls)]
        for index, row in enumerate(table):
            if len(row) != len(names):
                raise LabelsError(f"has {len(row)} values, expected {', '.join(names)}.", names[-1], index)
        columns = list(zip(*table, strict=True)) or [()] * len(names)
        return cls(*(_column(values) for values in columns))

    def __len__(self) -> int:
        return len(self.bot)

    @cached_property
    def bots(self) -> tuple[AnyArray, IntArray]:
        """Names of the b bots in order, and (n,) their codes in [0, b)."""
        return coded(self.bot)

    @cached_property
    def raters(self) -> tuple[AnyArray, IntArray]:
        """Names of the raters in order, and (n,) their codes."""
        return coded(self.rater)

    @cached_property
    def contexts(self) -> tuple[AnyArray, IntArray]:
        """Values of the dialogue column in order, whatever the bot, and (n,) their codes."""
        return coded(self.dialogue)

    @cached_property
    def dialogues(self) -> tuple[IntArray, IntArray]:
        """Clusters (bot, dialogue): (k,) bot code of each, and (n,) the cluster of each label."""
        names, dialogue = self.contexts
        width = max(len(names), 1)
        clusters, codes = coded(self.bots[1] * width + dialogue)
        return clusters // width, codes

    @cached_property
    def items(self) -> tuple[IntArray, IntArray]:
        """Items (bot, dialogue, turn): (m,) cluster of each, and (n,) the item of each label."""
        names, turn = coded(self.turn)
        width = max(len(names), 1)
        items, codes = coded(self.dialogues[1] * width + turn)
        return items // width, codes

    def where(self, keep: BoolArray | IntArray) -> "Labels":
        """Select labels.

        Args:
            keep: (n,) truth values, or distinct indices from 0 up.

        Raises:
            LabelsError: any error of the constructor, such as no labels.
        """
        selected = object.__new__(Labels)
        for field in fields(self):
            object.__setattr__(selected, field.name, getattr(self, field.name)[keep])
        for name in ("bots", "raters", "contexts"):
            selected.__dict__[name] = recode_rows(getattr(self, name), keep)
        return selected

    def of_bot(self, bot: Hashable) -> "Labels":
        """The labels of one bot."""
        return self.where(self.bot == bot)

    def _check_lengths(self) -> None:
        for field in fields(self):
            shape = getattr(self, field.name).shape
            if shape != (self.bot.size,):
                raise LabelsError(
                    f"Column {field.name} has shape {shape}, but bot has {self.bot.size} rows.", field.name
                )

    def _refuse_specific_without_sensible(self) -> None:
        wrong = self.specific & ~self.sensible
        if wrong.any():
            row = int(np.argmax(wrong))
            raise LabelsError(
                "specific but not sensible; a response that makes no sense cannot be specific.",
                "specific",
                row,
            )

    def _refuse_duplicates(self) -> None:
        code = self.items[1] * max(len(self.raters[0]), 1) + self.raters[1]
        if repeat := first_repeat(code):
            first, row = repeat
            raise LabelsError(
                f"rater '{self.rater[row]}' already labelled turn {self.turn[row]} of dialogue "
                f"'{self.dialogue[row]}' of bot '{self.bot[row]}'; keep one of the two.",
                "rater",
                row,
                first,
            )


def first_repeat(code: IntArray) -> tuple[int, int] | None:
    """Find the first repeated code: (row of its first occurrence, row of the repetition), None if all differ.

    Args:
        code: (n,) codes that must be distinct.
    """
    order = np.argsort(code, kind="stable")
    repeats = np.flatnonzero(np.diff(code[order]) == 0)
    if not repeats.size:
        return None
    at = repeats[np.argmin(order[repeats + 1])]
    return int(order[at]), int(order[at + 1])


def _column(values: tuple[Any, ...]) -> AnyArray:
    """Make an array that keeps None and mixed types instead of turning them into text."""
    if len({type(v) for v in values}) > 1:
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.asarray(values)


def _refuse_missing(names: AnyArray, codes: IntArray, column: str) -> None:
    """Refuse a coded column (distinct values and codes of the rows) with a missing value."""
    missing = [
        name is None or name == "" or name != name for name in names.tolist()
    ]  # NaN is no equal of itself
    if any(missing):
        raise LabelsError("empty; every label needs it.", column, int(np.argmax(np.asarray(missing)[codes])))


def _as_integers(column: AnyArray, name: str) -> IntArray:
    if column.dtype.kind == "i" or not column.size:
        return column.astype(np.int64, copy=False)
    for row, value in enumerate(column.tolist()):
        if isinstance(value, bool) or not isinstance(value, int):
            raise LabelsError(f"{value!r} is not an integer.", name, row)
        if abs(value) >= 2**63:
            raise LabelsError(f"{value} is too large for a number of a turn.", name, row)
    return column.astype(np.int64)


def _as_booleans(column: AnyArray, name: str) -> BoolArray:
    if column.dtype.kind == "b" or not column.size:
        return column.astype(np.bool_, copy=False)
    if column.dtype.kind in "iu":
        wrong = (column != 0) & (column != 1)
    else:
        wrong = np.fromiter((not _is_boolean(v) for v in column.tolist()), np.bool_, len(column))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise LabelsError(f"{column[row]!r} is neither true (1) nor false (0).", name, row)
    return column.astype(np.bool_)


def _is_boolean(value: object) -> bool:
    return isinstance(value, bool | np.bool_) or (isinstance(value, int) and value in (0, 1))
