"""The stages from files of conversations to a corpus. Each file is one part; parts never wait for each other.

    scan       per part: count texts, draw texts for the tokenizer
    tokenizer  once:     add the counts up, learn the tokenizer
    encode     per part: filter, tokenise, write shards
    merge      once:     add the reports up

A repeated stage skips finished parts, so an interrupted build resumes where it stopped. Stages communicate
only through files in the output folder, so many machines that share it can work on the parts.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from tqdm import tqdm

from chatbots.meena.corpus.filters import (
    FILTERS,
    MOST_REPEATS,
    Candidate,
    CountSketch,
    reason_to_remove,
    without_quotes,
)
from chatbots.meena.corpus.reading import Message, ReadingReport, Tree, read_trees
from chatbots.meena.corpus.shards import ShardWriter
from chatbots.meena.tokenizer import Tokenizer
from chatbots.safety import CLASSIFIERS, SafetyClassifier
from chatbots.training.files import CorpusError, write_atomically, write_json
from chatbots.training.settings import check_range

TREES_AT_ONCE = 256
BELOW = "below a removed one"


@dataclass(frozen=True)
class CorpusSettings:
    """Settings for building a corpus.

    Attributes:
        vocabulary_size: tokens of the tokenizer.
        heldout: share of trees that go to `heldout` instead of `train`, in [0, 0.99].
        safety: name of the classifier that filters messages.
        most_malformed: largest accepted share of malformed lines in a part, in [0, 1].
        most_repeats: largest number of occurrences of one text in the whole corpus; more frequent texts are
            removed.
        tokenizer_texts: texts that the tokenizer learns from.

    Raises:
        ValueError: a number out of its range.
    """

    vocabulary_size: int = 8192
    heldout: float = 0.02
    safety: str = "profanity-check"
    most_malformed: float = 0.01
    most_repeats: int = MOST_REPEATS
    tokenizer_texts: int = 1_000_000

    def __post_init__(self) -> None:
        check_range("vocabulary", self.vocabulary_size, least=6, most=2**16)
        check_range("heldout", self.heldout, least=0, most=0.99)
        check_range("most_malformed", self.most_malformed, least=0, most=1)
        check_range("most_repeats", self.most_repeats, least=1)


class Corpus:
    """One corpus under construction.

    Args:
        folder: where it is built.
        parts: its input files; their names, without folders, must differ.
        settings: settings of the build.

    Raises:
        CorpusError: two parts have the same name, or the folder was begun with other settings.
    """

    def __init__(self, folder: Path, parts: Sequence[Path], settings: CorpusSettings) -> None:
        self.folder, self.parts, self.settings = folder, sorted(parts, key=part_name), settings
        names = Counter(part_name(part) for part in parts)
        if twice := [name for name, count in names.items() if count > 1]:
            raise CorpusError(
                f"Several input files are called {twice[0]}. Rename them: parts are known by name."
            )
        self._keep_settings()

    def _keep_settings(self) -> None:
        path, mine = self.folder / "settings.json", asdict(self.settings)
        if path.exists() and (stored := json.loads(path.read_text())) != mine:
            raise CorpusError(f"{self.folder} was begun with {stored}, not {mine}. Use another --output.")
        write_json(path, mine)

    def scan(self, part: Path) -> None:
        """Count a part's texts and draw its share of the tokenizer's texts."""
        target = self.folder / "scan" / part_name(part)
        if target.with_suffix(".npz").exists():
            return
        sketch, report = CountSketch(), ReadingReport()
        sample = Reservoir(self.settings.tokenizer_texts // len(self.parts), seed=part.name)
        for tree in progress(read_trees(part, report), f"scan {part.name}"):
            for message in tree.messages:
                sketch.add(message.text)
                sample.add(message.text)
        self._check_lines(part, report)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target.with_suffix(".json"), json.dumps(sample.kept).encode())
        unfinished = target.with_suffix(".part")
        sketch.save(unfinished)
        os.replace(unfinished, target.with_suffix(".npz"))

    def _check_lines(self, part: Path, report: ReadingReport) -> None:
        if report.malformed > self.settings.most_malformed * report.lines:
            raise CorpusError(
                f"{part}: {report.malformed} of {report.lines} lines are malformed, more than "
                f"{self.settings.most_malformed:.1%}. First: {'; '.join(report.malformed_lines[:3])}. Fix "
                "them, or raise --most-malformed."
            )

    def learn_tokenizer(self, path: Path | None = None) -> None:
        """Add up the parts' counts, then learn the tokenizer, or use the given one."""
        counts = CountSketch()
        for part in self.parts:
            counts.merge(CountSketch.load(self._scanned(part, ".npz")))
        unfinished = self.folder / "counts.part"
        counts.save(unfinished)
        os.replace(unfinished, self.folder / "counts.npz")
        if (self.folder / "tokenizer.model").exists():
            return
        tokenizer = Tokenizer.load(path) if path else self._train_tokenizer()
        write_atomically(self.folder / "tokenizer.model", tokenizer.model)

    def _train_tokenizer(self) -> Tokenizer:
        texts = (text for part in self.parts for text in json.loads(self._scanned(part, ".json").read_text()))
        try:
            return Tokenizer.train(texts, vocabulary_size=self.settings.vocabulary_size)
        except ValueError as error:
            raise CorpusError(str(error)) from error

    def _scanned(self, part: Path, suffix: str) -> Path:
        path = self.folder / "scan" / (part_name(part) + suffix)
        if not path.exists():
            raise CorpusError(
                f"{part} has not been scanned ({path} is absent). Run the stage 'scan' for it first."
            )
        return path

    def encode(self, part: Path) -> None:
        """Filter and tokenise a part into one shard for training and one held out."""
        target = self.folder / "encode" / (part_name(part) + ".json")
        if target.exists():
            return
        if not (self.folder / "tokenizer.model").exists():
            raise CorpusError(f"{self.folder} has no tokenizer.model. Run the stage 'tokenizer' first.")
        encoder = PartEncoder(
            Tokenizer.load(self.folder / "tokenizer.model"),
            CountSketch.load(self.folder / "counts.npz"),
            CLASSIFIERS[self.settings.safety](),
            self.settings.most_repeats,
        )
        name, reading, started = part_name(part), ReadingReport(), process_time()
        with (
            ShardWriter(self.folder / "train" / name) as train,
            ShardWriter(self.folder / "heldout" / name) as held,
        ):
            for trees in batches(progress(read_trees(part, reading), f"encode {part.name}"), TREES_AT_ONCE):
                for tree, filtered in zip(trees, encoder.encode(trees), strict=True):
                    (held if is_heldout(tree.key, self.settings.heldout) else train).add(*filtered)
        report = encoder.report() | {"train": counts_of(train), "heldout": counts_of(held)}
        seconds = {"total": process_time() - started, "sentencepiece": encoder.tokenizer_seconds}
        write_json(
            target, report | {"reading": asdict(reading), "seconds": seconds, "bytes": part.stat().st_size}
        )

    def merge(self) -> dict[str, Any]:
        """Add up the parts' reports into `report.json`.

        Raises:
            CorpusError: a part is missing, or no pair is left; the message says which filter removed what.
        """
        total: dict[str, Any] = {}
        for part in self.parts:
            path = self.folder / "encode" / (part_name(part) + ".json")
            if not path.exists():
                raise CorpusError(f"{part} has not been encoded. Run the stage 'encode' for it first.")
            total = add_up(total, json.loads(path.read_text()))
        write_json(self.folder / "report.json", total)
        if not total["train"]["pairs"]:
            raise CorpusError(
                f"No pair is left for training. Of {total['messages']} messages, removed by each filter or "
                f"below a removed one: {total['removed']}."
            )
        return total


