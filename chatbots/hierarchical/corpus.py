"""Build a corpus: files of conversations become arrays of words for training.

Input is the JSON Lines of `chatbots.meena.corpus.reading`. A conversation is a path from a root to a message
without answers. It is cut at removed messages (a web address, an author called bot, unsafe, empty) and into
pieces of at most ten utterances, each of which begins with the last utterance of the piece before: so every
message except the first is learnt as an answer.

With the rules "reddit", messages are first changed as in `chatbots.hierarchical.reddit`.

A corpus is a folder: `vocabulary.json`; `train.npz`, `validation.npz` and `test.npz`; `report.json`; and
`conversations.jsonl` if rules changed the texts.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chatbots.hierarchical.reddit import cleaned_tree
from chatbots.meena.corpus.building import batches
from chatbots.meena.corpus.filters import Candidate, by_bot, has_url
from chatbots.meena.corpus.reading import ReadingReport, Tree, read_trees
from chatbots.safety import CLASSIFIERS, SafetyClassifier
from chatbots.training.files import SPLITS, CorpusError, load_arrays, save_arrays, save_vocabulary, write_json
from chatbots.training.settings import check_range
from chatbots.training.vocabulary import LEAST_OCCURRENCES, Vocabulary

ARRAYS = ("words", "utterances", "conversations", "keys")
TREES_AT_ONCE = 256
RULES: Mapping[str, Callable[[Tree], Tree] | None] = {"plain": None, "reddit": cleaned_tree}
"""What changes messages before the filters, by name."""


@dataclass(frozen=True, kw_only=True)
class CorpusSettings:
    """Settings for building a corpus.

    Attributes:
        vocabulary_size: most words, the special ones included.
        least_occurrences: least number of occurrences of a word in the vocabulary.
        utterance_length: most words of an utterance, its end included.
        utterances: most utterances of a conversation.
        validation: share of trees to validate on during training.
        test: share of trees to measure on at the end.
        safety: name of the classifier that removes messages.
        rules: "plain", or "reddit" for the rules of the Reddit corpus.

    Raises:
        ValueError: a number out of its range, or unknown rules.
    """

    vocabulary_size: int = 20_000
    least_occurrences: int = LEAST_OCCURRENCES
    utterance_length: int = 30
    utterances: int = 10
    validation: float = 0.1
    test: float = 0.1
    safety: str = "profanity-check"
    rules: str = "plain"

    def __post_init__(self) -> None:
        check_range("vocabulary", self.vocabulary_size, least=5, most=2**16)
        check_range("least_occurrences", self.least_occurrences, least=1)
        check_range("utterance_length", self.utterance_length, least=2, most=1_000)
        check_range("utterances", self.utterances, least=2, most=1_000)
        check_range("validation", self.validation, least=0, most=0.49)
        check_range("test", self.test, least=0, most=0.49)
        if self.rules not in RULES:
            raise ValueError(f"rules={self.rules!r} must be one of {', '.join(RULES)}")


class Part:
    """One part of a corpus.

    Args:
        words: words of all utterances, one after another, uint16.
        utterances: start of each utterance, and the end, (u + 1,).
        conversations: first utterance of each conversation, and the end, (n + 1,).
        keys: key of each utterance's text, by which targets are found, (u,).
    """

    def __init__(
        self,
        words: NDArray[np.uint16],
        utterances: NDArray[np.int64],
        conversations: NDArray[np.int64],
        keys: NDArray[np.uint64],
    ) -> None:
        self.words, self.utterances, self.conversations, self.keys = words, utterances, conversations, keys

    @classmethod
    def load(cls, path: Path) -> Part:
        """Read a part of a corpus.

        Raises:
            CorpusError: the file is missing, or holds something else.
        """
        return cls(**load_arrays(path, ARRAYS, "hierarchical"))

    def save(self, path: Path) -> None:
        """Write the part, whole or not at all."""
        save_arrays(path, **{name: getattr(self, name) for name in ARRAYS})

    def __len__(self) -> int:
        """Number of conversations."""
        return len(self.conversations) - 1

    def conversation(self, number: int) -> list[list[int]]:
        """Return the words of each utterance of a conversation, ends included."""
        return [
            self.words[self.utterances[place] : self.utterances[place + 1]].tolist()
            for place in self.places(number)
        ]

    def places(self, number: int) -> range:
        """Indices of the utterances of a conversation."""
        return range(int(self.conversations[number]), int(self.conversations[number + 1]))

    def counts(self) -> dict[str, int]:
        """Count conversations, utterances and words."""
        return {"conversations": len(self), "utterances": len(self.keys), "words": len(self.words)}


class PartBuilder:
    """Collects conversations.

    Args:
        vocabulary: vocabulary of the corpus.
        length: most words of an utterance.
    """

    def __init__(self, vocabulary: Vocabulary, length: int) -> None:
        self._vocabulary, self._length = vocabulary, length
        self._words, self._keys = array("H"), array("Q")
        self._utterances, self._conversations = array("q", [0]), array("q", [0])

    def add(self, turns: Sequence[str]) -> None:
        """Append a conversation of at least two turns."""
        for turn in turns:
            self._words.extend(self._vocabulary.encode(turn, length=self._length))
            self._utterances.append(len(self._words))
            self._keys.append(key_of(turn))
        self._conversations.append(len(self._keys))

    def part(self) -> Part:
        """Return the collected part."""
        return Part(
            np.array(self._words, dtype=np.uint16),
            np.array(self._utterances, dtype=np.int64),
            np.array(self._conversations, dtype=np.int64),
            np.array(self._keys, dtype=np.uint64),
        )


def key_of(text: str) -> int:
    """Hash a text to the number that finds its targets; `evaluation.conversation.targets` has the same."""
    return int.from_bytes(hashlib.blake2b(text.strip().encode(), digest_size=8).digest(), "big")


def build(inputs: Sequence[Path], output: Path, settings: CorpusSettings) -> dict[str, Any]:
    """Build a corpus, and return its report.

    Args:
        inputs: JSON Lines, perhaps .gz.
        output: folder of the corpus; its contents are replaced.
        settings: settings of the build.

    Raises:
        CorpusError: no conversation is left, or no word is frequent enough.
    """
    report, removed = ReadingReport(), Counter[str]()
    safety = CLASSIFIERS[settings.safety]()
    change = RULES[settings.rules]
    parts: dict[str, list[list[str]]] = {name: [] for name in SPLITS}
    for path in inputs:
        for read in batches(read_trees(path, report), TREES_AT_ONCE):
            trees = [change(tree) for tree in read] if change else read
            for tree, flags in zip(trees, _messages_to_keep(trees, safety, removed), strict=True):
                split = split_of(f"{path.name} {tree.key}", settings)
                for chain in chains(tree, flags):
                    parts[split] += pieces(chain, settings.utterances)
    if not parts["train"]:
        raise CorpusError(
            f"No conversation is left to learn from: {report.malformed} of {report.lines} lines are malformed"
            f"{''.join(f', {count} messages removed for {why}' for why, count in removed.items())}."
        )
    vocabulary = Vocabulary.of(
        (turn for turns in parts["train"] for turn in turns),
        most=settings.vocabulary_size,
        least_occurrences=settings.least_occurrences,
    )
    figures: dict[str, Any] = {}
    for name, conversations in parts.items():
        builder = PartBuilder(vocabulary, settings.utterance_length)
        for turns in conversations:
            builder.add(turns)
        part = builder.part()
        part.save(output / f"{name}.npz")
        figures[name] = part.counts() | {"unknown": int((part.words == 1).sum())}
    save_vocabulary(output, vocabulary)
    if change:
        _write_conversations(output / "conversations.jsonl", parts)
    figures |= {
        "rules": settings.rules,
        "vocabulary": len(vocabulary),
        "lines": report.lines,
        "malformed": report.malformed,
        "malformed_lines": report.malformed_lines,
        "removed": dict(removed),
    }
    write_json(output / "report.json", figures)
    return figures


def _write_conversations(path: Path, parts: Mapping[str, Sequence[Sequence[str]]]) -> None:
    """Write the texts as they are learnt, from which the targets of EI can be computed."""
    with path.open("w", encoding="utf-8") as lines:
        for conversations in parts.values():
            for turns in conversations:
                lines.write(json.dumps({"turns": turns}, ensure_ascii=False) + "\n")


def _messages_to_keep(
    trees: Sequence[Tree], safety: SafetyClassifier, removed: Counter[str]
) -> Iterator[list[bool]]:
    """For each tree, flag the messages to keep; count why others are removed."""
    unsafe = iter(safety.unsafe([message.text for tree in trees for message in tree.messages]))
    for tree in trees:
        stays = []
        for message in tree.messages:
            candidate = Candidate(message.text, message.author, "", 0, 0, next(unsafe))
            why = (
                "nothing written"
                if not message.text
                else "a web address"
                if has_url(candidate)
                else "an author called bot"
                if by_bot(candidate)
                else "being unsafe"
                if candidate.unsafe
                else None
            )
            if why:
                removed[why] += 1
            stays.append(why is None)
        yield stays


def chains(tree: Tree, flags: Sequence[bool]) -> Iterator[list[str]]:
    """Yield the texts on each path from a root to a leaf, cut at removed messages."""
    answered = {message.parent for message in tree.messages}
    for leaf in range(len(tree.messages)):
        if leaf in answered:
            continue
        chain: list[str] = []
        place = leaf
        while place >= 0:
            if flags[place]:
                chain.append(tree.messages[place].text)
            else:
                yield chain[::-1]
                chain = []
            place = tree.messages[place].parent
        yield chain[::-1]


def pieces(chain: Sequence[str], most: int) -> Iterator[list[str]]:
    """Cut a chain into conversations of 2 to `most` utterances; each begins with the last one before it."""
    for start in range(0, len(chain) - 1, most - 1):
        yield list(chain[start : start + most])


def split_of(key: str, settings: CorpusSettings) -> str:
    """Assign a tree to a part of the corpus: the same on every machine."""
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    place = int.from_bytes(digest, "big") / 2**64
    if place < settings.validation:
        return "validation"
    return "test" if place < settings.validation + settings.test else "train"


def part_of_text(path: Path, vocabulary: Vocabulary, *, length: int, utterances: int) -> Part:
    """Read JSON Lines of conversations without filters, to measure on.

    Raises:
        CorpusError: the file has no conversation of two turns.
    """
    report = ReadingReport()
    builder = PartBuilder(vocabulary, length)
    for tree in read_trees(path, report):
        for chain in chains(tree, [True] * len(tree.messages)):
            for piece in pieces(chain, utterances):
                builder.add(piece)
    part = builder.part()
    if not len(part):
        raise CorpusError(
            f"{path} holds no conversation of two turns: {report.malformed} of {report.lines} lines are "
            "malformed."
        )
    return part
