"""From a context to words: beam search, a draw among what it finds, or word by word.

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
from chatbots.hierarchical.model import Hierarchical
from chatbots.training.settings import check_range
from chatbots.training.vocabulary import END, NEVER_WRITTEN, START

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


class Found(NamedTuple):
    """One reply that was found.

    Attributes:
        words: their numbers, the end included if it was reached.
        log_likelihood: in nats, given the latent variables.
    """

    words: tuple[int, ...]
    log_likelihood: float

    @property
    def per_word(self) -> float:
        """The mean over words."""
        return self.log_likelihood / len(self.words)


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
    if settings.choose == "sampled":
        return [[found] for found in sample(model, first, randoms, settings.temperature)]
    found = beam_search(model, first, settings.beam)
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


def log_probabilities(
    model: Hierarchical, words: Tensor, state: Tensor, position: int
) -> tuple[Tensor, Tensor]:
    """Of every next word that may be written, (n, v), and the next state."""
    scores, state = model.step(words, state)
    found = scores.log_softmax(dim=-1)
    found[:, [*NEVER_WRITTEN, END] if position == 0 else list(NEVER_WRITTEN)] = -torch.inf
    return found, state


def beam_search(model: Hierarchical, first: Tensor, width: int) -> list[list[Found]]:
    """The likeliest replies that a beam finds, for each first state, by log-likelihood per word, best first.

    A reply that ends leaves the beam, and the beam shrinks with it; those open at the longest length count as
    they are.

    Args:
        model: in evaluation mode.
        first: of the decoder, (n, d).
        width: b.
    """
    n, device = len(first), first.device
    beams = [[Found((), 0.0)] for _ in range(n)]
    done: list[list[Found]] = [[] for _ in range(n)]
    state = first.repeat_interleave(width, dim=0)
    for position in range(model.config.utterance_length):
        last = torch.full((n, width), START)
        so_far = torch.full((n, width), -torch.inf)
        for i, beam in enumerate(beams):
            for j, found in enumerate(beam):
                last[i, j] = found.words[-1] if found.words else START
                so_far[i, j] = found.log_likelihood
        likely, state = log_probabilities(model, last.flatten().to(device), state, position)
        total = so_far.to(device).unsqueeze(2) + likely.view(n, width, -1)
        values, places = total.flatten(1).topk(min(width, total[0].numel()), dim=1)
        sources = torch.zeros(n, width, dtype=torch.long)
        for i, beam in enumerate(beams):
            grown = _grown(beam, values[i].tolist(), places[i].tolist(), likely.size(1), width - len(done[i]))
            done[i] += [found for found, _ in grown if found.words[-1] == END]
            still = [(found, source) for found, source in grown if found.words[-1] != END]
            beams[i] = [found for found, _ in still]
            sources[i, : len(still)] = torch.tensor([source for _, source in still], dtype=torch.long)
        if not any(beams):
            break
        rows = sources + torch.arange(n).unsqueeze(1) * width
        state = state[rows.flatten().to(device)]
    return [
        sorted(ended + still, key=lambda found: -found.per_word)
        for ended, still in zip(done, beams, strict=True)
    ]


def _grown(
    beam: Sequence[Found], values: Sequence[float], places: Sequence[int], vocabulary: int, room: int
) -> list[tuple[Found, int]]:
    """The likeliest continuations of a beam by one word, as many as fit, and what each continues."""
    grown = []
    for value, place in list(zip(values, places, strict=True))[:room]:
        source, word = divmod(place, vocabulary)
        if value > -np.inf:
            grown.append((Found((*beam[source].words, word), value), source))
    return grown


def drawn_first(found: Sequence[Found], random: np.random.Generator) -> list[Found]:
    """The replies with one drawn to the front, with weights n - 1 … 0 by rank; a single one stays.

    Source: the authors' self-play (github.com/natashamjaques/neural_chat).
    """
    if len(found) < 2:
        return list(found)
    weights = np.arange(len(found) - 1, -1, -1, dtype=np.float64)
    place = int(random.choice(len(found), p=weights / weights.sum()))
    return [found[place], *found[:place], *found[place + 1 :]]


def sample(
    model: Hierarchical, first: Tensor, randoms: Sequence[np.random.Generator], temperature: float
) -> list[Found]:
    """One reply for each first state, word by word from softmax(scores / temperature)."""
    device, length = first.device, model.config.utterance_length
    uniforms = np.stack([random.random(length) for random in randoms])
    words: list[list[int]] = [[] for _ in randoms]
    totals = [0.0] * len(randoms)
    last, state = torch.full((len(first),), START, device=device), first
    for position in range(length):
        likely, state = log_probabilities(model, last, state, position)
        heights = (likely.double() / temperature).softmax(dim=-1).cumsum(dim=-1)
        aim = torch.from_numpy(uniforms[:, position : position + 1]).to(device) * heights[:, -1:]
        last = torch.searchsorted(heights, aim, right=True).squeeze(1).clamp(max=heights.size(1) - 1)
        found, chosen = likely.gather(1, last.unsqueeze(1)).squeeze(1).tolist(), last.tolist()
        for i, said in enumerate(words):
            if not said or said[-1] != END:
                said.append(chosen[i])
                totals[i] += found[i]
        if all(said[-1] == END for said in words):
            break
    return [Found(tuple(said), total) for said, total in zip(words, totals, strict=True)]
