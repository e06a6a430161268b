"""Build a corpus for training from conversations and reading sets.

A corpus is a folder: `train.npz`, `validation.npz`, `test.npz` and their texts (`.jsonl`), the sentences of
the reading sets in `knowledge.npz`, `vocabulary.json` and `report.json`. Each turn has the oracle's sentence
from its speaker's material; the vocabulary is that of the training turns and of their sentences.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chatbots.knowledge.conversations import Conversation, ReadingSet, by_configuration
from chatbots.knowledge.oracle import NONE, IntArray, Ranker, sentences_of
from chatbots.knowledge.splitting import familiarity, frequencies
from chatbots.training.files import (
    CorpusError,
    load_arrays,
    load_corpus_vocabulary,
    save_arrays,
    save_vocabulary,
    write_atomically,
    write_json,
)
from chatbots.training.settings import check_range
from chatbots.training.vocabulary import UNKNOWN, Vocabulary

PACKAGE = "topical-chat"
"""Name of the package's commands."""
LONGEST = 1_000
"""Longest kept turn or sentence, in words; far beyond what a model reads."""


@dataclass(frozen=True, kw_only=True)
class CorpusSettings:
    """Settings for building a corpus.

    Attributes:
        vocabulary_size: most words, the special ones included; the paper has 49,957.
        least_occurrences: least number of occurrences of a word in the vocabulary.

    Raises:
        ValueError: a number out of its range.
    """

    vocabulary_size: int = 49_957
    least_occurrences: int = 1

    def __post_init__(self) -> None:
        check_range("vocabulary", self.vocabulary_size, least=5, most=2**16)
        check_range("least_occurrences", self.least_occurrences, least=1)


class Library:
    """The sentences of all reading sets, each once, in the order in which they come.

    Args:
        reading_sets: any number.
    """

    def __init__(self, reading_sets: Iterable[ReadingSet]) -> None:
        self._number: dict[str, int] = {}
        self._of_text: dict[str, list[int]] = {}
        for reading in reading_sets:
            for texts in reading.texts.values():
                for text in texts:
                    if text not in self._of_text:
                        self._of_text[text] = [
                            self._number.setdefault(sentence, len(self._number))
                            for sentence in sentences_of(text)
                        ]

    @property
    def sentences(self) -> list[str]:
        """All sentences, in the order of their numbers."""
        return list(self._number)

    def candidates(self, conversations: Sequence[Conversation]) -> tuple[list[str], list[IntArray]]:
        """Every turn's text, and the numbers of the sentences that its speaker had read."""

        @lru_cache(maxsize=4096)
        def places(texts: tuple[str, ...]) -> IntArray:
            numbers = dict.fromkeys(number for text in texts for number in self._of_text[text])
            return np.array(list(numbers), dtype=np.int64)

        earlier = [
            (text, places(each.reading.texts.get(agent, ())))
            for each in conversations
            for agent, text in each.turns
        ]
        return [text for text, _ in earlier], [of_speaker for _, of_speaker in earlier]


@dataclass(frozen=True, eq=False)
class Part:
    """Some conversations as numbers.

    Attributes:
        words: words of all turns with their ends, one after another, uint16.
        turns: start of each turn, and the end, (u + 1,).
        conversations: first turn of each conversation, and the end, (n + 1,).
        sentences: the oracle's sentence for each turn, or `NONE`, (u,).
    """

    words: NDArray[np.uint16]
    turns: IntArray
    conversations: IntArray
    sentences: IntArray

    @property
    def answers(self) -> IntArray:
        """Numbers of turns that answer another: all but each conversation's first."""
        is_answer = np.ones(len(self.sentences), dtype=bool)
        is_answer[self.conversations[:-1]] = False
        return np.flatnonzero(is_answer)

    @property
    def begins(self) -> IntArray:
        """For each turn, the word at which its conversation begins, (u,)."""
        sizes = np.diff(self.conversations)
        return np.repeat(self.turns[self.conversations[:-1]], sizes)


@dataclass(frozen=True, eq=False)
class Sentences:
    """The sentences of a corpus as numbers: all words, and the start of each sentence, (k + 1,)."""

    words: NDArray[np.uint16]
    begins: IntArray


def encoded(texts: Iterable[str], vocabulary: Vocabulary) -> tuple[NDArray[np.uint16], IntArray]:
    """The words of texts with their ends, concatenated, and the start of each text."""
    words, begins = array("H"), array("q", [0])
    for text in texts:
        words.extend(vocabulary.encode(text, length=LONGEST))
        begins.append(len(words))
    return np.array(words, dtype=np.uint16), np.array(begins, dtype=np.int64)


