"""Which entities a text names, and how often: whole words, whatever their case."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

_TOKEN = re.compile(r"[^\W_]+")


def tokens(text: str) -> list[str]:
    return [token.lower() for token in _TOKEN.findall(text)]


class Names:
    """The names of entities, each with its aliases, to be found in texts.

    Where several begin at the same word, the longest counts; no word counts twice.
    """

    def __init__(self, names: Mapping[str, Iterable[str]]) -> None:
        """Take the aliases by name."""
        self._named: dict[tuple[str, ...], str] = {}
        lengths: dict[str, set[int]] = {}
        for name, aliases in names.items():
            for each in {tuple(tokens(text)) for text in (name, *aliases)} - {()}:
                self._named.setdefault(each, name)
                lengths.setdefault(each[0], set()).add(len(each))
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}

    def counted(self, text: str) -> list[tuple[str, int]]:
        """(name, how often) of those that the text names: the most frequent first, then by first mention."""
        counts: Counter[str] = Counter()
        said = tokens(text)
        at = 0
        while at < len(said):
            length, name = self._at(said, at)
            if name:
                counts[name] += 1
            at += length
        return counts.most_common()  # of equal counts, in the order of their first mention

    def _at(self, said: Sequence[str], at: int) -> tuple[int, str]:
        """How many words the name at a place has, and whose it is; (1, "") if there is none."""
        for length in self._lengths.get(said[at], ()):
            if name := self._named.get(tuple(said[at : at + length])):
                return length, name
        return 1, ""
