"""From a conversation to a reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from chatbots.hierarchical.decoding import DecodingSettings, replies
from chatbots.hierarchical.model import NEEDS_TARGETS, Hierarchical
from chatbots.training.decoding import Found
from chatbots.training.settings import check_range
from chatbots.training.vocabulary import Vocabulary

HISTORY = 5
"""Newest utterances that are read, as in the authors' self-play."""


class Candidate(NamedTuple):
    """One reply that was found.

    Attributes:
        text: of it.
        per_word: log-likelihood per word, in nats.
    """

    text: str
    per_word: float


class Reply(NamedTuple):
    """What is said, and what it was chosen from.

    Attributes:
        text: the reply; never empty.
        words: how many were written for it, the end included.
        candidates: all that were found, best first.
    """

    text: str
    words: int
    candidates: tuple[Candidate, ...]


class Responder:
    """Replies with one model and one way of decoding; remembers no conversation.

    Args:
        model: in evaluation mode.
        vocabulary: the one that it was trained with.
        settings: how replies are found.
        history: newest utterances that are read, at least 1.
    """

    def __init__(
        self,
        model: Hierarchical,
        vocabulary: Vocabulary,
        settings: DecodingSettings,
        *,
        history: int = HISTORY,
    ) -> None:
        check_range("history", history, least=1)
        if model.config.input_only:
            raise ValueError(NEEDS_TARGETS)
        self.model, self.vocabulary, self.settings, self.history = model, vocabulary, settings, history

    def reply(self, conversations: Sequence[Sequence[str]], seeds: Sequence[int]) -> list[Reply]:
        """Reply to each conversation.

        Args:
            conversations: turns of each, the oldest first, at least one.
            seeds: one per conversation; the same seed and turns give the same reply.
        """
        length = self.model.config.utterance_length
        contexts = [
            [self.vocabulary.encode(turn, length=length) for turn in turns[-self.history :]]
            for turns in conversations
        ]
        return [self._reply(found) for found in replies(self.model, contexts, seeds, self.settings)]

    def _reply(self, found: Sequence[Found]) -> Reply:
        ranked = sorted(found, key=lambda each: -each.per_word)
        candidates = tuple(Candidate(self.vocabulary.decode(each.words), each.per_word) for each in ranked)
        return Reply(self.vocabulary.decode(found[0].words), len(found[0].words), candidates)
