"""Replies to a history, with a sentence of knowledge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from chatbots.knowledge.batching import Batch, collate
from chatbots.knowledge.model import TopicalChatModel
from chatbots.knowledge.oracle import NONE, Ranker, sentences_of, words_near
from chatbots.training.decoding import DecodedReply, beam_search, sample
from chatbots.training.settings import check_range
from chatbots.training.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class DecodingSettings:
    """Settings of the search for a reply.

    Attributes:
        choose: "best" of the beam, or "sampled" word by word.
        beam: width of the beam.
        temperature: temperature of sampling, above 0.
        top_p: nucleus probability of sampling, in (0, 1].

    Raises:
        ValueError: a number out of its range.
    """

    choose: Literal["best", "sampled"] = "best"
    beam: int = 5
    temperature: float = 1.0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        check_range("beam", self.beam, least=1, most=100)
        for name in ("temperature", "top_p"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name}={getattr(self, name)} must be above 0, and finite.")
        check_range("top_p", self.top_p, least=0, most=1)


@torch.inference_mode()
def replies(
    model: TopicalChatModel, batch: Batch, seeds: Sequence[int], settings: DecodingSettings
) -> list[list[DecodedReply]]:
    """Find the replies to each history of a batch, best first.

    Args:
        model: in evaluation mode.
        batch: histories and sentences; its targets are ignored.
        seeds: one for each; the same seed and context give the same reply.
        settings: settings of the search.
    """
    memory, hidden = model.read(batch.histories, batch.knowledge)

    def step(words: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Advance states: the number of the context and the words so far."""
        state = torch.cat([state, words.unsqueeze(1)], dim=1)
        of = state[:, 0]
        vectors = model.write(state[:, 1:], memory[of], hidden[of])
        return model.scores(vectors[:, -1]), state

    first = torch.arange(len(batch.histories), device=memory.device).unsqueeze(1)
    length = model.config.response_length
    if settings.choose == "best":
        return beam_search(step, first, settings.beam, length)
    randoms = [np.random.default_rng(seed) for seed in seeds]
    drawn = sample(step, first, randoms, length, temperature=settings.temperature, top_p=settings.top_p)
    return [[each] for each in drawn]


@dataclass(frozen=True)
class Reply:
    """A reply, with its candidates and its sentence.

    Attributes:
        text: the reply; never empty.
        words: number of generated words, the end included.
        candidates: all replies found, with their log-likelihood per word, best first.
        sentence: sentence of knowledge that was read; empty for none.
    """

    text: str
    words: int
    candidates: tuple[tuple[str, float], ...]
    sentence: str


class Responder:
    """Replies with one model and one way of decoding; stores no conversation.

    Args:
        model: in evaluation mode.
        vocabulary: vocabulary of its training.
        settings: settings of the search.
    """

    def __init__(self, model: TopicalChatModel, vocabulary: Vocabulary, settings: DecodingSettings) -> None:
        self.model, self.vocabulary, self.settings = model, vocabulary, settings

    def reply(
        self,
        conversations: Sequence[Sequence[str]],
        material: Sequence[Sequence[str]],
        seeds: Sequence[int],
    ) -> list[Reply]:
        """Reply to each conversation.

        Args:
            conversations: turns of each, the oldest first, at least one.
            material: the replying side's texts in each conversation; may be empty.
            seeds: one per conversation.
        """
        c = self.model.config
        sentences_used = [
            self.sentence_for(turns, texts) if c.knowledge else ""
            for turns, texts in zip(conversations, material, strict=True)
        ]
        histories = [
            [word for turn in turns for word in self.vocabulary.encode(turn, length=1_000)][-c.history :]
            for turns in conversations
        ]
        sentences = [
            self.vocabulary.encode(sentence, length=1_000)[: c.knowledge_length] if sentence else []
            for sentence in sentences_used
        ]
        batch = collate(histories, sentences if c.knowledge else None)
        drawn = replies(self.model, batch.to(self.model.embedding.weight.device), seeds, self.settings)
        return [self._reply(each, sentence) for each, sentence in zip(drawn, sentences_used, strict=True)]

    def sentence_for(self, turns: Sequence[str], texts: Sequence[str]) -> str:
        """Choose the sentence of the material nearest to the newest turns; empty if none shares a word.

        The answer is unknown here: the query is the newest W_H words, at least the whole last turn. Term
        weights come from these texts.
        """
        sentences = list(dict.fromkeys(sentence for text in texts for sentence in sentences_of(text)))
        words = [turn.split() for turn in turns]
        query = words_near([word for of in words for word in of], len(words[-1]), self.model.config.history)
        (place,) = Ranker(sentences).nearest([query], [range(len(sentences))]).sentences.tolist()
        return "" if place == NONE else sentences[place]

    def _reply(self, decoded: Sequence[DecodedReply], sentence: str) -> Reply:
        candidates = tuple((self.vocabulary.decode(each.words), each.per_word) for each in decoded)
        return Reply(candidates[0][0], len(decoded[0].words), candidates, sentence)
