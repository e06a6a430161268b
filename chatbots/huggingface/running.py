"""A batch of rows in a model: rows join, advance token by token, and leave when they are done.

Rows are padded and masked as far as the longest of them needs: decoded tokens on the left, an encoder's input
on the right.

Shapes: n rows being decoded, t tokens so far, s tokens that an encoder has read, v vocabulary.

Rows of an encoder-decoder model may have been decoded for different numbers of steps, but its decoder counts
positions by the length of its cache, one count for all rows. Two kinds of models allow positions per row.
Those like BART (BlenderBot, Marian, mBART, Pegasus) look positions up in a table, `embed_positions`, which
can be called with each row's position. Those like T5 use only the distance between two tokens, which padding
on the left does not change.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer


def has_positions_of_rows(model: Any) -> bool:
    """True if each row of the decoder can have its own position."""
    return _table(model) is not None or _counts_distances(model)


@contextmanager
def positions_of_rows(model: Any, positions: Tensor) -> Iterator[None]:
    """Decode one token of each row at the row's own position.

    Args:
        model: with an encoder. If it is of neither kind, all positions must be the same.
        positions: number of tokens that each row's decoder has read, (n,).
    """
    table = _table(model)
    if table is None:
        yield
        return

    def ask(_table: Any, inputs: Any, named: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return inputs, {**named, "position_ids": positions}  # like one row of n tokens

    def answer(_table: Any, _given: Any, output: Tensor) -> Tensor:
        return output.reshape(len(positions), 1, -1)  # n rows of one token

    hooks = table.register_forward_pre_hook(ask, with_kwargs=True), table.register_forward_hook(answer)
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _table(model: Any) -> Any:
    """The decoder's table of positions if it accepts given positions; else None."""
    table = getattr(model.get_decoder(), "embed_positions", None)
    if table is None or "position_ids" not in inspect.signature(table.forward).parameters:
        return None
    return table


def _counts_distances(model: Any) -> bool:
    return hasattr(model.config.get_text_config(), "relative_attention_num_buckets")


