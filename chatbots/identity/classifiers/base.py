"""The interface of classifiers: texts in, probabilities of the three labels out."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from chatbots.errors import ChatbotError
from chatbots.identity.labels import LABELS, Label

DESCRIPTION = "classifier.json"
_SUM_TOLERANCE = 1e-3


class ClassifierError(ChatbotError, ValueError):
    """A classifier that cannot be trained, loaded or used; says what to do."""


class IntentClassifier(Protocol):
    """The protocol of classifiers; any class with this method can be used."""

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities of `LABELS` for each text, (n, 3); each row sums to 1."""
        ...


class TrainableClassifier(ABC):
    """A classifier trained from labelled texts and stored in a folder, without pickles."""

    kind: ClassVar[str]
    """Its name on the command line and in its folder."""

    @classmethod
    @abstractmethod
    def trained(
        cls, texts: Sequence[str], labels: Sequence[Label], *, seed: int = 0, **settings: Any
    ) -> Self:
        """Train a classifier.

        Args:
            texts: at least one.
            labels: one for each text.
            seed: makes training repeatable.
            settings: specific to the kind.

        Raises:
            ClassifierError: the texts or the settings cannot be used.
        """

    @abstractmethod
    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Probabilities of `LABELS` for each text, (n, 3); each row sums to 1."""

    @abstractmethod
    def _save(self, folder: Path) -> Mapping[str, Any]:
        """Write the learnt values into the folder; `_load` gets the returned description."""

    @classmethod
    @abstractmethod
    def _load(cls, folder: Path, settings: Mapping[str, Any]) -> Self:
        """Load what `_save` wrote."""

    def save(self, folder: Path, **notes: Any) -> None:
        """Write the classifier into a folder, with notes such as the guard's `threshold`."""
        folder.mkdir(parents=True, exist_ok=True)
        description = {"kind": self.kind, "settings": self._save(folder), **notes}
        (folder / DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n", "utf-8")


def read_description(folder: Path) -> dict[str, Any]:
    """Read the description of a folder's classifier.

    Raises:
        ClassifierError: the description is missing, or cannot be read.
    """
    path = folder / DESCRIPTION
    try:
        description = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ClassifierError(
            f"{path}: {error}. Train a classifier (python -m chatbots identity train) and name its folder."
        ) from None
    if not isinstance(description, dict) or not isinstance(description.get("kind"), str):
        raise ClassifierError(f"{path}: says no kind. Train the classifier again.")
    return description


def checked(probabilities: object, texts: int) -> NDArray[np.float64]:
    """Return a classifier's probabilities if they are valid.

    Raises:
        ClassifierError: wrong shape, a number outside [0, 1], or a row that does not sum to one.
    """
    values = np.asarray(probabilities, dtype=np.float64)
    if values.shape != (texts, len(LABELS)):
        raise ClassifierError(
            f"The classifier returned an array of shape {values.shape} for {texts} texts. "
            f"Return ({texts}, {len(LABELS)}): the probabilities of {', '.join(LABELS)}."
        )
    wrong = ~((values >= 0) & (values <= 1)).all(axis=1) | (np.abs(values.sum(axis=1) - 1) > _SUM_TOLERANCE)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ClassifierError(
            f"The classifier's probabilities of text {row} are {values[row].tolist()}. "
            "Return numbers from 0 to 1 that sum to 1."
        )
    return values


def numbers_of(labels: Sequence[Label]) -> NDArray[np.int64]:
    """(n,) columns of the labels."""
    return np.array([LABELS.index(label) for label in labels], dtype=np.int64)
