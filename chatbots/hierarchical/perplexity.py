"""Perplexity: how many equally likely words the model hesitates between, on average.

For a variational model the likelihood is an integral over its latent variables. It is estimated by importance
sampling: the mean over draws from the posterior of p(words | latent) p(latent) / q(latent | words). The
logarithm of the mean is at most log p(words) on average and approaches it with more draws (Burda et al. 2016,
arXiv:1509.00519).

In VHRED each utterance has its own mean, because utterances share only the earlier text; in VHCR they share
the conversation's variable, and the mean is over draws for the whole conversation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor
from tqdm import tqdm

from chatbots.hierarchical.batching import Batch
from chatbots.hierarchical.layers import standard_normal
from chatbots.hierarchical.model import Drawn, Hierarchical
from chatbots.training.perplexity import evaluating, perplexity_of
from chatbots.training.settings import check_range

SAMPLES = 100


class Perplexity(NamedTuple):
    """A measured perplexity.

    Attributes:
        value: exp of the mean negative log-likelihood per word, ends included.
        words: number of words.
        divergence: divergence of the priors from the posteriors, in nats per word; 0 for HRED.
    """

    value: float
    words: int
    divergence: float


@torch.no_grad()
def perplexity(
    model: Hierarchical, batches: Iterable[Batch], *, samples: int = SAMPLES, seed: int = 0
) -> Perplexity:
    """Measure per-word perplexity of all utterances but each conversation's first, without dropout.

    Args:
        model: set back to training if it was.
        batches: conversations.
        samples: draws of the latent variables.
        seed: seed of the draws.

    Raises:
        ValueError: there is no word to measure, or the likelihoods are not finite.
    """
    check_range("samples", samples, least=1, most=1_000_000)
    device = model.embedding.weight.device
    generator = torch.Generator(device).manual_seed(seed)
    total = divergences = 0.0
    words = 0
    with evaluating(model):
        for batch in tqdm(batches, desc="perplexity", unit=" batches", disable=None, leave=False):
            likelihoods, divergence = log_likelihood(model, batch.to(device), samples, generator)
            total -= float(likelihoods.double().sum())
            divergences += divergence
            words += batch.words
    none = "There is no conversation to measure perplexity on. Build the corpus with more."
    value = perplexity_of(total, words, unit="word", if_none=none)
    return Perplexity(value, words, divergences / words)


def log_likelihood(
    model: Hierarchical, batch: Batch, samples: int, generator: torch.Generator
) -> tuple[Tensor, float]:
    """Estimate the likelihood by importance sampling; exact for HRED, which has no latent variables.

    Args:
        model: in evaluation mode.
        batch: m utterances of n conversations.
        samples: draws of the latent variables, at least 1.
        generator: generator of their noise.

    Returns:
        log p in nats of each utterance (HRED, VHRED), (m,), or conversation (VHCR), (n,); and the divergence
        of the last draw, in nats.
    """
    encodings = model.encode(batch)
    weights = []
    divergence = 0.0
    for _ in range(samples if model.config.is_variational else 1):
        drawn = model.draw(batch, encodings, generator)
        weights.append(log_weights(batch, drawn, model.log_likelihoods(batch, drawn)))
        divergence = float(drawn.divergence())
    stacked = torch.stack(weights)
    return stacked.logsumexp(dim=0) - math.log(len(weights)), divergence


def log_weights(batch: Batch, drawn: Drawn, of_words: Tensor) -> Tensor:
    """Log p(words | latent) p(latent) / q(latent | words) per utterance, (m,), or conversation, (n,)."""
    if drawn.prior is None or drawn.posterior is None or drawn.latent is None:
        return of_words
    weights = of_words + drawn.prior.log_density(drawn.latent) - drawn.posterior.log_density(drawn.latent)
    if drawn.conversation_posterior is None or drawn.conversation_latent is None:
        return weights
    unit, value = standard_normal(drawn.conversation_latent), drawn.conversation_latent
    owner = torch.arange(len(batch.turns)).repeat_interleave(batch.turns - 1).to(weights.device)
    of_conversations = unit.log_density(value) - drawn.conversation_posterior.log_density(value)
    return of_conversations.index_add(0, owner, weights)
