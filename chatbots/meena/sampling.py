"""Sample-and-rank: draw independent responses, return the likeliest.

Samples are drawn from the tempered distribution, softmax(scores / T), perhaps from its k likeliest tokens;
they are ranked by the model's own, untempered likelihood over the whole vocabulary. The paper calls it "the
candidate response with the highest probability" and reports log P of the model in its tables; ranking by the
tempered one would make scores of different temperatures incomparable.

Shapes: n live rows, v vocabulary, N samples per context, L tokens of the longest response.

Source: arXiv:2001.09977, section 3.4.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count, islice
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from chatbots.meena.acceleration import Recorded
from chatbots.meena.cache import to_device, to_host
from chatbots.meena.model import Meena
from chatbots.meena.samples import RankBy, Sample
from chatbots.meena.tokenizer import NEVER_WRITTEN, Tokenizer

BLOCK = 64
"""Number of tokens in a block of the search."""
ROWS = 40
"""Number of rows drawn together on the CPU, so that their probabilities stay in a core's cache."""
LOOKING = 4
"""Tokens after which Python waits for a GPU to see which samples have ended."""


@dataclass(frozen=True, kw_only=True)
class SamplingSettings:
    """Settings of drawing and ranking responses.

    Attributes:
        samples: N, at least 1.
        temperature: T, above 0; 1 leaves the model's distribution as it is.
        top_k: draw from this many likeliest tokens; None for all.
        rank_by: "per_token" for log P / tokens, as the paper's table 2; "total" for log P;
            "length_normalised" for log P / ((5 + tokens) / 6)^0.6 (Wu et al. 2016, arXiv:1609.08144, equation
            14); "mutual_information" for log P - 0.5 log P(response without context)
            (Li et al. 2016, arXiv:1510.03055).

    Raises:
        ValueError: a number out of its range.
    """

    samples: int = 20
    temperature: float = 0.88
    top_k: int | None = None
    rank_by: RankBy = "per_token"

    def __post_init__(self) -> None:
        if self.samples < 1 or self.temperature <= 0 or (self.top_k is not None and self.top_k < 1):
            raise ValueError(
                f"samples={self.samples} and top_k={self.top_k} must be at least 1, "
                f"and temperature={self.temperature} above 0."
            )


MEENA_BASE = SamplingSettings(samples=20, temperature=0.88)
MEENA_FULL = SamplingSettings(samples=20, temperature=1.0, top_k=40)


def draw(scores: Tensor, uniforms: Tensor, *, temperature: float, top_k: int | None) -> tuple[Tensor, Tensor]:
    """Draw one token per row by inverting the distribution function.

    Args:
        scores: before softmax, (n, v).
        uniforms: a random number in [0, 1) for each row, (n,), float64.
        temperature: T.
        top_k: draw from that many; None for all.

    Returns:
        The tokens, (n,), and the model's own log-probability of each, (n,), float32.
    """
    scores = scores.float()
    never = never_written(scores.device)
    writable = scores.index_fill(1, never, -torch.inf)
    most = writable.amax(dim=-1, keepdim=True)
    weights = writable.sub_(most).exp()
    log_total = (most.squeeze(1) + weights.sum(dim=-1).log()).logaddexp(scores[:, never].logsumexp(dim=-1))
    if top_k is not None:
        likeliest, tokens = writable.topk(min(top_k, writable.size(-1)), dim=-1)  # (n, k)
        place = invert((likeliest / temperature).softmax(dim=-1), uniforms)
        token = tokens.gather(1, place.unsqueeze(1))
    else:
        if temperature != 1:
            weights = writable.div_(temperature).exp_()
        token = invert(weights, uniforms).unsqueeze(1)
    return token.squeeze(1), scores.gather(1, token).squeeze(1) - log_total


@cache
def never_written(device: torch.device) -> Tensor:
    """Tokens that are never drawn, on that device: copied to it once."""
    with torch.inference_mode(False):
        return torch.tensor(NEVER_WRITTEN, device=device)


def invert(weights: Tensor, uniforms: Tensor) -> Tensor:
    """Find the first place where the cumulative weight exceeds the random number: (n, v), (n,) → (n,).

    Finds a block of tokens by the blocks' sums first, then a token inside it: a running sum over all tokens
    takes eight times as long.
    """
    padded = pad(weights, (0, size)) if (size := -weights.size(1) % BLOCK) else weights
    blocks = padded.view(len(padded), -1, BLOCK)  # (n, v / BLOCK, BLOCK)
    upto = pad(blocks.sum(dim=-1).cumsum(dim=-1, dtype=torch.float64), (1, 0))  # (n, 1 + v / BLOCK)
    target = uniforms.unsqueeze(1) * upto[:, -1:]
    block = torch.searchsorted(upto[:, 1:].contiguous(), target, right=True).clamp(max=blocks.size(1) - 1)
    before, after = upto.gather(1, block), upto.gather(1, block + 1)
    inside = blocks.gather(1, block.unsqueeze(2).expand(-1, 1, BLOCK)).squeeze(1)
    inside = inside.cumsum(dim=-1, dtype=torch.float64)  # (n, BLOCK)
    # in shares of the block: its float32 sum may differ from its running sum in the last digit
    target = (target - before) / (after - before) * inside[:, -1:]
    place = torch.searchsorted(inside, target, right=True).clamp(max=BLOCK - 1)
    return (block * BLOCK + place).squeeze(1).clamp(max=weights.size(1) - 1)


