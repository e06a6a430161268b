"""Text to tokens and back: byte-pair encoding by sentencepiece, plus the tokens that shape a conversation."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import sentencepiece

TURN = "<turn>"
"""Ends every turn of a context."""
NEVER_WRITTEN = (0, 1, 2, 4)
"""Padding, unknown, start and turn end: tokens that no response contains."""


class Fit(NamedTuple):
    """A context cut to length.

    Attributes:
        tokens: for the encoder.
        dropped: number of oldest turns left out.
    """

    tokens: list[int]
    dropped: int


class Tokenizer:
    """A trained sentencepiece model.

    Args:
        model: the serialised model.

    Raises:
        ValueError: the bytes are no sentencepiece model, or it was not trained by `train`.
    """

    padding, unknown, start, end, turn = range(5)

    def __init__(self, model: bytes) -> None:
        self.model = model
        try:
            self._pieces: Any = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise ValueError(
                "These bytes are not a sentencepiece model. Pass the tokenizer.model of a corpus."
            ) from error
        special = [self._pieces.pad_id(), self._pieces.unk_id(), self._pieces.bos_id(), self._pieces.eos_id()]
        special.append(self._pieces.piece_to_id(TURN))
        if special != [0, 1, 2, 3, 4]:
            raise ValueError(
                f"The tokenizer has padding, unknown, start, end and {TURN} at {special} instead of 0 to 4. "
                "Train one with 'python -m chatbots meena corpus'."
            )

    @classmethod
    def load(cls, path: Path) -> Tokenizer:
        """Read a tokenizer from its file.

        Raises:
            FileNotFoundError: the file is missing.
            ValueError: the file is no tokenizer of this package.
        """
        return cls(path.read_bytes())

    @classmethod
    def train(cls, texts: Iterable[str], *, vocabulary_size: int) -> Tokenizer:
        """Learn a byte-pair encoding.

        Args:
            texts: messages; a sample of some million is enough.
            vocabulary_size: tokens, the five special ones included.

        Raises:
            ValueError: the texts have too few different characters or words for that size.
        """
        written = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(texts),
                model_writer=written,
                model_type="bpe",
                vocab_size=vocabulary_size,
                user_defined_symbols=[TURN],
                character_coverage=0.9998,
                num_threads=1,
                minloglevel=2,
                pad_id=0,
                unk_id=1,
                bos_id=2,
                eos_id=3,
            )
        except RuntimeError as error:
            raise ValueError(
                f"sentencepiece cannot learn {vocabulary_size} tokens from these texts ({error}). "
                "Give it more text or a smaller --vocabulary."
            ) from error
        return cls(written.getvalue())

    def __len__(self) -> int:
        """Number of tokens in the vocabulary."""
        return int(self._pieces.get_piece_size())

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Subwords of each text, without special tokens; unknown characters become the unknown token."""
        # A text that spells "<turn>" must not forge the end of a turn; half a surrogate pair has no UTF-8.
        harmless = [text.replace(TURN, "turn").encode("utf-8", "replace").decode() for text in texts]
        encoded: list[list[int]] = self._pieces.encode(harmless)
        return encoded

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of the tokens; special ones are left out."""
        text: str = self._pieces.decode([token for token in tokens if token > self.turn])
        return text.strip()

    def context(self, turns: Sequence[str], *, length: int, most_turns: int = 7) -> Fit:
        """Build the encoder's input for a conversation.

        Args:
            turns: earlier turns, the oldest first; may be empty.
            length: most tokens.
            most_turns: most turns.
        """
        return fit_context(self.encode(turns[-most_turns:]), length=length)


def fit_context(turns: Sequence[Sequence[int]], *, length: int) -> Fit:
    """Join turns, each ended by the turn token, and drop the oldest ones whole until they fit.

    If even the last turn does not fit alone, its beginning is cut. Without turns the result is one turn
    token.

    Args:
        turns: subwords of each turn, the oldest first.
        length: most tokens, at least 1.
    """
    tokens: list[int] = []
    count = 0
    for turn in reversed(turns):
        if count and len(turn) + 1 + len(tokens) > length:
            break
        tokens = [*turn, Tokenizer.turn, *tokens]
        count += 1
    return Fit(tokens[-length:] or [Tokenizer.turn], len(turns) - count)
