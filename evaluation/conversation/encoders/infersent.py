"""InferSent (Conneau et al. 2017, arXiv:1705.02364): a bidirectional LSTM over word vectors, its maximum.

Its folder has the weights as the authors publish them (`infersent*.pkl`, read as tensors alone, never as
code) and the vectors that they were trained on (`*.vec` or `*.txt`). The maximum is over the words and never
over padding, so that a sentence's vector does not depend on its neighbours.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.conversation.encoders import EncoderError, Vectors, only_file
from evaluation.conversation.encoders.tensors import read_tensors
from evaluation.conversation.encoders.word2vec import Word2Vec

_ENDS = (("<s>", "</s>"), ("<p>", "</p>"))
"""How a sentence begins and ends with GloVe's vectors, and with fastText's."""
_AT_ONCE = 64


class InferSent:
    """Texts are cut as the Penn Treebank is; words without a vector are left out."""

    def __init__(self, weights: Path, vectors: Path) -> None:
        self._weights, self._vectors = weights, Word2Vec(vectors)

    @classmethod
    def of_folder(cls, folder: Path) -> "InferSent":
        """The encoder whose files lie in that folder.

        Raises:
            EncoderError: the weights or the word vectors are not there, or several are; names them.
        """
        weights = only_file(folder, ("infersent*",), "the weights of InferSent")
        return cls(weights, only_file(folder, ("*.vec", "*.txt"), "its word vectors"))

    @property
    def name(self) -> str:
        """InferSent, with the name of its weights."""
        return f"InferSent ({self._weights.name})"

    @cached_property
    def _lstm(self) -> Any:
        import torch

        tensors = read_tensors(self._weights)
        prefix = "enc_lstm."
        try:
            wide = tensors[f"{prefix}weight_ih_l0"].shape
            lstm = torch.nn.LSTM(wide[1], wide[0] // 4, bidirectional=True)
            lstm.load_state_dict({key: tensors[prefix + key] for key in lstm.state_dict()})
        except (KeyError, RuntimeError) as error:
            raise EncoderError(f"{self._weights}: not the weights of InferSent ({error}).") from None
        return lstm.eval()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(t, d) the largest of each state over the words of a text (Conneau et al. 2017, arXiv:1705.02364).

        Raises:
            EncoderError: a file that is no such model, or cannot be read.
        """
        import torch
        from nltk.tokenize import TreebankWordTokenizer

        cut = TreebankWordTokenizer().tokenize
        words = [cut(text) for text in texts]
        asked = {word for each in words for word in each} | {end for ends in _ENDS for end in ends}
        index, vectors = self._vectors.of(asked)
        if vectors.shape[1] != self._lstm.input_size:
            raise EncoderError(
                f"{self._weights} wants vectors of {self._lstm.input_size} numbers, and those of "
                f"{self._vectors.name} have {vectors.shape[1]}. Put the vectors beside it that it was "
                f"trained on."
            )
        begin, end = self._ends(index)
        rows = [[begin, *(index[word][0] for word in each if word in index), end] for each in words]
        found = np.zeros((len(texts), 2 * self._lstm.hidden_size), np.float32)
        order = np.argsort([len(each) for each in rows], kind="stable")
        for start in range(0, len(order), _AT_ONCE):
            some = order[start : start + _AT_ONCE]
            packed = torch.nn.utils.rnn.pack_sequence(
                [torch.from_numpy(vectors[rows[row]]) for row in some], enforce_sorted=False
            )
            with torch.inference_mode():
                states, _ = self._lstm(packed)
            padded, _ = torch.nn.utils.rnn.pad_packed_sequence(states, padding_value=-torch.inf)
            found[some] = padded.max(dim=0).values.numpy()
        return found

    def _ends(self, index: dict[str, list[int]]) -> tuple[int, int]:
        for begin, end in _ENDS:
            if begin in index and end in index:
                return index[begin][0], index[end][0]
        raise EncoderError(
            f"{self._vectors.name} has no vectors for the ends of a sentence (<s> and </s>, or <p> and "
            f"</p>). Take the vectors that InferSent was trained on."
        )
