"""The Transformer that reads a history, and perhaps a sentence of knowledge, and writes the next turn.

One encoder reads the history and the sentence separately, each from position 0; its outputs are joined along
time for the decoder. The blocks are PyTorch's, as in Vaswani et al. 2017 (arXiv:1706.03762): normalised after
each sub-block, ReLU, sinusoidal positions, embeddings times the root of their width. Encoder, decoder and
scores share one table of words. A model without knowledge has the same weights and reads the history alone.
On disk it has the files of `chatbots.training.checkpoint`, with `vocabulary.json`.

Shapes: n contexts, s words of the history, k of the sentence, t of the response, d width, v vocabulary.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from chatbots.knowledge.batching import Batch
from chatbots.knowledge.config import TopicalChatConfig
from chatbots.training.checkpoint import WordModelFiles
from chatbots.training.vocabulary import PADDING


class TopicalChatModel(nn.Module):
    """A Transformer of that shape, with random weights.

    Args:
        config: its shape.
    """

    def __init__(self, config: TopicalChatConfig) -> None:
        super().__init__()
        self.config = c = config
        shape = (c.hidden_size, c.heads, c.feed_forward, c.dropout)
        self.embedding = nn.Embedding(c.vocabulary_size, c.hidden_size)
        nn.init.normal_(self.embedding.weight, std=c.hidden_size**-0.5)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(*shape, batch_first=True), c.blocks, enable_nested_tensor=False
        )
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(*shape, batch_first=True), c.blocks)
        self.dropout = nn.Dropout(c.dropout)
        # PyTorch initialises all blocks of a stack as copies of one.
        for weight in (*self.encoder.parameters(), *self.decoder.parameters()):
            if weight.dim() > 1:
                nn.init.xavier_uniform_(weight)

    def forward(self, batch: Batch) -> Tensor:
        """Scores of the next word at every position of the responses, before softmax, (n, t, v)."""
        memory, hidden = self.read(batch.histories, batch.knowledge)
        return self.scores(self.write(batch.inputs, memory, hidden))

    def read(self, histories: Tensor, knowledge: Tensor | None) -> tuple[Tensor, Tensor]:
        """Encode the decoder's memory.

        Args:
            histories: words, padded on the right, (n, s).
            knowledge: words, padded on the right, (n, k); a row of only padding means no sentence.

        Returns:
            Encodings, (n, s) or (n, s + k) vectors, and a mask of the padding among them.
        """
        hidden = histories == PADDING
        memory = self.encoder(self._embedded(histories), src_key_padding_mask=hidden)
        if not self.config.knowledge or knowledge is None:
            return memory, hidden
        absent = knowledge == PADDING
        # Attention over nothing is NaN: an absent sentence is read as one padding and then masked.
        seen = absent.clone()
        seen[:, 0] = False
        sentence = self.encoder(self._embedded(knowledge), src_key_padding_mask=seen)
        return torch.cat([memory, sentence], dim=1), torch.cat([hidden, absent], dim=1)

    def write(self, words: Tensor, memory: Tensor, hidden: Tensor) -> Tensor:
        """The decoder's vectors, (n, t, d), after words (n, t), given the result of `read`."""
        future = torch.ones(words.size(1), words.size(1), dtype=torch.bool, device=words.device).triu(1)
        states: Tensor = self.decoder(
            self._embedded(words), memory, tgt_mask=future, memory_key_padding_mask=hidden
        )
        return states

    def scores(self, vectors: Tensor) -> Tensor:
        """Scores of words, (…, v), by the table of embeddings."""
        return vectors @ self.embedding.weight.T

    def _embedded(self, words: Tensor) -> Tensor:
        """Embed words: (n, t) → (n, t, d)."""
        d = self.config.hidden_size
        values: Tensor = self.embedding(words) * math.sqrt(d)
        dropped: Tensor = self.dropout(values + positions(words.size(1), d).to(values))
        return dropped


def positions(length: int, width: int) -> Tensor:
    """Sinusoids of each position, (length, width): sine in even places, cosine in odd ones."""
    place = torch.arange(length).unsqueeze(1)
    speed = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    return torch.stack([torch.sin(place * speed), torch.cos(place * speed)], dim=2).flatten(1)


def count_parameters(config: TopicalChatConfig) -> dict[str, int]:
    """Count the parameters by part, without allocating them."""
    with torch.device("meta"):
        model = TopicalChatModel(config)
    parts = {
        name: sum(parameter.numel() for parameter in part.parameters())
        for name, part in model.named_children()
    }
    return {name: count for name, count in parts.items() if count} | {"total": sum(parts.values())}


FILES = WordModelFiles(TopicalChatConfig, TopicalChatModel, "model of Topical-Chat")
load_checkpoint, read_config = FILES.load, FILES.read_config
