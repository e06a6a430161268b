"""EI: distils a teacher's knowledge of an utterance into the state of the context that has read it.

A teacher's values come from the file that `python -m evaluation targets` writes. The file is `.npz`: `keys`
(k,), a number for each text; `emotions` (k, e) and `semantics` (k, s), of which one may be absent; `about`,
JSON with the names of the encoders.

Shapes: n utterances, e emotions, s numbers of a sentence vector.

Source: arXiv:1906.09308, section 3.1.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss

from chatbots.hierarchical.config import HierarchicalConfig
from chatbots.hierarchical.corpus import Part


class Targets(NamedTuple):
    """The teachers' values for each utterance that is read.

    Attributes:
        emotions: probabilities, (n, e); None without that head.
        semantics: sentence vectors, (n, s); None without that head.
    """

    emotions: Tensor | None = None
    semantics: Tensor | None = None

    def joined(self) -> Tensor:
        """Join all values of each utterance, (n, e + s)."""
        return torch.cat([each for each in self if each is not None], dim=1)


class Distilled(NamedTuple):
    """Both losses, each a mean.

    Attributes:
        emotion: cross-entropy with the teacher's distribution, in nats per utterance.
        semantic: squared error per number.
    """

    emotion: Tensor | None
    semantic: Tensor | None


class Heads(nn.Module):
    """One or two networks of one ReLU layer on the state of the context.

    Args:
        config: config of the model.
    """

    def __init__(self, config: HierarchicalConfig) -> None:
        super().__init__()
        self.emotions = _head(config.context_size, config.emotion_hidden, config.emotions)
        self.semantics = _head(config.context_size, config.semantic_hidden, config.semantics)

    def forward(self, states: Tensor, targets: Targets) -> Distilled:
        """Compute the losses of the states after n utterances, (n, d), against the teachers' values."""
        emotion = semantic = None
        if self.emotions is not None and targets.emotions is not None:
            emotion = cross_entropy(self.emotions(states), targets.emotions)
        if self.semantics is not None and targets.semantics is not None:
            semantic = mse_loss(self.semantics(states), targets.semantics)
        return Distilled(emotion, semantic)


def _head(inputs: int, hidden: int, outputs: int) -> nn.Module | None:
    if not outputs:
        return None
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


MAKE_IT = "Make it with 'python -m evaluation targets' from the corpus's own conversations."


class TargetsError(ValueError):
    """A file of targets that cannot be used; the message says why and what to do."""


class TargetFile:
    """Emotions and sentence vectors by text.

    Args:
        path: the file.

    Raises:
        TargetsError: the file is no file of targets, or its arrays do not fit together.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with np.load(path, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            self._keys = arrays["keys"]
            self.about = json.loads(str(arrays["about"])) if "about" in arrays else {}
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise TargetsError(f"{path} cannot be read as targets: {error}. {MAKE_IT}") from error
        self._emotions: NDArray[np.float32] | None = arrays.get("emotions")
        self._semantics: NDArray[np.float32] | None = arrays.get("semantics")
        self._check()

    def _check(self) -> None:
        there = {"emotions": self._emotions, "semantics": self._semantics}
        if all(values is None for values in there.values()):
            raise TargetsError(f"{self.path} has neither emotions nor semantics. {MAKE_IT}")
        if self._keys.ndim != 1 or len(np.unique(self._keys)) < len(self._keys):
            raise TargetsError(f"{self.path} has a text twice. {MAKE_IT}")
        for name, values in there.items():
            if values is None:
                continue
            if values.ndim != 2 or len(values) != len(self._keys):
                raise TargetsError(
                    f"{self.path} has {name} of shape {values.shape} for {len(self._keys)} texts. {MAKE_IT}"
                )
            if not np.isfinite(values).all():
                raise TargetsError(f"{self.path} has {name} that are not numbers. {MAKE_IT}")
        if self._emotions is not None and not np.allclose(self._emotions.sum(axis=1), 1, atol=1e-2):
            raise TargetsError(f"{self.path} has emotions that do not sum to 1. {MAKE_IT}")

    @property
    def emotions(self) -> int:
        """Number of emotions of an utterance; 0 if the file has none."""
        return 0 if self._emotions is None else self._emotions.shape[1]

    @property
    def semantics(self) -> int:
        """Size of a sentence vector; 0 if the file has none."""
        return 0 if self._semantics is None else self._semantics.shape[1]

    def rows_for(self, part: Part) -> NDArray[np.int64]:
        """Find the row of each utterance of a corpus part, (u,).

        Raises:
            TargetsError: some utterance is not in the file.
        """
        order = np.argsort(self._keys)
        places = np.searchsorted(self._keys, part.keys, sorter=order)
        rows = order[np.minimum(places, len(order) - 1)]
        lacking = int((self._keys[rows] != part.keys).sum())
        if lacking:
            raise TargetsError(
                f"{self.path} lacks {lacking} of the corpus's {len(part.keys)} utterances. {MAKE_IT}"
            )
        indices: NDArray[np.int64] = rows.astype(np.int64)
        return indices

    def of(self, rows: NDArray[np.int64]) -> Targets:
        """Return the targets of some rows."""
        return Targets(_tensor(self._emotions, rows), _tensor(self._semantics, rows))


def _tensor(values: NDArray[np.float32] | None, rows: NDArray[np.int64]) -> torch.Tensor | None:
    return None if values is None else torch.from_numpy(values[rows].astype(np.float32))