class FilteredTree(NamedTuple):
    """The part of a tree that the filters keep.

    Attributes:
        turns: subwords of each turn.
        parents: index among them of the turn that each answers; -1 at a root.
        context_only: for each turn, True if it must not be learnt as a response.
    """

    turns: list[list[int]]
    parents: list[int]
    context_only: list[bool]


class PartEncoder:
    """Encoder of trees to turns of tokens; counts what it removes.

    Args:
        tokenizer: splits texts into subwords.
        counts: occurrences of texts in the whole corpus.
        safety: judges texts.
        most_repeats: most occurrences of a text that stays.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        counts: CountSketch,
        safety: SafetyClassifier,
        most_repeats: int = MOST_REPEATS,
    ) -> None:
        self.tokenizer, self.counts, self.safety, self.most_repeats = tokenizer, counts, safety, most_repeats
        self.messages = self.characters = 0
        self.removed: Counter[str] = Counter(dict.fromkeys((*FILTERS, BELOW), 0))
        self.tokenizer_seconds = 0.0

    def encode(self, trees: Sequence[Tree]) -> list[FilteredTree]:
        """For each tree, return the turns to keep."""
        texts = [text_without_quotes(tree, message) for tree in trees for message in tree.messages]
        started = process_time()
        encoded = iter(self.tokenizer.encode(texts))
        self.tokenizer_seconds += process_time() - started
        unsafe, texts_left = iter(self.safety.unsafe(texts)), iter(texts)
        self.messages += len(texts)
        self.characters += sum(map(len, texts))
        return [
            self._prune(tree, [(next(texts_left), next(encoded), next(unsafe)) for _ in tree.messages])
            for tree in trees
        ]

    def _prune(self, tree: Tree, judged: Sequence[tuple[str, list[int], bool]]) -> FilteredTree:
        """Drop messages that a filter removes, and all below them."""
        filtered = FilteredTree([], [], [])
        place: list[int | None] = []  # for each message, its index among the kept ones
        for message, (text, tokens, unsafe) in zip(tree.messages, judged, strict=True):
            above = place[message.parent] if message.parent >= 0 else -1
            reason = BELOW if above is None else self._reason(tree, message, text, tokens, unsafe)
            if above is None or reason:
                self.removed[reason or BELOW] += 1
                place.append(None)
                continue
            place.append(len(filtered.turns))
            filtered.turns.append(tokens)
            filtered.parents.append(above)
            filtered.context_only.append(message.context_only)
        return filtered

    def _reason(self, tree: Tree, message: Message, text: str, tokens: list[int], unsafe: bool) -> str | None:
        parent = tree.messages[message.parent].text if message.parent >= 0 else ""
        occurrences = self.counts.count(message.text)
        candidate = Candidate(
            text, message.author, parent, len(tokens), occurrences, unsafe, message.context_only
        )
        return reason_to_remove(candidate, self.most_repeats)

    def report(self) -> dict[str, Any]:
        """Messages and characters read, and messages removed by each filter or lost below a removed one."""
        return {
            "messages": self.messages,
            "removed": dict(self.removed),
            "characters": self.characters,
        }


class Reservoir:
    """A uniform sample of fixed size from a stream of unknown length.

    Args:
        size: texts kept.
        seed: fixes the draw.
    """

    def __init__(self, size: int, *, seed: str) -> None:
        self.size, self.seen = size, 0
        self.kept: list[str] = []
        self._random = random.Random(seed)

    def add(self, text: str) -> None:
        """Offer one text."""
        self.seen += 1
        if len(self.kept) < self.size:
            self.kept.append(text)
        elif (place := self._random.randrange(self.seen)) < self.size:
            self.kept[place] = text


def text_without_quotes(tree: Tree, message: Message) -> str:
    """Return the message without its quotes of the parent."""
    return without_quotes(message.text, tree.messages[message.parent].text if message.parent >= 0 else "")


def part_name(part: Path) -> str:
    """The file's name without its extensions."""
    return part.name.split(".")[0]


