"""Meena: a sequence-to-sequence model of responses given contexts, and its files on disk.

A checkpoint has the files of `chatbots.training.checkpoint`, with `tokenizer.model`.

Shapes: n sequences, c contexts, s context positions, t response positions, d hidden size, v vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from chatbots.meena.blocks import (
    EvolvedDecoderBlock,
    EvolvedEncoderBlock,
    VanillaDecoderBlock,
    VanillaEncoderBlock,
)
from chatbots.meena.cache import DecoderBlock, DecoderState
from chatbots.meena.config import MeenaConfig
from chatbots.meena.decoding_state import Room, whole_spans
from chatbots.meena.layers import Norm
from chatbots.meena.tokenizer import Tokenizer
from chatbots.training.checkpoint import (
    CheckpointError,
    Training,
    load_weights,
    read_config_of,
    write_checkpoint,
)

PADDING = 0
"""Fills contexts and responses to the longest of their batch; the tokenizer reserves it."""


class Encoded(NamedTuple):
    """The encoded contexts that the decoder reads.

    Attributes:
        states: the encoder's output, (c, s, d).
        is_real: False at padding, (c, s).
    """

    states: Tensor
    is_real: Tensor


def sinusoids(length: int, hidden_size: int) -> Tensor:
    """Position signals: sines in the lower half of the channels, cosines in the upper.

    Wavelengths grow geometrically from 2π to 2π · 10,000 positions, as in Tensor2Tensor.

    Args:
        length: positions t.
        hidden_size: d, even.

    Returns:
        (t, d), each value in [-1, 1].
    """
    half = hidden_size // 2
    rates = torch.exp(torch.arange(half) * (-math.log(10_000.0) / max(half - 1, 1)))
    angles = torch.arange(length).unsqueeze(1) * rates  # (t, d / 2)
    return torch.cat([angles.sin(), angles.cos()], dim=1)


class SharedEmbedding(nn.Embedding):
    """Vectors of the tokens, which are also the softmax's weight."""

    def scores(self, states: Tensor) -> Tensor:
        """Scores before softmax: (…, d) → (…, v)."""
        return states @ self.weight.t()


