"""Measure a model on a corpus part: perplexity, and responses with their likelihoods.

The paper's figures are here to be shown beside others; they are never this project's results.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from tqdm import tqdm

from chatbots.knowledge.batching import Batch, Batches
from chatbots.knowledge.model import TopicalChatModel
from chatbots.knowledge.oracle import NONE
from chatbots.knowledge.responder import DecodingSettings, replies
from chatbots.training.files import write_atomically
from chatbots.training.perplexity import evaluating, perplexity_of
from chatbots.training.vocabulary import PADDING, UNKNOWN, Vocabulary

PUBLISHED_NOTE = (
    "Gopalakrishnan et al. 2019, tables 3 and 5, test frequent / test rare: other data (facts and articles, "
    "all conversations), other vocabularies, knowledge chosen by looking at the answer. Distinct n-grams are "
    "per response."
)
COLUMNS = ("perplexity", "f1", "distinct_1", "distinct_2")


def _figures(row: str) -> dict[str, list[float]]:
    return dict(
        zip(COLUMNS, ([float(each) for each in cell.split("/")] for cell in row.split()), strict=True)
    )


TABLE_3 = {
    "TF": _figures("29.8/40.4 .16/.16 .85/.84 .86/.86"),
    "TF w/ p.t.": _figures("26.3/36.3 .16/.15 .86/.85 .86/.85"),
    "TF w/ k.": _figures("33.8/43.6 .22/.20 .84/.80 .83/.81"),
    "TF w/ k. p.t.": _figures("34.1/44.8 .22/.19 .85/.82 .84/.82"),
}
"""Figures of test frequent and test rare."""

TABLE_5 = {
    16: _figures("34.2 .19 .68 .70"),
    32: _figures("33.8 .22 .84 .83"),
    64: _figures("42.5 .21 .81 .81"),
    128: _figures("38.3 .21 .80 .80"),
    512: _figures("42.7 .19 .82 .81"),
}
"""Figures by W_H, the words of history that are read."""


class Perplexity(NamedTuple):
    """A measured perplexity.

    Attributes:
        value: exp of the mean negative log-likelihood per word, ends included.
        words: number of words.
    """

    value: float
    words: int


def nats(model: TopicalChatModel, batch: Batch) -> Tensor:
    """Negative log-likelihood of each turn, (n,), in nats, ends included.

    Only real words are scored: half of a batch is padding, and scores are most of the work.

    Args:
        model: on the batch's device.
        batch: n turns.
    """
    vectors = model.write(batch.inputs, *model.read(batch.histories, batch.knowledge))
    there = batch.targets != PADDING
    of_words = cross_entropy(model.scores(vectors[there]), batch.targets[there], reduction="none")
    return torch.zeros(there.shape, device=of_words.device).masked_scatter(there, of_words).sum(dim=1)


@torch.no_grad()
def likelihoods(model: TopicalChatModel, batches: Iterable[Batch]) -> Iterator[tuple[float, int]]:
    """Yield each turn's log-likelihood in nats and its number of words, ends included, without dropout.

    Args:
        model: set back to training if it was.
        batches: turns, on any device.
    """
    device = model.embedding.weight.device
    with evaluating(model):
        for batch in tqdm(batches, desc="perplexity", unit=" batches", disable=None, leave=False):
            there = batch.to(device)
            words = (there.targets != PADDING).sum(dim=1).tolist()
            yield from zip((-nats(model, there)).tolist(), words, strict=True)


def perplexity(model: TopicalChatModel, batches: Iterable[Batch]) -> Perplexity:
    """Measure the per-word perplexity of turns.

    Raises:
        ValueError: there is no word to measure, or the likelihoods are not finite.
    """
    return summed(likelihoods(model, batches))


def summed(of_turns: Iterable[tuple[float, int]]) -> Perplexity:
    """Perplexity of turns with these log-likelihoods and numbers of words.

    Raises:
        ValueError: there is no word, or the likelihoods are not finite.
    """
    total, words = 0.0, 0
    for likelihood, length in of_turns:
        total -= likelihood
        words += length
    none = "There is no turn to measure perplexity on. Build the corpus with more."
    return Perplexity(perplexity_of(total, words, unit="word", if_none=none), words)


ORACLE = "The sentence was chosen by looking at the answer: the oracle of the paper. No bot can do that."


class Evaluation:
    """Evaluates a model on the turns of a part.

    Args:
        model: in evaluation mode.
        vocabulary: vocabulary of its training.
        batches: batches of the part.
        texts: conversation and text of every turn of the part.
    """

    def __init__(
        self,
        model: TopicalChatModel,
        vocabulary: Vocabulary,
        batches: Batches,
        texts: Sequence[tuple[str, str]],
    ) -> None:
        self.model, self.vocabulary, self.batches, self.texts = model, vocabulary, batches, texts
        self.turns: list[int] = batches.answers.tolist()
        self.measured = list(likelihoods(model, batches.in_order()))

    def report(self) -> dict[str, Any]:
        """Return the perplexity and its conditions, beside the paper's figures.

        Raises:
            ValueError: there is no word to measure, or the likelihoods are not finite.
        """
        total, knows = summed(self.measured), self.model.config.knowledge
        without = int((self.batches.part.sentences[self.batches.answers] == NONE).sum())
        return {
            "perplexity": total.value,
            "words": total.words,
            "turns": len(self.turns),
            "unknown": sum(map(self._unknown, self.turns)) / total.words,
            "vocabulary": len(self.vocabulary),
            "history": self.model.config.history,
            "knowledge": ORACLE if knows else None,
            "turns_without_a_sentence": without if knows else None,
            "published": TABLE_3,
            "published_note": PUBLISHED_NOTE,
        }

    def responses(self, settings: DecodingSettings, seed: int, most: int | None) -> dict[int, str]:
        """Respond to every turn, or to `most` turns spread evenly; keyed by the turn.

        Args:
            settings: settings of the search for a response.
            seed: seed of sampling.
            most: None for all.
        """
        count = len(self.turns) if most is None else min(most, len(self.turns))
        selected = np.linspace(0, len(self.turns), count, endpoint=False).astype(np.int64)
        device, size = self.model.embedding.weight.device, self.batches.size
        responses: dict[int, str] = {}
        for start in tqdm(range(0, count, size), desc="responses", unit=" batches", disable=None):
            turns = self.batches.answers[selected[start : start + size]]
            seeds = [seed + turn for turn in turns.tolist()]
            drawn = replies(self.model, self.batches.of(turns).to(device), seeds, settings)
            for turn, each in zip(turns.tolist(), drawn, strict=True):
                responses[turn] = self.vocabulary.decode(each[0].words)
        return responses

    def write(self, path: Path, name: str, responses: Mapping[int, str]) -> None:
        """Write a line for every turn: the likelihood of the person's turn, and the system's response.

        Args:
            path: the file.
            name: name of the system.
            responses: by turn; lines of other turns have the likelihood alone.
        """
        lines = []
        for turn, (likelihood, words) in zip(self.turns, self.measured, strict=True):
            conversation, text = self.texts[turn]
            response = {"response": responses[turn], "reference": text} if turn in responses else {}
            line = {
                "system": name,
                "conversation": conversation,
                "turn": turn,
                **response,
                "log_likelihood": likelihood,
                "tokens": words,
                "unknown": self._unknown(turn),
            }
            lines.append(f"{json.dumps(line, ensure_ascii=False)}\n")
        write_atomically(path, "".join(lines).encode())

    def _unknown(self, turn: int) -> int:
        """Number of a turn's words missing from the vocabulary."""
        return int((self.batches.target(turn) == UNKNOWN).sum())
