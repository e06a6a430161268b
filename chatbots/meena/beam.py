"""Beam search, to compare sample-and-rank with: the paper's table 3."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from chatbots.meena.model import Meena
from chatbots.meena.sampling import Sample, rank
from chatbots.meena.tokenizer import NEVER_WRITTEN, Tokenizer


@torch.inference_mode()
def beam_search(model: Meena, context: Sequence[int], *, width: int = 20) -> list[Sample]:
    """The likeliest responses that a beam of that width finds.

    A response that ends leaves the beam, and the beam shrinks with it; all that are open at the last position
    count as they are.

    Args:
        model: in evaluation mode.
        context: tokens, 1 to the model's `context_length`.
        width: responses followed at once, at least 1.

    Returns:
        `width` different responses (fewer if the vocabulary is smaller), by log P / tokens, best first.
    """
    state = model.new_state(contexts=1, samples=width)
    model.admit(state, [context])
    device = model.embedding.weight.device
    beam = [Sample((), 0.0)]
    found: list[Sample] = []
    for position in range(model.config.response_length):
        last = [sample.tokens[-1] if sample.tokens else Tokenizer.start for sample in beam]
        padded = last + [Tokenizer.end] * (len(state.positions) - len(last))
        scores = model.step(torch.tensor(padded, device=device), state)[: len(beam)]
        grown, sources = extend(beam, scores, width - len(found))
        found += [sample for sample in grown if sample.finished]
        open_ones = [
            (sample, source) for sample, source in zip(grown, sources, strict=True) if not sample.finished
        ]
        beam = [sample for sample, _ in open_ones]
        if not beam or position + 1 == model.config.response_length:
            break
        rows = [source for _, source in open_ones]
        state.reorder_rows(np.array(rows + [0] * (len(state.positions) - len(rows))))
    return rank(found + beam, "per_token")


def extend(beam: Sequence[Sample], scores: Tensor, width: int) -> tuple[list[Sample], list[int]]:
    """The likeliest continuations by one token.

    Args:
        beam: b open responses.
        scores: of their next tokens, before softmax, (b, v).
        width: how many to keep.

    Returns:
        The continuations, likeliest first, and the index in the beam that each continues.
    """
    log_probabilities = scores.float().log_softmax(dim=-1)
    log_probabilities[:, NEVER_WRITTEN] = -torch.inf
    so_far = torch.tensor([sample.log_likelihood for sample in beam], device=scores.device)
    total = (so_far.unsqueeze(1) + log_probabilities).flatten()
    best, places = total.topk(min(width, int(total.isfinite().sum())))
    sources, tokens = (places // scores.size(1)).tolist(), (places % scores.size(1)).tolist()
    grown = [
        Sample((*beam[source].tokens, token), value)
        for source, token, value in zip(sources, tokens, best.tolist(), strict=True)
    ]
    return grown, sources
