"""Emotions by DeepMoji (Felbo et al. 2017, arXiv:1708.00524): probabilities of 64 emoji for a text.

Its folder has the weights and the vocabulary as published by torchMoji (`pytorch_model.bin`,
`vocabulary.json`). Words are split at blanks and punctuation, which is simpler than torchMoji's rules.
"""

import json
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.conversation.encoders.interfaces import EncoderError, Vectors, only_file
from evaluation.conversation.encoders.sentences import read_tensors
from evaluation.statistics.labels import FloatArray

# The order of the emoji in the model's output, and the paper's weights from good (1) to bad (-1).
EMOJI = (
    "joy", "unamused", "weary", "sob", "heart_eyes", "pensive", "ok_hand", "blush", "heart", "smirk",
    "grin", "notes", "flushed", "100", "sleeping", "relieved", "relaxed", "raised_hands", "two_hearts",
    "expressionless", "sweat_smile", "pray", "confused", "kissing_heart", "heartbeat", "neutral_face",
    "information_desk_person", "disappointed", "see_no_evil", "tired_face", "v", "sunglasses", "rage",
    "thumbsup", "cry", "sleepy", "yum", "triumph", "hand", "mask", "clap", "eyes", "gun", "persevere",
    "smiling_imp", "sweat", "broken_heart", "yellow_heart", "musical_note", "speak_no_evil", "wink",
    "skull", "confounded", "smile", "stuck_out_tongue_winking_eye", "angry", "no_good", "muscle",
    "facepunch", "purple_heart", "sparkling_heart", "blue_heart", "grimacing", "sparkles",
)  # fmt: skip
WEIGHTS = {
    1.0: ("kissing_heart", "thumbsup", "ok_hand", "smile"),
    0.75: ("blush", "wink", "muscle", "grin", "heart_eyes", "100"),
    0.5: (
        "smirk", "stuck_out_tongue_winking_eye", "sunglasses", "relieved", "relaxed", "blue_heart",
        "two_hearts", "heartbeat", "yellow_heart",
    ),
    -0.5: ("disappointed", "eyes", "expressionless", "sleeping", "grimacing"),
    -0.75: ("neutral_face", "confused", "triumph", "confounded"),
    -1.0: ("unamused", "angry", "rage"),
}  # fmt: skip
_WORD = re.compile(r"\w+(?:'\w+)*|[^\w\s]")
_UNKNOWN = 1
_MOST_WORDS = 30


class DeepMoji:
    """Two bidirectional LSTMs with hard sigmoids, attention over both and the words, and a softmax."""

    def __init__(self, weights: Path, vocabulary: Path) -> None:
        self._weights, self._vocabulary_at = weights, vocabulary
        self._known: tuple[Sequence[str], Vectors] | None = None

    @classmethod
    def of_folder(cls, folder: Path) -> "DeepMoji":
        """Make the encoder from the files of a folder.

        Raises:
            EncoderError: the weights or the vocabulary are missing or ambiguous; names them.
        """
        weights = only_file(folder, ("pytorch_model.bin", "*.bin"), "the weights of DeepMoji")
        return cls(weights, only_file(folder, ("vocabulary.json",), "its vocabulary"))

    @property
    def name(self) -> str:
        """DeepMoji, with the name of its weights."""
        return f"DeepMoji ({self._weights.name})"

    def sentiment(self, texts: Sequence[str]) -> FloatArray:
        """(t,) sentiments from -1 to 1: the probabilities of the emoji, weighted by `WEIGHTS`."""
        weights = {name: weight for weight, names in WEIGHTS.items() for name in names}
        of_emoji = np.array([weights.get(name, 0.0) for name in EMOJI])
        scores: FloatArray = self.distribution(texts).astype(np.float64) @ of_emoji
        return scores

    def distribution(self, texts: Sequence[str]) -> Vectors:
        """(t, 64) probabilities of the emoji."""
        if self._known is None or self._known[0] is not texts:
            self._known = texts, self._read(texts)
        return self._known[1]

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        try:
            vocabulary: dict[str, int] = json.loads(self._vocabulary_at.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise EncoderError(f"{self._vocabulary_at}: {error}.") from None
        return vocabulary

    @cached_property
    def _tensors(self) -> dict[str, Any]:
        tensors = read_tensors(self._weights)
        needed = ("embed.weight", "attention_layer.attention_vector", "output_layer.0.weight")
        lacking = next((name for name in needed if name not in tensors), None)
        if lacking:
            raise EncoderError(
                f"{self._weights}: it has no {lacking}, so these are not the weights of DeepMoji."
            )
        emoji = len(tensors["output_layer.0.weight"])
        if emoji != len(EMOJI):
            raise EncoderError(f"{self._weights}: it tells {emoji} emoji, and DeepMoji {len(EMOJI)}.")
        return tensors

    def _read(self, texts: Sequence[str]) -> Vectors:
        import torch

        vocabulary, most = self._vocabulary, len(self._tensors["embed.weight"])
        cut = [
            [vocabulary.get(word, _UNKNOWN) for word in _WORD.findall(text.lower())[:_MOST_WORDS]]
            for text in texts
        ]
        if any(row >= most for row in vocabulary.values()):
            raise EncoderError(f"{self._vocabulary_at}: it has more words than {self._weights.name}, {most}.")
        shares = np.zeros((len(texts), len(EMOJI)), np.float32)
        order = np.argsort([len(each) for each in cut], kind="stable")
        lengths = np.array([len(cut[row]) for row in order])
        # Batches of texts of one length need no padding, which a recurrent step would read.
        for some in np.split(order, np.flatnonzero(np.diff(lengths)) + 1) if len(order) else ():
            read = torch.tensor([cut[row] or [_UNKNOWN] for row in some])
            with torch.inference_mode():
                shares[some] = self._probabilities(read).numpy()
        return shares

    def _probabilities(self, words: Any) -> Any:
        """Compute (n, 64) probabilities from (n, t) word codes."""
        w = self._tensors
        x = w["embed.weight"][words].tanh()
        first = self._bidirectional(x, "lstm_0")
        second = self._bidirectional(first, "lstm_1")
        states = _joined(second, first, x)
        scores = (states @ w["attention_layer.attention_vector"]).exp()  # (n, t)
        attended = ((scores / scores.sum(dim=1, keepdim=True)).unsqueeze(-1) * states).sum(dim=1)
        return (attended @ w["output_layer.0.weight"].T + w["output_layer.0.bias"]).softmax(dim=-1)

    def _bidirectional(self, x: Any, layer: str) -> Any:
        return _joined(self._lstm(x, layer, ""), self._lstm(x.flip(1), layer, "_reverse").flip(1))

    def _lstm(self, x: Any, layer: str, direction: str) -> Any:
        import torch

        into, recurrent, *biases = (
            self._tensors[f"{layer}.{name}_l0{direction}"]
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        of_words = x @ into.T + sum(biases)
        hidden = cell = x.new_zeros(len(x), recurrent.shape[1])
        states = []
        for step in of_words.unbind(dim=1):
            i, f, g, o = (step + hidden @ recurrent.T).chunk(4, dim=-1)
            i, f, o = ((0.2 * gate + 0.5).clamp(0, 1) for gate in (i, f, o))
            cell = f * cell + i * g.tanh()
            hidden = o * cell.tanh()
            states.append(hidden)
        return torch.stack(states, dim=1)


def _joined(*parts: Any) -> Any:
    import torch

    return torch.cat(parts, dim=-1)
