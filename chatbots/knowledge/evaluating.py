"""A model measured on a part of a corpus: perplexity, and a file of responses with their likelihoods."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from chatbots.knowledge.batching import Batches
from chatbots.knowledge.model import TopicalChatModel
from chatbots.knowledge.oracle import NONE
from chatbots.knowledge.perplexity import likelihoods, summed
from chatbots.knowledge.published import PUBLISHED_NOTE, TABLE_3
from chatbots.knowledge.responder import DecodingSettings, replies
from chatbots.training.vocabulary import UNKNOWN, Vocabulary
from chatbots.training.writing import write_atomically

ORACLE = "The sentence was chosen by looking at the answer: the oracle of the paper. No bot can do that."


class Evaluation:
    """A model on the turns of a part.

    Args:
        model: in evaluation mode.
        vocabulary: the one it was trained with.
        batches: of the part.
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
        """Perplexity with what it rests on, beside the paper's figures.

        Raises:
            ValueError: there is no word to measure, or the model gives no likelihoods.
        """
        found, knows = summed(self.measured), self.model.config.knowledge
        without = int((self.batches.part.sentences[self.batches.answers] == NONE).sum())
        return {
            "perplexity": found.value,
            "words": found.words,
            "turns": len(self.turns),
            "unknown": sum(map(self._unknown, self.turns)) / found.words,
            "vocabulary": len(self.vocabulary),
            "history": self.model.config.history,
            "knowledge": ORACLE if knows else None,
            "turns_without_a_sentence": without if knows else None,
            "published": TABLE_3,
            "published_note": PUBLISHED_NOTE,
        }

    def responses(self, settings: DecodingSettings, seed: int, most: int | None) -> dict[int, str]:
        """A response to every turn, by the turn, or to so many, spread evenly.

        Args:
            settings: how they are found.
            seed: of those that are drawn.
            most: None for all.
        """
        count = len(self.turns) if most is None else min(most, len(self.turns))
        chosen = np.linspace(0, len(self.turns), count, endpoint=False).astype(np.int64)
        device, size = self.model.embedding.weight.device, self.batches.size
        said: dict[int, str] = {}
        for start in tqdm(range(0, count, size), desc="responses", unit=" batches", disable=None):
            turns = self.batches.answers[chosen[start : start + size]]
            seeds = [seed + turn for turn in turns.tolist()]
            found = replies(self.model, self.batches.of(turns).to(device), seeds, settings)
            for turn, each in zip(turns.tolist(), found, strict=True):
                said[turn] = self.vocabulary.decode(each[0].words)
        return said

    def write(self, path: Path, name: str, said: Mapping[int, str]) -> None:
        """Write a line for every turn: the likelihood of what people said, and what the system says.

        Args:
            path: the file.
            name: of the system.
            said: responses by turn; turns without one are there with their likelihood alone.
        """
        lines = []
        for turn, (likelihood, words) in zip(self.turns, self.measured, strict=True):
            conversation, text = self.texts[turn]
            response = {"response": said[turn], "reference": text} if turn in said else {}
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
        """Words of a turn that the vocabulary lacks."""
        return int((self.batches.target(turn) == UNKNOWN).sum())
