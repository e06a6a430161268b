"""Many texts cut into words at once, each distinct word known by a number.

So whatever depends on words alone is found once for each distinct word, and added up for each text.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from evaluation.labels import FloatArray, IntArray
from evaluation.repetition import words

# Neither is printable: a text that is holds none of them.
_END, _WHOLE = "\x00", "\x01"
_KEPT = {*"abcdefghijklmnopqrstuvwxyz0123456789'", _END, _WHOLE}
_BLANKS = {code: " " for code in range(128) if chr(code) not in _KEPT}


@dataclass(frozen=True, eq=False)
class Cut:
    """Texts as words, cut as `repetition.words` does.

    Attributes:
        vocabulary: each word once.
        words: (w,) the words of all texts one after the other, by their numbers.
        ends: (t,) where the words of each text end in `words`.
    """

    vocabulary: Sequence[str]
    words: IntArray
    ends: IntArray

    def total(self, of_word: Callable[[str], float]) -> FloatArray:
        """The sum over each text's words of a number that depends on the word alone.

        Args:
            of_word: asked once for each distinct word.

        Returns:
            (t,) sums; 0 of a text without words.
        """
        each = np.fromiter(map(of_word, self.vocabulary), np.float64, len(self.vocabulary))
        running = np.concatenate([[0.0], np.cumsum(each[self.words])])
        return np.diff(running[self.ends], prepend=0.0)


def cut(texts: Sequence[str]) -> Cut:
    """Cut texts into words: plain ones between blanks, all at once; the others one by one."""
    plain = [
        text if text.isascii() and text.isprintable() else f"{_WHOLE}{number}"
        for number, text in enumerate(texts)
    ]
    tokens = f" {_END} ".join([*plain, ""]).lower().translate(_BLANKS).split()
    numbers = defaultdict(count(1).__next__, {_END: 0})  # a token that is new gets the next number
    coded = np.fromiter(map(numbers.__getitem__, tokens), np.int64, len(tokens))
    vocabulary: dict[str, int] = {}
    of_token = [
        [vocabulary.setdefault(word, len(vocabulary)) for word in _words(token, texts)] for token in numbers
    ]
    found, ends = spread(coded, np.flatnonzero(coded == 0) + 1, of_token)
    return Cut(list(vocabulary), found, ends)


def spread(codes: IntArray, ends: IntArray, of_code: Sequence[Sequence[int]]) -> tuple[IntArray, IntArray]:
    """Texts of codes, each of which stands for some numbers, as texts of these numbers.

    Args:
        codes: (w,) of all texts one after the other.
        ends: (t,) where each text ends in `codes`.
        of_code: what each code stands for, in order.

    Returns:
        The numbers of all texts, and where each text ends in them.
    """
    counts = np.array([len(each) for each in of_code], dtype=np.int64)
    numbers = np.fromiter((number for each in of_code for number in each), np.int64, int(counts.sum()))
    times = counts[codes]
    stop = np.cumsum(times)
    within = np.arange(int(times.sum())) - np.repeat(stop - times, times)
    first = np.cumsum(counts) - counts
    return numbers[np.repeat(first[codes], times) + within], np.concatenate([[0], stop])[ends]


def _words(token: str, texts: Sequence[str]) -> Sequence[str]:
    if token == _END:
        return ()
    if token[0] == _WHOLE:
        return words(texts[int(token[1:])])
    return (token,) if token.isalnum() else words(token)
