"""The importance-sampled bound against numerical integration over latent variables of one dimension."""

import math

import numpy as np
import pytest
import torch
from scipy.special import logsumexp

from chatbots.hierarchical.batching import collate
from chatbots.hierarchical.layers import Normal, divergence
from chatbots.hierarchical.model import Drawn
from chatbots.hierarchical.perplexity import log_likelihood, perplexity
from tests.chatbots.hierarchical.tiny import CONVERSATIONS, model_of

torch.set_num_threads(1)
ONE = CONVERSATIONS[1]  # one answer, so one latent variable of an utterance
COPIES = 2_000


def grid(normal, points):
    """Points and the logarithm of their widths, twelve standard deviations to each side."""
    reach = 12 * math.sqrt(float(normal.variance))
    ends = [float(normal.mean) - reach, float(normal.mean) + reach]
    at = torch.linspace(*ends, points, dtype=torch.double)
    return at.unsqueeze(1), math.log(float(at[1] - at[0]))


def likelihood_at(model, states, told):
    """Log p(answer | latent) for many values at once."""
    batch = collate([ONE] * len(told))
    return model.log_likelihoods(batch, Drawn(states.expand(len(told), -1), told))


def of_many(normal, n):
    return Normal(normal.mean.expand(n, 1), normal.variance.expand(n, 1))


@torch.no_grad()
def test_vhreds_bound_is_the_integral_over_its_latent_variable():
    model = model_of("vhred", latent_size=1)
    batch = collate([ONE])
    drawn = model.draw(batch, model.encode(batch))
    at, width = grid(drawn.prior, 2_001)
    n = len(at)
    words = likelihood_at(model, drawn.states, at)
    exact = logsumexp((words + of_many(drawn.prior, n).log_density(at) + width).numpy())

    estimates, _ = log_likelihood(model, collate([ONE] * COPIES), 5, torch.Generator().manual_seed(1))
    single, _ = log_likelihood(model, collate([ONE] * COPIES), 1, torch.Generator().manual_seed(2))

    ratios = np.exp(estimates.numpy() - exact)
    assert ratios.mean() == pytest.approx(1, abs=5 * ratios.std() / COPIES**0.5)
    # with one draw the mean is the variational bound: E_q log p(words | z) - divergence, here integrated
    at, width = grid(drawn.posterior, 2_001)
    density = (of_many(drawn.posterior, n).log_density(at) + width).exp()
    words = likelihood_at(model, drawn.states, at)
    bound = float((density * words).sum() - divergence(drawn.posterior, drawn.prior))
    assert float(single.mean()) == pytest.approx(bound, abs=5 * float(single.std()) / COPIES**0.5)
    assert bound < float(estimates.mean()) < exact + 1e-9
    # and what is missing is the divergence of the posterior from the true one
    posterior = words + of_many(drawn.prior, n).log_density(at) - exact
    gap = float((density * (of_many(drawn.posterior, n).log_density(at) - posterior)).sum())
    assert bound + gap == pytest.approx(exact, abs=1e-6)


@torch.no_grad()
def test_vhcrs_bound_is_the_integral_over_both_latent_variables():
    model = model_of("vhcr", latent_size=1)
    batch = collate([ONE])
    encodings = model.encode(batch)
    unit = Normal(torch.zeros(1, 1).double(), torch.ones(1, 1).double())
    conversations, width = grid(unit, 121)
    totals = []
    for value in conversations:
        latent = value.unsqueeze(0)
        state = model.contexts(encodings[batch.read], batch.turns - 1, latent)
        prior = model.prior(torch.cat([state, latent], dim=1))
        at, narrow = grid(prior, 201)
        words = likelihood_at(model, state, torch.cat([at, latent.expand(len(at), 1)], dim=1))
        inner = logsumexp((words + of_many(prior, len(at)).log_density(at) + narrow).numpy())
        totals.append(inner + float(unit.log_density(latent)) + width)
    exact = logsumexp(totals)

    estimates, _ = log_likelihood(model, collate([ONE] * COPIES), 5, torch.Generator().manual_seed(1))

    ratios = np.exp(estimates.numpy() - exact)
    assert ratios.mean() == pytest.approx(1, abs=5 * ratios.std() / COPIES**0.5)
    assert float(estimates.mean()) < exact


def test_hreds_perplexity_needs_no_draws_and_is_per_word_with_ends():
    model = model_of("hred").train()
    batches = [collate(CONVERSATIONS[:1]), collate(CONVERSATIONS[1:])]
    everything = collate(CONVERSATIONS)
    words = model.log_likelihoods(everything, model.draw(everything, model.encode(everything)))

    found = perplexity(model, batches, samples=7)

    assert found.words == 2 + 5 + 3 + 6 + 2 + 3 + 2
    assert found.value == pytest.approx(math.exp(-float(words.sum().detach()) / found.words))
    assert found.divergence == 0
    assert model.training


@pytest.mark.parametrize("architecture", ["vhred", "vhcr"])
def test_perplexity_repeats_by_seed_and_falls_with_more_draws(architecture):
    model = model_of(architecture)
    batch = collate(CONVERSATIONS * 20)

    few, again, many = (perplexity(model, [batch], samples=samples) for samples in (1, 1, 30))

    assert few == again
    assert many.value < few.value
    assert few.divergence > 0


def test_measuring_nothing_is_refused():
    with pytest.raises(ValueError, match="There is no conversation to measure perplexity on"):
        perplexity(model_of("hred"), [])
    with pytest.raises(ValueError, match="samples=0 must be at least 1"):
        perplexity(model_of("hred"), [], samples=0)


def test_weights_without_likelihoods_are_refused():
    model = model_of("hred")
    torch.nn.init.constant_(model.output.bias, torch.nan)
    with pytest.raises(ValueError, match="is nan nats per word: these weights have no perplexity"):
        perplexity(model, [collate(CONVERSATIONS)])
