"""Replies to conversations: beam search, a draw among its results, or sampling word by word.

Padding, the unknown word and the start are never written, and no reply is empty.

Shapes: n contexts, b width of the beam, v vocabulary, d state of the decoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from chatbots.hierarchical.batching import Batch, collate
from chatbots.hierarchical.model import NEEDS_TARGETS, Hierarchical
from chatbots.training.decoding import DecodedReply, beam_search, sample
from chatbots.training.settings import check_range
from chatbots.training.vocabulary import Vocabulary

Choice = Literal["best", "drawn", "sampled"]


@dataclass(frozen=True, kw_only=True)
class DecodingSettings:
    """Settings of the search for a reply.

    Attributes:
        choose: "best" of the beam; "drawn" from it, with higher ranks likelier, as in neural.chat's
            self-play; "sampled" word by word, without a beam.
        beam: width of the beam, at least 1.
        temperature: temperature of sampling, above 0.

    Raises:
        ValueError: a number out of its range.
    """

    choose: Choice = "best"
    beam: int = 5
    temperature: float = 1.0

    def __post_init__(self) -> None:
        check_range("beam", self.beam, least=1, most=100)
        if not 0 < self.temperature < float("inf"):
            raise ValueError(f"temperature={self.temperature} must be above 0, and finite.")


@torch.inference_mode()
def replies(
    model: Hierarchical,
    contexts: Sequence[Sequence[Sequence[int]]],
    seeds: Sequence[int],
    settings: DecodingSettings,
) -> list[list[DecodedReply]]:
    """Find replies to each context; the first one is used.

    Args:
        model: in evaluation mode.
        contexts: utterances of each context, as words with their ends; at least one of both.
        seeds: one per context; the same seed and context give the same replies.
        settings: settings of the search.
    """
    randoms = [np.random.default_rng(seed) for seed in seeds]
    first = first_states(model, collate(contexts).to(model.embedding.weight.device), randoms)
    length = model.config.utterance_length
    if settings.choose == "sampled":
        return [
            [drawn] for drawn in sample(model.step, first, randoms, length, temperature=settings.temperature)
        ]
    drawn = beam_search(model.step, first, settings.beam, length)
    if settings.choose == "drawn":
        return [drawn_first(each, random) for each, random in zip(drawn, randoms, strict=True)]
    return drawn


def first_states(model: Hierarchical, batch: Batch, randoms: Sequence[np.random.Generator]) -> Tensor:
    """Compute the decoder's first states, (n, d), after whole contexts.

    A conversation's latent variable is drawn from its posterior given the turns so far, an utterance's from
    its prior, because the utterance does not exist yet.
    """
    c = model.config
    numbers = np.stack([random.standard_normal(2 * c.latent_size) for random in randoms])
    noise = torch.from_numpy(numbers).to(model.embedding.weight)
    encodings = model.encode(batch)
    of_conversation = None
    if c.conversation_latent_size:
        posterior = model.posterior_of_conversations(encodings, batch.turns)
        of_conversation = posterior.at(noise[:, c.latent_size :])
    states = model.contexts(encodings, batch.turns, of_conversation)
    last = states[(batch.turns.cumsum(0) - 1).to(states.device)]
    latent_of_conversation = last[:, :0] if of_conversation is None else of_conversation
    if not c.is_variational:
        return model.begin(last, latent_of_conversation)
    latent = model.prior(torch.cat([last, latent_of_conversation], dim=1)).at(noise[:, : c.latent_size])
    return model.begin(last, torch.cat([latent, latent_of_conversation], dim=1))


def drawn_first(candidates: Sequence[DecodedReply], random: np.random.Generator) -> list[DecodedReply]:
    """Move one drawn reply to the front, with weights n - 1 … 0 by rank; a single reply stays.

    Source: the authors' self-play (github.com/natashamjaques/neural_chat).
    """
    if len(candidates) < 2:
        return list(candidates)
    weights = np.arange(len(candidates) - 1, -1, -1, dtype=np.float64)
    place = int(random.choice(len(candidates), p=weights / weights.sum()))
    return [candidates[place], *candidates[:place], *candidates[place + 1 :]]


HISTORY = 5
"""Number of newest utterances that are read, as in the authors' self-play."""


class Candidate(NamedTuple):
    """One reply of the beam.

    Attributes:
        text: its text.
        per_word: log-likelihood per word, in nats.
    """

    text: str
    per_word: float


class Reply(NamedTuple):
    """A reply, and the candidates it was chosen from.

    Attributes:
        text: the reply; never empty.
        words: number of generated words, the end included.
        candidates: all replies found, best first.
    """

    text: str
    words: int
    candidates: tuple[Candidate, ...]


class Responder:
    """Replies with one model and one way of decoding; stores no conversation.

    Args:
        model: in evaluation mode.
        vocabulary: vocabulary of its training.
        settings: settings of the search.
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
        return [self._reply(candidates) for candidates in replies(self.model, contexts, seeds, self.settings)]

    def _reply(self, decoded: Sequence[DecodedReply]) -> Reply:
        ranked = sorted(decoded, key=lambda each: -each.per_word)
        candidates = tuple(Candidate(self.vocabulary.decode(each.words), each.per_word) for each in ranked)
        return Reply(self.vocabulary.decode(decoded[0].words), len(decoded[0].words), candidates)
