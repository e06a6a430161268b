"""The hyperparameters of a Meena, and the named presets."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from chatbots.training.settings import ModelConfig, named

Architecture = Literal["evolved", "vanilla"]


@dataclass(frozen=True, kw_only=True)
class MeenaConfig(ModelConfig):
    """The shape of a model; letters as in the other modules' comments.

    Attributes:
        architecture: "evolved" for Evolved Transformer blocks, "vanilla" for the Transformer of 2017.
        hidden_size: width d of every block's input and output.
        heads: attention heads h; must divide d.
        encoder_blocks: blocks that read the context.
        decoder_blocks: blocks that write the response.
        vocabulary_size: tokens v of the shared embedding and softmax.
        context_length: most tokens s that the encoder reads.
        response_length: most tokens t that the decoder writes, the end of the response included.
        dropout: share of activations dropped in training, on attention weights, in feed-forward layers and on
            what each sub-block adds.

    Raises:
        ValueError: a size below 1, a d that heads do not divide or that is odd, or a dropout outside [0, 1).
    """

    architecture: Architecture = "evolved"
    hidden_size: int = 256
    heads: int = 4
    encoder_blocks: int = 1
    decoder_blocks: int = 4
    vocabulary_size: int = 8192
    context_length: int = 128
    response_length: int = 128
    dropout: float = 0.1

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "int" and value < 1:
                raise ValueError(f"{field.name}={value} must be at least 1.")
        if self.architecture not in ("evolved", "vanilla"):
            raise ValueError(f"architecture={self.architecture!r} is unknown. Use 'evolved' or 'vanilla'.")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout={self.dropout} must be in [0, 1).")
        for heads in (2, self.heads, self.wide_heads):
            if self.hidden_size % heads:
                raise ValueError(
                    f"hidden_size={self.hidden_size} is not a multiple of {heads}. It must be even, and "
                    f"divisible by heads={self.heads} and by the decoder's {self.wide_heads} wide heads."
                )

    @property
    def wide_heads(self) -> int:
        """Heads of the first self-attention of a decoder block: max(16, h) in the Evolved Transformer."""
        return max(16, self.heads) if self.architecture == "evolved" else self.heads


PRESETS: dict[str, MeenaConfig] = {
    "meena-2.6b": MeenaConfig(hidden_size=2560, heads=32, decoder_blocks=13),
    "vanilla-32": MeenaConfig(architecture="vanilla", hidden_size=2560, heads=32, decoder_blocks=32),
    "small": MeenaConfig(hidden_size=256, heads=4, decoder_blocks=4),
    "small-vanilla": MeenaConfig(architecture="vanilla", hidden_size=256, heads=4, decoder_blocks=8),
    "tiny": MeenaConfig(hidden_size=64, heads=2, decoder_blocks=2, vocabulary_size=512),
    "tiny-vanilla": MeenaConfig(
        architecture="vanilla", hidden_size=64, heads=2, decoder_blocks=4, vocabulary_size=512
    ),
}


def preset(name: str) -> MeenaConfig:
    """Return the preset of that name.

    Raises:
        ValueError: no such preset; the message lists them.
    """
    return named(PRESETS, name)