@dataclass
class _Open:
    """A context whose samples are being drawn."""

    key: int
    samples: dict[int, Sample] = field(default_factory=dict)


class SampleStream:
    """Samples of many contexts, drawn together: one token of each at every step.

    Contexts join whenever there is capacity, also while others are in progress; samples leave the batch when
    they end, and contexts when all their samples have ended. The random numbers of a context come from its
    own seed, so its samples do not depend on its neighbours, except for the rounding of matrix products of
    different sizes; those in bf16 have no such rounding (`chatbots.meena.acceleration`).

    Args:
        model: in evaluation mode.
        settings: of drawing.
        room: most contexts at once.
        steady: True to draw in the way best for a GPU: samples stay until all of their context have ended,
            and Python checks for that only every `LOOKING` tokens. The samples are the same. None: True on a
            GPU.
    """

    def __init__(
        self, model: Meena, settings: SamplingSettings, *, room: int = 8, steady: bool | None = None
    ) -> None:
        self.model, self.settings = model, settings
        self.device = model.embedding.weight.device
        self.longest = model.config.response_length
        self.steady = self.device.type == "cuda" if steady is None else steady
        self.state = model.new_state(contexts=room, samples=settings.samples, steady=self.steady)
        self._drawn = Drawn.nothing(self.device, self.longest)
        self._recorded = Recorded(self.device)
        self._unseen = 0
        self._open: dict[int, _Open] = {}
        self._keys = count()
        self._owner: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # key of each row's context

    @property
    def room(self) -> int:
        """Number of contexts that can join now."""
        return self.state.room - self.state.contexts

    @torch.inference_mode()
    def admit(self, contexts: Sequence[Sequence[int]], seeds: Sequence[int]) -> list[int]:
        """Let contexts join.

        Args:
            contexts: tokens of each, 1 to the model's `context_length`; at most `room` contexts.
            seeds: one per context; any integer.

        Returns:
            A key for each, under which `step` returns its samples.
        """
        keys = [next(self._keys) for _ in contexts]
        if not keys:
            return keys
        n = self.settings.samples
        self.model.admit(self.state, contexts)
        self._open |= {key: _Open(key) for key in keys}
        uniforms = np.concatenate([uniform_numbers(seed, n, self.longest) for seed in seeds])
        self._drawn = self._drawn.joined(len(self._owner), to_device(uniforms, self.device))
        self._owner = np.append(self._owner, np.repeat(keys, n))
        return keys

    @torch.inference_mode()
    def step(self) -> dict[int, list[Sample]]:
        """Draw one more token of every sample.

        Returns:
            Samples of finished contexts, by key, in the order of drawing.
        """
        if not len(self._owner):
            return {}
        shapes = *self.state.prepare(), len(self._drawn.ended)
        self._recorded.run(shapes, self._draw)
        self.state.advance()
        self._unseen += 1
        full = self.state.positions == self.longest
        if self._unseen < (LOOKING if self.steady else 1) and not full.any():
            return {}
        self._unseen = 0
        ended = to_host(self._drawn.ended[: len(full)]) | full
        if self.steady:
            whole = ended.reshape(-1, self.settings.samples).all(axis=1)
            ended = np.repeat(whole, self.settings.samples)
        return self._leave(ended) if ended.any() else {}

    @torch.inference_mode()
    def tokens_so_far(self) -> dict[int, list[int]]:
        """Tokens drawn so far for each context in progress, by key; empty unless N = 1."""
        if self.settings.samples > 1 or not len(self._owner):
            return {}
        tokens = to_host(self._drawn.tokens[: len(self._owner)])[:, 1:]
        rows = zip(self._owner, tokens, self.state.positions, strict=True)
        return {int(key): _until_end(drawn[: int(length)].tolist()) for key, drawn, length in rows}

    @torch.inference_mode()
    def cancel(self, keys: Collection[int]) -> None:
        """Stop drawing samples of these contexts, which are in progress."""
        for key in keys:
            del self._open[key]
        self._release(np.isin(self._owner, list(keys)))

    def _draw(self) -> None:
        """Draw and store a token of each row; idempotent."""
        rows, drawn = self.state.rows(), self._drawn
        n, at = rows.count, rows.positions.unsqueeze(1)
        last = drawn.tokens[:n].gather(1, at).squeeze(1)
        scores = self.model.score_next(last, self.state)
        uniforms = drawn.uniforms[:n].gather(1, at).squeeze(1)
        together = ROWS if self.device.type == "cpu" else n
        parts = [
            draw(some, of_them, temperature=self.settings.temperature, top_k=self.settings.top_k)
            for some, of_them in zip(
                torch.split(scores, together), torch.split(uniforms, together), strict=True
            )
        ]
        tokens, log_probabilities = (torch.cat(part) for part in zip(*parts, strict=True))
        drawn.tokens[:n].scatter_(1, at + 1, tokens.unsqueeze(1))
        drawn.log_probabilities[:n].scatter_(1, at, log_probabilities.unsqueeze(1))
        drawn.ended[:n].logical_or_(tokens == Tokenizer.end)

    def _leave(self, ended: NDArray[np.bool_]) -> dict[int, list[Sample]]:
        done: dict[int, list[Sample]] = {}
        rows = np.flatnonzero(ended)
        index = to_device(rows, self.device)
        all_tokens = to_host(self._drawn.tokens[index])[:, 1:]
        all_log_probabilities = to_host(self._drawn.log_probabilities[index]).astype(np.float64)
        for row, tokens, of_them in zip(rows, all_tokens, all_log_probabilities, strict=True):
            entry = self._open[int(self._owner[row])]
            length = int(self.state.positions[row])  # already counts the last token
            if Tokenizer.end in (generated := tokens[:length].tolist()):
                length = generated.index(Tokenizer.end) + 1
            sample = Sample(tuple(generated[:length]), float(of_them[:length].sum()))
            entry.samples[int(self.state.sample_of[row])] = sample
            if len(entry.samples) == self.settings.samples:
                done[entry.key] = [entry.samples[index] for index in range(self.settings.samples)]
                del self._open[entry.key]
        self._release(ended)
        return done

    def _release(self, leaving: NDArray[np.bool_]) -> None:
        order = self.state.release_rows(leaving)
        self._owner = self._owner[order]
        self._drawn.keep(order)