class Running(ABC):
    """A batch in a model that computes the scores of the next token of each row.

    Attributes:
        scores: before softmax, (n, v).
    """

    scores: Tensor

    @property
    def joinable(self) -> bool:
        """True if `join` is possible."""
        return False

    def join(self, newcomers: Self) -> None:
        """Add the rows of another batch of the same model after these; that batch must not be used again.

        Raises:
            NotImplementedError: this batch is not `joinable`.
        """
        raise NotImplementedError(f"{type(self).__name__} takes nobody in. Wait until it is done.")

    @abstractmethod
    def keep(self, rows: Tensor) -> None:
        """Keep these rows, (n) indices; all others leave."""

    @abstractmethod
    def advance(self, tokens: Tensor) -> None:
        """Append a token to each row, (n,), and compute the next scores."""


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

    @property
    def joinable(self) -> bool:
        """True if the cache has one place per token: attention has, a recurrent state has not."""
        layers = getattr(self._cache, "layers", [None])
        return all(type(layer) in (DynamicLayer, DynamicSlidingWindowLayer) for layer in layers)

    def join(self, newcomers: Self) -> None:
        """See the base class."""
        longest = max(self._mask.shape[1], newcomers._mask.shape[1])
        self._fit(longest)
        newcomers._fit(longest)
        for mine, other in zip(self._cache.layers, newcomers._cache.layers, strict=True):
            if mine.is_initialized:
                mine.keys = torch.cat([mine.keys, other.keys])
                mine.values = torch.cat([mine.values, other.values])
        self._mask = torch.cat([self._mask, newcomers._mask])
        self.scores = torch.cat([self.scores, newcomers.scores])

    def keep(self, rows: Tensor) -> None:
        """See the base class; padding that only leaving rows needed is removed."""
        self._cache.batch_select_indices(rows)
        self._mask = self._mask[rows]
        if self.joinable:
            self._fit(int(self._mask.sum(dim=1).max()))

    def advance(self, tokens: Tensor) -> None:
        """See the base class."""
        positions = self._mask.sum(dim=1, keepdim=True)  # (n, 1)
        self._mask = torch.cat([self._mask, torch.ones_like(positions)], dim=1)
        self._compute(tokens.unsqueeze(1), positions)

    def _fit(self, length: int) -> None:
        """Pad or cut each row on the left to this length."""
        more = length - self._mask.shape[1]
        if not more:
            return
        self._mask = pad(self._mask, (more, 0))
        for layer in self._cache.layers:
            if layer.is_initialized:
                _fit_layer(layer, length)

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
        self._encoder_mask = (torch.arange(longest, device=device) < lengths.unsqueeze(1)).long()  # (n, s)
        self._decoded_mask = self._encoder_mask.new_zeros(len(prompts), 0)  # (n, t)
        self._encoded = model.get_encoder()(
            input_ids=ids, attention_mask=self._encoder_mask, return_dict=True
        )
        self._cache: Any = None
        start = model.generation_config.decoder_start_token_id
        if start is None:
            start = model.config.decoder_start_token_id
        self.advance(torch.full((len(prompts),), start, device=device))

    @property
    def joinable(self) -> bool:
        """True if each row can have its own position, and the cache has one place per token."""
        if not has_positions_of_rows(self._model):
            return False
        return all(type(layer) is DynamicLayer for layer in (*self._decoder_layers, *self._encoder_layers))

    def join(self, newcomers: Self) -> None:
        """See the base class."""
        decoded, encoded = (
            max(mine.shape[1], other.shape[1])
            for mine, other in (
                (self._decoded_mask, newcomers._decoded_mask),
                (self._encoder_mask, newcomers._encoder_mask),
            )
        )
        self._fit(decoded, encoded)
        newcomers._fit(decoded, encoded)
        layers = zip(
            (*self._decoder_layers, *self._encoder_layers),
            (*newcomers._decoder_layers, *newcomers._encoder_layers),
            strict=True,
        )
        for mine, other in layers:
            mine.keys = torch.cat([mine.keys, other.keys])
            mine.values = torch.cat([mine.values, other.values])
        self._decoded_mask = torch.cat([self._decoded_mask, newcomers._decoded_mask])
        self._encoder_mask = torch.cat([self._encoder_mask, newcomers._encoder_mask])
        self._set_encoded(torch.cat([self._encoded.last_hidden_state, newcomers._encoded.last_hidden_state]))
        self.scores = torch.cat([self.scores, newcomers.scores])

    def keep(self, rows: Tensor) -> None:
        """See the base class; padding that only leaving rows needed is removed."""
        self._cache.batch_select_indices(rows)
        self._decoded_mask, self._encoder_mask = self._decoded_mask[rows], self._encoder_mask[rows]
        self._set_encoded(self._encoded.last_hidden_state[rows])
        if self.joinable:
            self._fit(int(self._decoded_mask.sum(dim=1).max()), int(self._encoder_mask.sum(dim=1).max()))

    def advance(self, tokens: Tensor) -> None:
        """See the base class."""
        places = self._decoded_mask.sum(dim=1)
        self._decoded_mask = torch.cat([self._decoded_mask, torch.ones_like(places).unsqueeze(1)], dim=1)
        extra = {"decoder_attention_mask": self._decoded_mask} if has_positions_of_rows(self._model) else {}
        with positions_of_rows(self._model, places):
            output = self._model(
                encoder_outputs=self._encoded,
                attention_mask=self._encoder_mask,
                decoder_input_ids=tokens.unsqueeze(1),
                past_key_values=self._cache,
                use_cache=True,
                **extra,
            )
        self._cache, self.scores = output.past_key_values, output.logits[:, -1]

    @property
    def _decoder_layers(self) -> Sequence[Any]:
        """Keys and values of the decoder's tokens, (n, heads, t, width)."""
        return tuple(self._cache.self_attention_cache.layers)

    @property
    def _encoder_layers(self) -> Sequence[Any]:
        """Keys and values of the encoder's tokens, (n, heads, s, width)."""
        return tuple(self._cache.cross_attention_cache.layers)

    def _set_encoded(self, states: Tensor) -> None:
        self._encoded.last_hidden_state = states

    def _fit(self, decoded: int, encoded: int) -> None:
        """Pad or cut the decoder's side on the left and the encoder's on the right to these lengths."""
        if more := decoded - self._decoded_mask.shape[1]:
            self._decoded_mask = pad(self._decoded_mask, (more, 0))
            for layer in self._decoder_layers:
                _fit_layer(layer, decoded)
        if more := encoded - self._encoder_mask.shape[1]:
            self._encoder_mask = pad(self._encoder_mask, (0, more))
            self._set_encoded(pad(self._encoded.last_hidden_state, (0, 0, 0, more)))
            for layer in self._encoder_layers:
                layer.keys = pad(layer.keys, (0, 0, 0, more))
                layer.values = pad(layer.values, (0, 0, 0, more))


def _fit_layer(layer: DynamicLayer, length: int) -> None:
    """Pad or cut the keys and values, (n, heads, t, width), on the left."""
    if isinstance(layer, DynamicSlidingWindowLayer):
        layer.cumulative_length = length
        length = min(length, layer.sliding_window - 1)
    assert layer.keys is not None  # every used layer has keys
    assert layer.values is not None
    more = length - layer.keys.shape[-2]
    layer.keys, layer.values = pad(layer.keys, (0, 0, more, 0)), pad(layer.values, (0, 0, more, 0))
