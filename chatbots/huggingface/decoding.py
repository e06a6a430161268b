"""Decoding of many dialogues together, each as if it were alone.

Causal models get their prompts padded on the left and masked; rows that have ended leave the batch. What is
drawn for a row comes from random numbers of its own, so its neighbours cannot change it, up to the rounding
of matrix products of different sizes: where two tokens are equally likely to within that rounding (about one
part in a million in float32), a batch can differ from a row alone.

Shapes: n rows that are still decoded, t tokens so far, v vocabulary.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class DecodingSettings:
    """How a reply is drawn.

    Attributes:
        most_tokens: longest reply, the end token included; at least 1.
        greedy: whether the likeliest token is taken; the rest is then without effect.
        temperature: divides the scores, above 0.
        top_k: draw from that many likeliest tokens; None for all.
        top_p: of these, from the fewest whose probabilities reach this sum, in (0, 1]; None for all.
    """

    most_tokens: int = 64
    greedy: bool = False
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None


class Generated(NamedTuple):
    """One reply in tokens.

    Attributes:
        tokens: without the end token.
        length: tokens that were generated, the end token included.
        log_likelihood: of these under the model's own distribution, in nats.
    """

    tokens: tuple[int, ...]
    length: int
    log_likelihood: float

    @property
    def per_token(self) -> float:
        """Mean log-likelihood of a token."""
        return self.log_likelihood / self.length


class Running(ABC):
    """A batch in a model: gives the scores of the next token of each row.

    Attributes:
        scores: before softmax, (n, v).
    """

    scores: Tensor

    @abstractmethod
    def keep(self, rows: Tensor) -> None:
        """Let all other rows leave: (n) indices."""

    @abstractmethod
    def advance(self, tokens: Tensor) -> None:
        """Append a token to each row, (n,), and compute the scores after it."""


class RunningCausal(Running):
    """A batch in a decoder-only model.

    Args:
        model: in evaluation mode.
        prompts: tokens of each row, at least one.
        padding: any token; it is masked.
    """

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], padding: int) -> None:
        self._model = model
        self._accepted = inspect.signature(model.forward).parameters
        longest = max(map(len, prompts))
        rows = [[padding] * (longest - len(prompt)) + list(prompt) for prompt in prompts]
        lengths = torch.tensor([len(prompt) for prompt in prompts])
        ids = torch.tensor(rows)
        device = model.get_input_embeddings().weight.device
        self._mask = (torch.arange(longest) >= longest - lengths.unsqueeze(1)).long().to(device)  # (n, t)
        self._cache: Any = None
        self._compute(ids.to(device), (self._mask.cumsum(dim=1) - 1).clamp(min=0))

    def keep(self, rows: Tensor) -> None:
        """As in the base."""
        self._cache.batch_select_indices(rows)
        self._mask = self._mask[rows]

    def advance(self, tokens: Tensor) -> None:
        """As in the base."""
        positions = self._mask.sum(dim=1, keepdim=True)  # (n, 1)
        self._mask = torch.cat([self._mask, torch.ones_like(positions)], dim=1)
        self._compute(tokens.unsqueeze(1), positions)

    def _compute(self, ids: Tensor, positions: Tensor) -> None:
        optional = {"position_ids": positions, "logits_to_keep": 1}
        output = self._model(
            input_ids=ids,
            attention_mask=self._mask,
            past_key_values=self._cache,
            use_cache=True,
            **{name: value for name, value in optional.items() if name in self._accepted},
        )
        self._cache, self.scores = output.past_key_values, output.logits[:, -1]


class RunningSeq2Seq(Running):
    """A batch in a model with an encoder.

    Args:
        model: in evaluation mode.
        prompts: tokens of each row for the encoder, at least one.
        padding: any token; it is masked.
    """

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]], padding: int) -> None:
        self._model = model
        longest = max(map(len, prompts))
        device = model.get_input_embeddings().weight.device
        ids = torch.tensor(
            [[*prompt, *[padding] * (longest - len(prompt))] for prompt in prompts], device=device
        )
        lengths = torch.tensor([len(prompt) for prompt in prompts], device=device)
        self._mask = (torch.arange(longest, device=device) < lengths.unsqueeze(1)).long()  # (n, t)
        self._encoded = model.get_encoder()(input_ids=ids, attention_mask=self._mask, return_dict=True)
        self._cache: Any = None
        start = model.generation_config.decoder_start_token_id
        if start is None:
            start = model.config.decoder_start_token_id
        self.advance(torch.full((len(prompts),), start, device=device))

    def keep(self, rows: Tensor) -> None:
        """As in the base."""
        self._cache.batch_select_indices(rows)
        self._mask = self._mask[rows]
        self._encoded.last_hidden_state = self._encoded.last_hidden_state[rows]

    def advance(self, tokens: Tensor) -> None:
        """As in the base."""
        output = self._model(
            encoder_outputs=self._encoded,
            attention_mask=self._mask,
            decoder_input_ids=tokens.unsqueeze(1),
            past_key_values=self._cache,
            use_cache=True,
        )
        self._cache, self.scores = output.past_key_values, output.logits[:, -1]


class Decoder:
    """Draws replies with one model.

    Args:
        model: in evaluation mode.
        settings: how to draw.
        ends: tokens that end a reply. They are not drawn before something can be seen, so that no reply is
            empty.
        shown: tokens that have something to see.
        padding: any token; it is masked.
    """

    def __init__(
        self,
        model: Any,
        settings: DecodingSettings,
        *,
        ends: frozenset[int],
        shown: Sequence[int],
        padding: int,
    ) -> None:
        self.model, self.settings, self.padding = model, settings, padding
        embedding = model.get_input_embeddings().weight
        self._ends = ends
        self._ending = torch.tensor(sorted(ends), dtype=torch.long, device=embedding.device)
        self._shows = torch.zeros(embedding.shape[0], dtype=torch.bool, device=embedding.device)
        self._shows[torch.tensor(list(shown), dtype=torch.long, device=embedding.device)] = True

    @torch.inference_mode()
    def decode(
        self, prompts: Sequence[Sequence[int]], seeds: Sequence[int], count: int = 1
    ) -> list[Generated]:
        """Draw a reply for every prompt.

        Args:
            prompts: tokens of each; `count` in a row belong to one context.
            seeds: one per context.
            count: prompts per context.

        Returns:
            One reply per prompt.
        """
        kind = RunningSeq2Seq if self.model.config.is_encoder_decoder else RunningCausal
        return self.run(kind(self.model, prompts, self.padding), seeds, count)

    def run(self, running: Running, seeds: Sequence[int], count: int = 1) -> list[Generated]:
        """Draw until every row has ended or is full; those that have leave the batch."""
        longest = self.settings.most_tokens
        numbers = np.concatenate([uniform_numbers(seed, count, longest) for seed in seeds])
        randoms = torch.from_numpy(numbers).to(running.scores.device)
        drawing = _Drawing(len(randoms), longest)
        live = torch.arange(len(randoms), device=running.scores.device)
        seen = torch.zeros(len(randoms), dtype=torch.bool, device=running.scores.device)
        for place in range(longest):
            allowed = self._without_early_ends(running.scores, seen)
            tokens, log_probabilities = draw(allowed, randoms[live, place], running.scores, self.settings)
            drawing.add(live, place, tokens, log_probabilities)
            going = (~torch.isin(tokens, self._ending)).nonzero().squeeze(1)
            if not len(going) or place + 1 == longest:
                break
            seen = (seen | self._shows[tokens])[going]
            if len(going) < len(live):
                running.keep(going)
                live = live[going]
            running.advance(tokens[going])
        return drawing.generated(self._ends)

    def _without_early_ends(self, scores: Tensor, seen: Tensor) -> Tensor:
        if bool(seen.all()) or not len(self._ending):
            return scores
        allowed = scores.clone()
        allowed[:, self._ending] = torch.where(seen.unsqueeze(1), allowed[:, self._ending], -torch.inf)
        return allowed


class _Drawing:
    """What has been drawn so far."""

    def __init__(self, rows: int, longest: int) -> None:
        self._tokens = torch.zeros((rows, longest), dtype=torch.long)
        self._lengths = torch.zeros(rows, dtype=torch.long)
        self._log_likelihoods = torch.zeros(rows, dtype=torch.float64)

    def add(self, rows: Tensor, place: int, tokens: Tensor, log_probabilities: Tensor) -> None:
        rows = rows.cpu()
        self._tokens[rows, place] = tokens.cpu()
        self._lengths[rows] += 1
        self._log_likelihoods[rows] += log_probabilities.double().cpu()

    def generated(self, ends: frozenset[int]) -> list[Generated]:
        rows = zip(self._tokens.tolist(), self._lengths.tolist(), self._log_likelihoods.tolist(), strict=True)
        return [_generated(tokens[:length], likelihood, ends) for tokens, length, likelihood in rows]


def draw(
    allowed: Tensor, uniforms: Tensor, scores: Tensor, settings: DecodingSettings
) -> tuple[Tensor, Tensor]:
    """Draw one token per row.

    Args:
        allowed: scores with minus infinity for what must not be drawn, (n, v).
        uniforms: a random number in [0, 1) for each row, (n,), float64.
        scores: the model's own, (n, v).
        settings: how.

    Returns:
        The tokens, (n,), and the model's own log-probability of each, (n,), in nats.
    """
    if settings.greedy:
        tokens = allowed.argmax(dim=-1)
    else:
        k = min(settings.top_k or allowed.size(-1), allowed.size(-1))
        likeliest, ids = allowed.float().topk(k, dim=-1)  # (n, k), likeliest first
        probabilities = (likeliest / settings.temperature).softmax(dim=-1, dtype=torch.float64)
        if settings.top_p is not None:
            before = probabilities.cumsum(dim=-1) - probabilities
            probabilities = probabilities.masked_fill(before >= settings.top_p, 0.0)
        upto = probabilities.cumsum(dim=-1)
        place = torch.searchsorted(upto, (uniforms * upto[:, -1]).unsqueeze(1), right=True).clamp(max=k - 1)
        tokens = ids.gather(1, place).squeeze(1)
    of_tokens = scores.float().gather(1, tokens.unsqueeze(1)).squeeze(1)
    return tokens, of_tokens - scores.float().logsumexp(dim=-1)


def uniform_numbers(seed: int, rows: int, longest: int) -> NDArray[np.float64]:
    """The random numbers of one context, in [0, 1): (rows, longest)."""
    return np.random.Generator(np.random.Philox(seed % 2**64)).random((rows, longest))


def _generated(tokens: list[int], log_likelihood: float, ends: frozenset[int]) -> Generated:
    said = tokens[:-1] if tokens[-1] in ends else tokens
    return Generated(tuple(said), len(tokens), log_likelihood)