def is_heldout(key: str, share: float) -> bool:
    """True if the tree of that key is held out: the same on every machine."""
    digest = hashlib.blake2b(key.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") < share * 2**64


def counts_of(writer: ShardWriter) -> dict[str, int]:
    """Numbers of turns, pairs and tokens of a shard."""
    return {"turns": writer.turns, "pairs": writer.pairs, "tokens": writer.tokens}


def add_up(total: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Merge reports of the same shape: numbers are summed, lists joined."""
    merged = dict(total)
    for key, value in more.items():
        before = merged.get(key, type(value)())
        merged[key] = add_up(before, value) if isinstance(value, dict) else before + value
    return merged


def over_parts(stage: Callable[[Path], None], parts: Sequence[Path], workers: int) -> None:
    """Run a stage on each part, in several processes if there are several parts."""
    if workers <= 1 or len(parts) <= 1:
        for part in parts:
            stage(part)
        return
    with ProcessPoolExecutor(min(workers, len(parts)), mp_context=get_context("spawn")) as pool:
        for _ in tqdm(pool.map(stage, parts), total=len(parts), unit=" parts", disable=None):
            pass


def batches(trees: Iterable[Tree], size: int) -> Iterator[list[Tree]]:
    """Yield lists of `size` trees; the last may be shorter."""
    stream = iter(trees)
    while batch := list(islice(stream, size)):
        yield batch


def progress(trees: Iterable[Tree], label: str) -> Iterable[Tree]:
    """Show a bar on a terminal."""
    bar: Iterable[Tree] = tqdm(trees, desc=label, unit=" trees", disable=None, leave=False)
    return bar
