"""Decoding of many dialogues together, each as if it were alone.

Rows that have ended leave the batch, and others join it between two tokens. Each row has its own random
numbers, so its neighbours cannot change it, except by the rounding of matrix products of different sizes: if
two tokens are equally likely within that rounding (about one part in a million in float32), a batch can
differ from a single row.

Shapes: n rows that are still decoded, t tokens so far, v vocabulary.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from chatbots.huggingface.running import Running, RunningCausal, RunningSeq2Seq


@dataclass(frozen=True, kw_only=True)
class DecodingSettings:
    """Settings of drawing a reply.

    Attributes:
        most_tokens: longest reply, the end token included; at least 1.
        greedy: True to take the likeliest token; the settings below then have no effect.
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


class Decoder:
    """Decoder of replies with one model.

    Args:
        model: in evaluation mode.
        settings: how to draw.
        ends: tokens that end a reply. They are not drawn before a visible character, so that no reply is
            empty.
        visible_tokens: tokens with a visible character.
        padding: any token; it is masked.
    """

    def __init__(
        self,
        model: Any,
        settings: DecodingSettings,
        *,
        ends: frozenset[int],
        visible_tokens: Sequence[int],
        padding: int,
    ) -> None:
        self.model, self.settings, self.padding = model, settings, padding
        embedding = model.get_input_embeddings().weight
        self.ends = ends
        self.ending = torch.tensor(sorted(ends), dtype=torch.long, device=embedding.device)
        self.shows = torch.zeros(embedding.shape[0], dtype=torch.bool, device=embedding.device)
        self.shows[torch.tensor(list(visible_tokens), dtype=torch.long, device=embedding.device)] = True

    def begin(self, prompts: Sequence[Sequence[int]]) -> Running:
        """Read prompts, each at least one token, together."""
        kind = RunningSeq2Seq if self.model.config.is_encoder_decoder else RunningCausal
        return kind(self.model, prompts, self.padding)

    def draw(self, scores: Tensor, uniforms: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        """Call the function `draw`, but end no row without a visible character; seen: (n,), bool."""
        allowed = scores
        if len(self.ending) and not bool(seen.all()):
            allowed = scores.clone()
            allowed[:, self.ending] = torch.where(seen.unsqueeze(1), allowed[:, self.ending], -torch.inf)
        return draw(allowed, uniforms, scores, self.settings)


@dataclass
class _Row:
    """A partial reply and the key of its context."""

    key: int
    tokens: list[int] = field(default_factory=list)
    log_likelihood: float = 0.0


class DecodingStream:
    """Contexts whose replies are drawn one token at a time; others join in between.

    Args:
        decoder: with the model and settings.
        room: most contexts at once.
        count: replies per context.
    """

    def __init__(self, decoder: Decoder, *, room: int, count: int = 1) -> None:
        self._decoder, self._most, self._count = decoder, room, count
        self._running: Running | None = None
        self._rows: list[_Row] = []
        self._ended: dict[int, list[_Row]] = {}

    @property
    def room(self) -> int:
        """Number of contexts that can join now; none while the current batch cannot be joined."""
        if self._running is None:
            return self._most
        return self._most - len(self._ended) if self._running.joinable else 0

    @torch.inference_mode()
    def admit(self, keys: Sequence[int], prompts: Sequence[Sequence[int]], seeds: Sequence[int]) -> None:
        """Read the prompts of contexts, at most `room`.

        Args:
            keys: identify each context for `step`; none that is in progress.
            prompts: tokens of each, at least one.
            seeds: of each; a reply depends only on its prompt and seed.
        """
        several = [prompt for prompt in prompts for _ in range(self._count)]
        self.join(self._decoder.begin(several), keys, seeds)

    @torch.inference_mode()
    def join(self, newcomers: Running, keys: Sequence[int], seeds: Sequence[int]) -> None:
        """Let contexts join whose prompts have been read; arguments as for `admit`."""
        device, longest = newcomers.scores.device, self._decoder.settings.most_tokens
        numbers = np.concatenate([uniform_numbers(seed, self._count, longest) for seed in seeds])
        state = _State(
            torch.from_numpy(numbers).to(device),
            torch.zeros(len(numbers), dtype=torch.long, device=device),
            torch.zeros(len(numbers), dtype=torch.bool, device=device),
        )
        if self._running is None:
            self._running, self._state = newcomers, state
        else:
            self._running.join(newcomers)
            self._state = _State(*map(torch.cat, zip(self._state, state, strict=True)))
        self._rows += [_Row(key) for key in keys for _ in range(self._count)]
        self._ended |= {key: [] for key in keys}

    @torch.inference_mode()
    def step(self) -> dict[int, list[Generated]]:
        """Draw one more token of every reply.

        Returns:
            By key, the replies to finished contexts: `count` each.
        """
        if self._running is None:
            return {}
        randoms, places, seen = self._state
        uniforms = randoms.gather(1, places.unsqueeze(1)).squeeze(1)
        tokens, log_probabilities = self._decoder.draw(self._running.scores, uniforms, seen)
        for row, token, gained in zip(self._rows, tokens.tolist(), log_probabilities.tolist(), strict=True):
            row.tokens.append(token)
            row.log_likelihood += gained
        self._state = _State(randoms, places + 1, seen | self._decoder.shows[tokens])
        full = self._state.places == self._decoder.settings.most_tokens
        return self._go_on(tokens, ~(full | torch.isin(tokens, self._decoder.ending)))

    def tokens_so_far(self) -> dict[int, Sequence[int]]:
        """Tokens drawn so far for each context in progress, by key; only for one reply per context."""
        return {row.key: row.tokens for row in self._rows} if self._count == 1 else {}

    @torch.inference_mode()
    def cancel(self, keys: Collection[int]) -> None:
        """Stop drawing for these contexts, which are in progress."""
        for key in keys:
            del self._ended[key]
        staying = [place for place, row in enumerate(self._rows) if row.key not in keys]
        if self._running is None or len(staying) == len(self._rows):
            return
        self._rows = [self._rows[place] for place in staying]
        if not staying:
            self._running = None
            return
        index = torch.tensor(staying, device=self._running.scores.device)
        self._running.keep(index)
        self._running.scores = self._running.scores[index]  # scores of the next token are known already
        self._state = _State(*(each[index] for each in self._state))

    def _go_on(self, tokens: Tensor, going: Tensor) -> dict[int, list[Generated]]:
        """Release finished rows and continue with the others; going: (n,), bool."""
        assert self._running is not None
        staying = going.nonzero().squeeze(1)
        if len(staying) < len(self._rows):
            done = self._leave(going.tolist())
            if not len(staying):
                self._running = None
                return done
            self._running.keep(staying)
            self._state = _State(*(each[staying] for each in self._state))
        else:
            done = {}
        self._running.advance(tokens[staying])
        return done

    def _leave(self, going: list[bool]) -> dict[int, list[Generated]]:
        for row, stays in zip(self._rows, going, strict=True):
            if not stays:
                self._ended[row.key].append(row)
        self._rows = [row for row, stays in zip(self._rows, going, strict=True) if stays]
        done = [key for key, rows in self._ended.items() if len(rows) == self._count]
        return {key: [_generated(row, self._decoder.ends) for row in self._ended.pop(key)] for key in done}


class _State(NamedTuple):
    """The values that decide the next token of each row, besides its scores."""

    randoms: Tensor  # (n, longest), float64
    places: Tensor  # (n,): tokens drawn so far
    seen: Tensor  # (n,), bool: True once they have a visible character


def draw(
    allowed: Tensor, uniforms: Tensor, scores: Tensor, settings: DecodingSettings
) -> tuple[Tensor, Tensor]:
    """Draw one token per row.

    Args:
        allowed: scores, minus infinity for forbidden tokens, (n, v).
        uniforms: a random number in [0, 1) for each row, (n,), float64.
        scores: the model's own, (n, v).
        settings: of drawing.

    Returns:
        The tokens, (n,), and the model's own log-probability of each, (n,), in nats.
    """
    if settings.greedy:
        tokens = allowed.argmax(dim=-1)
    else:
        tokens = _sampled(allowed.float() / settings.temperature, uniforms, settings)
    of_tokens = scores.float().gather(1, tokens.unsqueeze(1)).squeeze(1)
    return tokens, of_tokens - scores.float().logsumexp(dim=-1)


def _sampled(scores: Tensor, uniforms: Tensor, settings: DecodingSettings) -> Tensor:
    """Select tokens, (n,), at the random numbers' places in the cumulative probabilities.

    The sum runs in the order of ids: in the order of probabilities, rounding would swap tokens that are about
    equally likely.
    """
    if settings.top_k is None and settings.top_p is None:
        return _places(scores.softmax(dim=-1, dtype=torch.float64), uniforms).squeeze(1)
    k = min(settings.top_k or scores.size(-1), scores.size(-1))
    likeliest, ids = scores.topk(k, dim=-1)  # (n, k), likeliest first
    probabilities = likeliest.softmax(dim=-1, dtype=torch.float64)
    if settings.top_p is not None:
        before = probabilities.cumsum(dim=-1) - probabilities
        probabilities = probabilities.masked_fill(before >= settings.top_p, 0.0)
    ids, order = ids.sort(dim=-1)
    return ids.gather(1, _places(probabilities.gather(1, order), uniforms)).squeeze(1)


def _places(probabilities: Tensor, uniforms: Tensor) -> Tensor:
    """Find the place of each row's random number, (n, 1)."""
    upto = probabilities.cumsum(dim=-1)
    target = (uniforms * upto[:, -1]).unsqueeze(1)
    return torch.searchsorted(upto, target, right=True).clamp(max=upto.size(-1) - 1)


def uniform_numbers(seed: int, rows: int, longest: int) -> NDArray[np.float64]:
    """Draw the random numbers of one context, in [0, 1): (rows, longest)."""
    return np.random.Generator(np.random.Philox(seed % 2**64)).random((rows, longest))


def _generated(row: _Row, ends: frozenset[int]) -> Generated:
    words = row.tokens[:-1] if row.tokens[-1] in ends else row.tokens
    return Generated(tuple(words), len(row.tokens), row.log_likelihood)
