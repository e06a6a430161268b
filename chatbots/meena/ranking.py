"""Prior likelihood of responses, without their context.

The prior log P(response) is the model's log-likelihood of the response to an empty conversation. Mutual
information, log P(response | context) - λ log P(response), ranks responses lower that fit every context.

Shapes: n samples, s context positions, t response positions.

Source: Li et al. 2016, "A Diversity-Promoting Objective Function for Neural Conversation Models",
arXiv:1510.03055, equation 9 (MMI-antiLM), there within beam search.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from chatbots.meena.model import Encoded, Meena, pad_tokens
from chatbots.meena.samples import Sample
from chatbots.meena.tokenizer import Tokenizer


@torch.inference_mode()
def with_priors(model: Meena, tokenizer: Tokenizer, samples: Sequence[Sample]) -> list[Sample]:
    """Add the log-likelihood of each sample given an empty conversation.

    Args:
        model: in evaluation mode.
        tokenizer: of its training.
        samples: at least one, each with at least one token.

    Returns:
        The same samples with `prior`, in nats.
    """
    device = model.embedding.weight.device
    nothing = tokenizer.context([], length=model.config.context_length).tokens
    encoded = model.encode(torch.tensor([nothing], device=device))
    n = len(samples)
    shared = Encoded(encoded.states.expand(n, -1, -1), encoded.is_real.expand(n, -1))
    targets = pad_tokens([sample.tokens for sample in samples]).to(device)  # (n, t)
    inputs = pad_tokens([[Tokenizer.start, *sample.tokens[:-1]] for sample in samples]).to(device)
    log_probabilities = model.scores(model.decode(shared, inputs)).float().log_softmax(dim=-1)
    of_tokens = log_probabilities.gather(2, targets.unsqueeze(2)).squeeze(2)  # (n, t)
    priors = [
        float(row[: len(sample.tokens)].double().sum())
        for row, sample in zip(of_tokens, samples, strict=True)
    ]
    return [sample._replace(prior=prior) for sample, prior in zip(samples, priors, strict=True)]