def _until_end(tokens: list[int]) -> list[int]:
    return tokens[: tokens.index(Tokenizer.end)] if Tokenizer.end in tokens else tokens


class Drawn(NamedTuple):
    """The drawn tokens, on the device that draws; rows beyond the live ones are spare.

    Attributes:
        tokens: of each row behind the start token, (rows, 1 + L).
        log_probabilities: the model's own, of each token, (rows, L).
        uniforms: the random number of each token, (rows, L).
        ended: True once the end has been drawn, (rows,); later tokens are ignored.
    """

    tokens: Tensor
    log_probabilities: Tensor
    uniforms: Tensor
    ended: Tensor

    @classmethod
    def nothing(cls, device: torch.device, longest: int, rows: int = 0) -> Drawn:
        """Allocate memory for this many rows."""
        return cls(
            torch.full((rows, 1 + longest), Tokenizer.start, device=device),
            torch.zeros(rows, longest, device=device),
            torch.zeros(rows, longest, dtype=torch.float64, device=device),
            torch.zeros(rows, dtype=torch.bool, device=device),
        )

    def joined(self, count: int, uniforms: Tensor) -> Drawn:
        """Add rows with these random numbers after the first `count`; doubles the memory if needed."""
        needed, there, drawn = count + len(uniforms), len(self.ended), self
        if needed > there:
            drawn = Drawn.nothing(uniforms.device, uniforms.size(1), max(needed, 2 * there))
            for new, old in zip(drawn, self, strict=True):
                new[:there] = old
        drawn.tokens[count:needed] = Tokenizer.start
        drawn.uniforms[count:needed] = uniforms
        drawn.ended[count:needed] = False
        return drawn

    def keep(self, order: NDArray[np.int64]) -> None:
        """Make row i continue the row `order[i]`."""
        moved = np.flatnonzero(order != np.arange(len(order)))
        if len(moved):
            source, target = (to_device(rows, self.ended.device) for rows in (order[moved], moved))
            for held in self:
                held[target] = held[source]


def uniform_numbers(seed: int, samples: int, longest: int) -> NDArray[np.float64]:
    """Random numbers of one context in [0, 1), one for each token of each sample: (N, L)."""
    return np.random.Generator(np.random.Philox(seed % 2**64)).random((samples, longest))


def sample_all(
    model: Meena,
    contexts: Sequence[Sequence[int]],
    seeds: Sequence[int],
    settings: SamplingSettings,
    *,
    room: int = 8,
) -> list[list[Sample]]:
    """Draw samples for any number of contexts, `room` at a time, the next joining as soon as one is done.

    Returns:
        Samples of each context in the order of drawing.
    """
    stream = SampleStream(model, settings, room=min(room, len(contexts)) or 1)
    waiting: Iterator[int] = iter(range(len(contexts)))
    index_of: dict[int, int] = {}
    samples: dict[int, list[Sample]] = {}
    while len(samples) < len(contexts):
        joining = list(islice(waiting, stream.room))
        keys = stream.admit([contexts[i] for i in joining], [seeds[i] for i in joining])
        index_of |= dict(zip(keys, joining, strict=True))
        samples |= {index_of[key]: done for key, done in stream.step().items()}
    return [samples[index] for index in range(len(contexts))]
