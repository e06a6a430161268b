"""The hyperparameters of a Transformer with or without knowledge, and the named presets."""

from __future__ import annotations

from dataclasses import dataclass, fields

from chatbots.training.settings import WordModelConfig, named


@dataclass(frozen=True, kw_only=True)
class TopicalChatConfig(WordModelConfig):
    """The shape of a model, and the share dropped in training.

    Attributes:
        knowledge: True if the model reads a sentence of the speaker's material.
        vocabulary_size: words v, the four special ones included.
        hidden_size: width d of embeddings and of every block's input and output.
        heads: attention heads; must divide d.
        blocks: number of blocks of the encoder, and of the decoder.
        feed_forward: hidden units between two blocks' attention.
        history: W_H, newest words of the history that are read.
        knowledge_length: W_K, first words of the sentence that are read.
        response_length: most words that are written, the end included.
        dropout: share of activations dropped in training.

    Raises:
        ValueError: a size below 1, a width that is odd or that heads do not divide, or a dropout outside
            [0, 1).
    """

    knowledge: bool = True
    vocabulary_size: int = 49_957
    hidden_size: int = 300
    heads: int = 2
    blocks: int = 2
    feed_forward: int = 300
    history: int = 32
    knowledge_length: int = 128
    response_length: int = 64
    dropout: float = 0.2

    def __post_init__(self) -> None:
        least = {"vocabulary_size": 5, "response_length": 2}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "int" and value < least.get(field.name, 1):
                raise ValueError(f"{field.name}={value} must be at least {least.get(field.name, 1)}.")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout={self.dropout} must be at least 0 and below 1.")
        if self.hidden_size % 2 or self.hidden_size % self.heads:
            raise ValueError(
                f"hidden_size={self.hidden_size} must be even, and a multiple of heads={self.heads}."
            )


PRESETS: dict[str, TopicalChatConfig] = {
    "tf": TopicalChatConfig(knowledge=False),
    "tf-knowledge": TopicalChatConfig(),
    "small": TopicalChatConfig(knowledge=False, hidden_size=64, feed_forward=64, dropout=0.1),
    "small-knowledge": TopicalChatConfig(hidden_size=64, feed_forward=64, dropout=0.1),
    "tiny": TopicalChatConfig(knowledge=False, hidden_size=16, feed_forward=16, dropout=0.0),
    "tiny-knowledge": TopicalChatConfig(hidden_size=16, feed_forward=16, dropout=0.0),
}
"""The two models of the paper, smaller ones for one thread of a CPU, and tiny ones for tests."""


def preset(name: str) -> TopicalChatConfig:
    """Return the configuration of that name.

    Raises:
        ValueError: no such preset; the message lists them.
    """
    return named(PRESETS, name)