def build(
    splits: Mapping[str, Sequence[Conversation]],
    reading_sets: Mapping[str, ReadingSet],
    output: Path,
    settings: CorpusSettings,
    vocabulary: Vocabulary | None = None,
) -> dict[str, Any]:
    """Build a corpus, and return its report.

    Args:
        splits: conversations for training, validation and test; the last two may be empty.
        reading_sets: all of them; the term weights are fitted to them; may be empty.
        output: folder of the corpus; its contents are replaced.
        settings: settings of the build.
        vocabulary: vocabulary of another corpus, to use instead of a new one.

    Raises:
        CorpusError: no turn answers another.
        VocabularyError: no word is frequent enough.
    """
    if not any(len(each.turns) > 1 for each in splits["train"]):
        raise CorpusError("No conversation for training has two turns. Name a file with longer ones.")
    library = Library(reading_sets.values())
    ranker = Ranker(library.sentences)
    nearest = {}
    for name, conversations in splits.items():
        texts, candidates = library.candidates(conversations)
        nearest[name] = (texts, candidates, ranker.nearest(texts, candidates).sentences)
    if vocabulary is None:
        drawn = np.unique(nearest["train"][2])
        vocabulary = Vocabulary.of(
            [*nearest["train"][0], *(library.sentences[number] for number in drawn if number != NONE)],
            most=settings.vocabulary_size,
            least_occurrences=settings.least_occurrences,
        )
    report: dict[str, Any] = {"vocabulary": len(vocabulary), "sentences": len(library.sentences)}
    trained = frequencies(splits["train"])
    table = by_configuration(splits)
    for name, (texts, candidates, sentences) in nearest.items():
        words = _write_part(output, name, splits[name], encoded(texts, vocabulary), sentences)
        figures = familiarity(splits[name], trained)
        report[name] = {
            "table": {each: of.to_dict() for each, of in table[name].items()},
            "unknown": float((words == UNKNOWN).mean()) if len(words) else 0.0,
            "turns_without_reading": sum(not len(each) for each in candidates),
            "turns_without_a_sentence": int((sentences == NONE).sum()),
            "entities": asdict(figures) if figures else None,
        }
    write_sentences(output, Sentences(*encoded(library.sentences, vocabulary)))
    save_vocabulary(output, vocabulary)
    write_json(output / "report.json", report)
    return report


def _write_part(
    output: Path,
    name: str,
    conversations: Sequence[Conversation],
    turns: tuple[NDArray[np.uint16], IntArray],
    sentences: IntArray,
) -> NDArray[np.uint16]:
    """Write a part, as numbers and as text; return the words of its turns."""
    words, begins = turns
    sizes = [len(each.turns) for each in conversations]
    write_numbers(output, name, Part(words, begins, np.cumsum([0, *sizes]), sentences))
    _save_texts(output / f"{name}.jsonl", conversations)
    return words


def write_numbers(output: Path, name: str, part: Part) -> None:
    """Write a part as numbers."""
    save_arrays(output / f"{name}.npz", **vars(part))


def write_sentences(output: Path, sentences: Sentences) -> None:
    """Write the sentences of a corpus."""
    save_arrays(output / "knowledge.npz", **vars(sentences))


def _save_texts(path: Path, conversations: Sequence[Conversation]) -> None:
    lines = (
        json.dumps({"id": each.key, "turns": [text for _, text in each.turns]}, ensure_ascii=False)
        for each in conversations
    )
    write_atomically(path, "".join(f"{line}\n" for line in lines).encode())


def load_texts(corpus: Path, name: str) -> list[tuple[str, str]]:
    """Return the conversation and the original text of every turn of a part, in its order.

    Raises:
        CorpusError: the file is missing.
    """
    path = corpus / f"{name}.jsonl"
    try:
        documents = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return [(document["id"], text) for document in documents for text in document["turns"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorpusError.unreadable(path, error, PACKAGE) from None


def load_part(corpus: Path, name: str) -> Part:
    """Load a part of a corpus.

    Raises:
        CorpusError: the file is missing, or holds something else.
    """
    names = ("words", "turns", "conversations", "sentences")
    return Part(**load_arrays(corpus / f"{name}.npz", names, PACKAGE))


def load_sentences(corpus: Path) -> Sentences:
    """Load the sentences of a corpus.

    Raises:
        CorpusError: the file is missing, or holds something else.
    """
    return Sentences(**load_arrays(corpus / "knowledge.npz", ("words", "begins"), PACKAGE))


def load_vocabulary(corpus: Path) -> Vocabulary:
    """Load the vocabulary of a corpus.

    Raises:
        CorpusError: the file is missing.
    """
    return load_corpus_vocabulary(corpus, PACKAGE)