class Meena(nn.Module):
    """Encoder and decoder around one embedding, which is also the softmax's weight.

    Args:
        config: type, number and width of the blocks.

    Attributes:
        recompute: True if training stores only the blocks' inputs and recomputes the rest in the backward
            pass.

    Source: Adiwardana et al. 2020, arXiv:2001.09977, section 3.2.
    """

    positions: Tensor

    def __init__(self, config: MeenaConfig) -> None:
        super().__init__()
        self.config = config
        self.recompute = False
        evolved = config.architecture == "evolved"
        encoder_block = EvolvedEncoderBlock if evolved else VanillaEncoderBlock
        decoder_block = EvolvedDecoderBlock if evolved else VanillaDecoderBlock
        self.embedding = SharedEmbedding(config.vocabulary_size, config.hidden_size)
        self.encoder = nn.ModuleList(encoder_block(config) for _ in range(config.encoder_blocks))
        self.encoder_norm = Norm(config.hidden_size)
        self.decoder = nn.ModuleList(decoder_block(config) for _ in range(config.decoder_blocks))
        self.decoder_norm = Norm(config.hidden_size)
        self.register_buffer("positions", torch.empty(0), persistent=False)
        self.reset_positions()
        self.apply(initialise)

    def forward(self, contexts: Tensor, inputs: Tensor) -> Tensor:
        """Score every next token of given responses.

        Args:
            contexts: tokens padded on the right, at least one real token each, (n, s).
            inputs: the response moved right by one behind the start token, padded on the right, (n, t).

        Returns:
            Scores before softmax of the token that follows each input, (n, t, v).
        """
        return self.scores(self.decode(self.encode(contexts), inputs))

    def reset_positions(self) -> None:
        """Compute the position signals, which are no weights; needed after building on the meta device."""
        length = whole_spans(max(self.config.context_length, self.config.response_length))
        self.positions = sinusoids(length, self.config.hidden_size)

    def encode(self, contexts: Tensor) -> Encoded:
        """Read contexts: tokens padded on the right, (c, s) → their states and mask."""
        is_real = contexts != PADDING
        x = self._embed(contexts, self.positions[: contexts.size(1)])
        for block in self.encoder:
            x = self._through(block, x, is_real)
        return Encoded(self.encoder_norm(x), is_real)

    def decode(self, encoded: Encoded, inputs: Tensor) -> Tensor:
        """Hidden states of whole responses from the contexts' states and inputs: (n, t) → (n, t, d)."""
        x = self._embed(inputs, self.positions[: inputs.size(1)])
        for block in self.decoder:
            x = self._through(block, x, encoded.states, encoded.is_real)
        states: Tensor = self.decoder_norm(x)
        return states

    def scores(self, states: Tensor) -> Tensor:
        """Scores before softmax, by the shared embedding: (…, d) → (…, v)."""
        return self.embedding.scores(states)

    def new_state(self, *, contexts: int, samples: int, steady: bool = False) -> DecoderState:
        """Create an empty decoding batch for at most `contexts` contexts of `samples` rows each."""
        return DecoderState(
            self._steppable(),
            contexts=contexts,
            samples=samples,
            like=self.embedding.weight,
            steady=steady,
        )

    def admit(self, state: DecoderState, contexts: Sequence[Sequence[int]]) -> None:
        """Encode contexts and let each join the decoding batch.

        Each context is encoded alone, so that its result does not depend on the others' lengths. In a steady
        batch, which is for a GPU, contexts are encoded together: a GPU takes as long for one as for many.

        Args:
            state: the decoding batch, with capacity for them.
            contexts: tokens of each, 1 to `context_length` of them.
        """
        groups = [contexts] if state.steady else [[context] for context in contexts]
        for group in groups if contexts else []:
            padded = pad_tokens(group, whole_spans(max(map(len, group))))
            encoded = self.encode(padded.to(self.embedding.weight.device))
            memories = [block.memory(encoded.states) for block in self._steppable()]
            state.admit(memories, [len(context) for context in group])

    def step(self, tokens: Tensor, state: DecoderState) -> Tensor:
        """Score the next token of every live row; equal to that position of `forward`.

        Args:
            tokens: the last token of each row (the start token at position 0), (n,).
            state: the decoding batch; advanced by one position.

        Returns:
            Scores before softmax, (n, v).
        """
        scores = self.score_next(tokens, state)
        state.advance()
        return scores

    def score_next(self, tokens: Tensor, state: DecoderState) -> Tensor:
        """Compute the result of `step` without advancing the batch; repeated calls give the same result."""
        rows = state.rows()
        x = self._embed(tokens, self.positions[rows.positions])
        for block, block_state in zip(self._steppable(), state.blocks, strict=True):
            x = block.step(x, block_state, rows)
        return self.scores(self.decoder_norm(x))

    def _through(self, block: nn.Module, *inputs: Tensor) -> Tensor:
        if self.recompute and torch.is_grad_enabled():
            return cast("Tensor", checkpoint(block, *inputs, use_reentrant=False))
        return cast("Tensor", block(*inputs))

    def _steppable(self) -> Sequence[DecoderBlock]:
        return cast("Sequence[DecoderBlock]", self.decoder)

    def _embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """Embeddings times √d plus position signals: (…) → (…, d)."""
        scaled = self.embedding(tokens) * self.config.hidden_size**0.5
        embedded: Tensor = scaled + positions.to(scaled.dtype)
        return embedded


def pad_tokens(sequences: Sequence[Sequence[int]], length: int = 0) -> Tensor:
    """Pad on the right to the longest, or to `length` if that is more: n lists → (n, length)."""
    length = max(length, *(len(sequence) for sequence in sequences))
    return torch.tensor([[*sequence, *[PADDING] * (length - len(sequence))] for sequence in sequences])


