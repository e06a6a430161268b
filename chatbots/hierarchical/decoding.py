"""From a context to words: beam search, a draw among what it finds, or word by word.

Padding, the unknown word and the start are never written, and no reply is empty.

Shapes: n contexts, b width of the beam, v vocabulary, d state of the decoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from chatbots.hierarchical.batching import Batch, collate
from chatbots.hierarchical.model import Hierarchical
from chatbots.training.decoding import Found, beam_search, sample
from chatbots.training.settings import check_range

Choice = Literal["best", "drawn", "sampled"]


@dataclass(frozen=True, kw_only=True)
class DecodingSettings:
    """How a reply is found.

    Attributes:
        choose: "best" of the beam; "drawn" from it, likelier the higher it ranks, as in neural.chat's
            self-play; "sampled" word by word, without a beam.
        beam: replies followed at once, at least 1.
        temperature: of sampling, above 0.

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
) -> list[list[Found]]:
    """The replies to each context, first the one to be said.

    Args:
        model: in evaluation mode.
        contexts: the utterances of each, words with their ends; at least one of both.
        seeds: one per context; the same seed and context give the same replies.
        settings: how to find them.
    """
    randoms = [np.random.default_rng(seed) for seed in seeds]
    first = first_states(model, collate(contexts).to(model.embedding.weight.device), randoms)
    length = model.config.utterance_length
    if settings.choose == "sampled":
        return [
            [found] for found in sample(model.step, first, randoms, length, temperature=settings.temperature)
        ]
    found = beam_search(model.step, first, settings.beam, length)
    if settings.choose == "drawn":
        return [drawn_first(each, random) for each, random in zip(found, randoms, strict=True)]
    return found


def first_states(model: Hierarchical, batch: Batch, randoms: Sequence[np.random.Generator]) -> Tensor:
    """The decoder's first states, (n, d), after whole contexts.

    A conversation's latent variable is drawn from its posterior given what was said so far, an utterance's
    from its prior, because the utterance is yet to be written.
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
    beside = last[:, :0] if of_conversation is None else of_conversation
    if not c.is_variational:
        return model.begin(last, beside)
    latent = model.prior(torch.cat([last, beside], dim=1)).at(noise[:, : c.latent_size])
    return model.begin(last, torch.cat([latent, beside], dim=1))


def drawn_first(found: Sequence[Found], random: np.random.Generator) -> list[Found]:
    """The replies with one drawn to the front, with weights n - 1 … 0 by rank; a single one stays.

    Source: the authors' self-play (github.com/natashamjaques/neural_chat).
    """
    if len(found) < 2:
        return list(found)
    weights = np.arange(len(found) - 1, -1, -1, dtype=np.float64)
    place = int(random.choice(len(found), p=weights / weights.sum()))
    return [found[place], *found[:place], *found[place + 1 :]]
