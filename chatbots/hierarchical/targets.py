"""What the teachers say of each utterance, from the file that `python -m evaluation targets` writes.

The file is `.npz`: `keys` (k,), a number for each text; `emotions` (k, e) and `semantics` (k, s), of which
one may be absent; `about`, JSON with the names of the encoders.
"""

from __future__ import annotations

import json
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import torch
from numpy.typing import NDArray

from chatbots.hierarchical.corpus import Part
from chatbots.hierarchical.heads import Targets

MAKE_IT = "Make it with 'python -m evaluation targets' from the corpus's own conversations."


class TargetsError(ValueError):
    """A file of targets that cannot be used; the message says why and what to do."""


class TargetFile:
    """Emotions and sentence vectors by text.

    Args:
        path: the file.

    Raises:
        TargetsError: it is no such file, or its arrays do not fit together.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with np.load(path, allow_pickle=False) as found:
                arrays = {name: found[name] for name in found.files}
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
        """Emotions of an utterance; 0 if the file has none."""
        return 0 if self._emotions is None else self._emotions.shape[1]

    @property
    def semantics(self) -> int:
        """Numbers of a sentence vector; 0 if the file has none."""
        return 0 if self._semantics is None else self._semantics.shape[1]

    def rows_for(self, part: Part) -> NDArray[np.int64]:
        """The row of each utterance of a part of a corpus, (u,).

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
        found: NDArray[np.int64] = rows.astype(np.int64)
        return found

    def of(self, rows: NDArray[np.int64]) -> Targets:
        """The targets of some rows."""
        return Targets(_tensor(self._emotions, rows), _tensor(self._semantics, rows))


def _tensor(values: NDArray[np.float32] | None, rows: NDArray[np.int64]) -> torch.Tensor | None:
    return None if values is None else torch.from_numpy(values[rows].astype(np.float32))