def initialise(module: nn.Module) -> None:
    """Initialise one layer: dense weights uniform by fan-in and fan-out, embeddings of variance 1/d."""
    if isinstance(module, nn.Linear | nn.Conv1d):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)


def count_parameters(config: MeenaConfig) -> dict[str, int]:
    """Count parameters by part, without memory for them.

    Returns:
        `embedding`, `encoder` and `decoder` (their final norms included), `encoder_block`, `decoder_block`
        (one block each) and `total`.
    """
    with torch.device("meta"):
        model = Meena(config)
    size = {
        "embedding": _size(model.embedding),
        "encoder": _size(model.encoder) + _size(model.encoder_norm),
        "decoder": _size(model.decoder) + _size(model.decoder_norm),
    }
    blocks = {"encoder_block": _size(model.encoder[0]), "decoder_block": _size(model.decoder[0])}
    return size | blocks | {"total": sum(size.values())}


def decoding_bytes(config: MeenaConfig, *, contexts: int, samples: int) -> int:
    """Estimate a decoding batch's memory in float32 with contexts and responses of full length.

    Args:
        config: the model's shape; weights are not counted.
        contexts: at once.
        samples: samples of each context, N.

    Returns:
        Bytes, computed without allocating them.
    """
    positions, context_positions = whole_spans(config.response_length), whole_spans(config.context_length)
    with torch.device("meta"):
        block = cast("DecoderBlock", Meena(replace(config, decoder_blocks=1)).decoder[0])
        state = block.new_state(Room(contexts * samples, positions, contexts, context_positions))
    return config.decoder_blocks * sum(4 * held.numel() for held in state.tensors())


def _size(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def save_checkpoint(
    folder: Path,
    *,
    config: MeenaConfig,
    weights: Mapping[str, Tensor],
    tokenizer: Tokenizer,
    training: Training | None = None,
) -> None:
    """Write a checkpoint so that it is complete or absent; an older one of that name stays until then.

    Args:
        folder: folder of the new checkpoint.
        config: shape of the model.
        weights: its parameters by name.
        tokenizer: tokenizer of its training.
        training: tensors and plain values needed to resume.

    Raises:
        OSError: for instance, the disk is full; no partial files remain.
    """
    words = {"tokenizer.model": tokenizer.model}
    write_checkpoint(folder, config=config, weights=weights, words=words, training=training)


def load_checkpoint(
    folder: Path, *, device: torch.device | None = None, dtype: torch.dtype = torch.float32
) -> tuple[Meena, Tokenizer]:
    """Read a model for use: in evaluation mode, with its tokenizer.

    Args:
        folder: written by `save_checkpoint`.
        device: device of the model; default: the CPU.
        dtype: type of the weights in memory.

    Raises:
        CheckpointError: files are missing, or configuration, weights and tokenizer do not fit together.
    """
    config = read_config(folder)
    tokenizer = read_tokenizer(folder, config)
    with torch.device("meta"):
        model = Meena(config)
    load_weights(model, folder, dtype)
    model.reset_positions()
    return model.to(device or torch.device("cpu")).eval().requires_grad_(False), tokenizer


def read_config(folder: Path) -> MeenaConfig:
    """Read the shape of the model in that folder.

    Raises:
        CheckpointError: there is no model, or its configuration cannot be read.
    """
    return read_config_of(MeenaConfig, folder, "Meena")


def read_tokenizer(folder: Path, config: MeenaConfig) -> Tokenizer:
    """Read the tokenizer in that folder.

    Raises:
        CheckpointError: there is no tokenizer, it cannot be read, or it has another number of tokens than the
            model.
    """
    try:
        tokenizer = Tokenizer.load(folder / "tokenizer.model")
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder} has no usable tokenizer.model: {error}") from error
    if len(tokenizer) != config.vocabulary_size:
        raise CheckpointError(
            f"{folder} has a vocabulary of {config.vocabulary_size} tokens, but its tokenizer has "
            f"{len(tokenizer)}. Put the tokenizer.model of its corpus beside the weights, or train again."
        )
    return tokenizer
