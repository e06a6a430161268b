"""Decoding of word-level models: beam search, or sampling word by word.

Padding, the unknown word and the start are never written, and no reply is empty. A model is a function of one
step: from the last words and a state to scores of the next words and the next state. A state is a tensor with
a row for each open reply, so that rows can be selected.

Shapes: n contexts, b width of the beam, v vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from chatbots.training.vocabulary import END, NEVER_WRITTEN, START

Step = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""From words (n,) and states (n, …) to scores before softmax, (n, v), and the next states."""


class DecodedReply(NamedTuple):
    """One decoded reply.

    Attributes:
        words: numbers of its words, the end included if it was reached.
        log_likelihood: in nats.
    """

    words: tuple[int, ...]
    log_likelihood: float

    @property
    def per_word(self) -> float:
        """Mean log-likelihood of a word."""
        return self.log_likelihood / len(self.words)


def log_probabilities(step: Step, words: Tensor, state: Tensor, position: int) -> tuple[Tensor, Tensor]:
    """Log-probabilities of every next word that may be written, (n, v), and the next state."""
    scores, state = step(words, state)
    log_p = scores.log_softmax(dim=-1)
    log_p[:, [*NEVER_WRITTEN, END] if position == 0 else list(NEVER_WRITTEN)] = -torch.inf
    return log_p, state


def beam_search(step: Step, first: Tensor, width: int, length: int) -> list[list[DecodedReply]]:
    """Find the likeliest replies for each first state, by log-likelihood per word, best first.

    A finished reply leaves the beam, which shrinks with it; replies still open at the longest length count as
    they are.

    Args:
        step: step of the model.
        first: states before the first word, (n, …).
        width: b.
        length: most words, the end included.
    """
    n, device = len(first), first.device
    beams = [[DecodedReply((), 0.0)] for _ in range(n)]
    done: list[list[DecodedReply]] = [[] for _ in range(n)]
    state = first.repeat_interleave(width, dim=0)
    for position in range(length):
        last = torch.full((n, width), START)
        so_far = torch.full((n, width), -torch.inf)
        for i, beam in enumerate(beams):
            for j, each in enumerate(beam):
                last[i, j] = each.words[-1] if each.words else START
                so_far[i, j] = each.log_likelihood
        likely, state = log_probabilities(step, last.flatten().to(device), state, position)
        total = so_far.to(device).unsqueeze(2) + likely.view(n, width, -1)
        values, places = total.flatten(1).topk(min(width, total[0].numel()), dim=1)
        sources = torch.zeros(n, width, dtype=torch.long)
        for i, beam in enumerate(beams):
            grown = _grown(beam, values[i].tolist(), places[i].tolist(), likely.size(1), width - len(done[i]))
            done[i] += [each for each, _ in grown if each.words[-1] == END]
            still = [(each, source) for each, source in grown if each.words[-1] != END]
            beams[i] = [each for each, _ in still]
            sources[i, : len(still)] = torch.tensor([source for _, source in still], dtype=torch.long)
        if not any(beams):
            break
        rows = sources + torch.arange(n).unsqueeze(1) * width
        state = state[rows.flatten().to(device)]
    return [
        sorted(ended + still, key=lambda each: -each.per_word)
        for ended, still in zip(done, beams, strict=True)
    ]


def _grown(
    beam: Sequence[DecodedReply], values: Sequence[float], places: Sequence[int], vocabulary: int, room: int
) -> list[tuple[DecodedReply, int]]:
    """The likeliest continuations of a beam by one word that fit, each with its origin."""
    grown = []
    for value, place in list(zip(values, places, strict=True))[:room]:
        source, word = divmod(place, vocabulary)
        if value > -np.inf:
            grown.append((DecodedReply((*beam[source].words, word), value), source))
    return grown


def sample(
    step: Step,
    first: Tensor,
    randoms: Sequence[np.random.Generator],
    length: int,
    *,
    temperature: float,
    top_p: float = 1.0,
) -> list[DecodedReply]:
    """Sample a reply for each first state, word by word from softmax(scores / temperature).

    Args:
        step: step of the model.
        first: states before the first word, (n, …).
        randoms: one generator for each; a reply depends only on its own.
        length: most words, the end included.
        temperature: above 0.
        top_p: probability of the likeliest words to draw from (Holtzman et al. 2020, arXiv:1904.09751); 1 for
            all words.
    """
    device = first.device
    uniforms = torch.from_numpy(np.stack([random.random(length) for random in randoms])).to(device)
    words: list[list[int]] = [[] for _ in randoms]
    totals = [0.0] * len(randoms)
    open_ = list(range(len(randoms)))  # a reply that has ended costs nothing more
    last, state = torch.full((len(first),), START, device=device), first
    for position in range(length):
        likely, state = log_probabilities(step, last, state, position)
        heights = nucleus((likely.double() / temperature).softmax(dim=-1), top_p).cumsum(dim=-1)
        aim = uniforms[:, position : position + 1] * heights[:, -1:]
        last = torch.searchsorted(heights, aim, right=True).squeeze(1).clamp(max=heights.size(1) - 1)
        log_p, drawn = likely.gather(1, last.unsqueeze(1)).squeeze(1).tolist(), last.tolist()
        for i, word, of_word in zip(open_, drawn, log_p, strict=True):
            words[i].append(word)
            totals[i] += of_word
        rows = [row for row, word in enumerate(drawn) if word != END]
        if not rows:
            break
        if len(rows) < len(open_):
            open_ = [open_[row] for row in rows]
            remaining = torch.tensor(rows, device=device)
            last, state, uniforms = last[remaining], state[remaining], uniforms[remaining]
    return [DecodedReply(tuple(reply), total) for reply, total in zip(words, totals, strict=True)]


def nucleus(probabilities: Tensor, top_p: float) -> Tensor:
    """Keep the probabilities of the fewest likeliest words that reach `top_p` together; 0 for the others.

    Args:
        probabilities: (n, v), rows sum to 1.
        top_p: in (0, 1]; 1 keeps all.

    Returns:
        (n, v), not scaled to sum to 1 again.

    Source: Holtzman et al. 2020, arXiv:1904.09751.
    """
    if top_p >= 1:
        return probabilities
    ordered, places = probabilities.sort(dim=-1, descending=True)
    before = ordered.cumsum(dim=-1) - ordered
    return torch.zeros_like(probabilities).scatter(-1, places, ordered.where(before < top_p, 0.0))
