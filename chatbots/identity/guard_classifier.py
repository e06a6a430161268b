"""The classification of turns by a guard, and the search for its classifier."""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from chatbots.identity.classifiers import SHIPPED, load_classifier, noted_threshold
from chatbots.identity.classifiers.base import ClassifierError, IntentClassifier, checked
from chatbots.identity.features import last_sentences
from chatbots.identity.labels import LABELS, SHIPPED_NAME, Intent, Label
from chatbots.local_files import check_path, hash_of, lab_object

DEFAULT_THRESHOLD = 0.5
"""For classifiers without a stored threshold, such as a lab's."""


MOST_REMEMBERED = 256
"""Number of cached texts: a guard classifies the same text before and after the reply."""


class YesNoClassifier(Protocol):
    """The simpler interface of a lab's class, without `probabilities`."""

    def asks(self, texts: Sequence[str]) -> list[bool]:
        """For each text, True if it asks."""
        ...


class _Certain:
    """Adapts a yes-no classifier to one with probabilities."""

    def __init__(self, classifier: YesNoClassifier) -> None:
        self._classifier = classifier

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        columns = [0 if asks else LABELS.index(Label.NEGATIVE) for asks in self._classifier.asks(texts)]
        rows: NDArray[np.float64] = np.eye(len(LABELS))[columns]
        return rows


class Judge:
    """Judge of turns by their whole text and by their last sentence: the one more likely to ask decides.

    Args:
        name: "shipped", the folder of a classifier, or a class of the lab as module:Class.
        threshold: probability of the positive label from which a turn asks; None: the classifier's.

    Raises:
        ClassifierError: there is no such classifier, or it does not work.
        Exception: any error of a class of the lab.
    """

    def __init__(self, name: str, threshold: float | None = None) -> None:
        self._folder = _folder(name)
        self._classifier: IntentClassifier
        if self._folder:
            self._classifier = load_classifier(self._folder)
            noted = noted_threshold(self._folder)
        else:
            self._classifier, noted = _of_lab(name), None
        self.threshold = threshold if threshold is not None else noted or DEFAULT_THRESHOLD
        checked(self._classifier.probabilities(["Are you a robot?", ""]), 2)
        self._lately: dict[str, tuple[Intent, float]] = {}

    def intents(self, texts: Sequence[str]) -> list[tuple[Intent, float]]:
        """Classify each text: its intent, and its probability of the positive label."""
        cached = {text: self._lately[text] for text in texts if text in self._lately}
        new = [text for text in dict.fromkeys(texts) if text not in cached]
        cached |= zip(new, self._judged(new), strict=True)
        if len(self._lately) > MOST_REMEMBERED:
            self._lately = {}
        self._lately |= cached
        return [cached[text] for text in texts]

    def _judged(self, texts: Sequence[str]) -> list[tuple[Intent, float]]:
        parts = [list(dict.fromkeys([text, *list(last_sentences(text))[-1:]])) for text in texts]
        flat = [part for each in parts for part in each]
        if not flat:
            return []
        rows = checked(self._classifier.probabilities(flat), len(flat))
        ends = np.cumsum([len(each) for each in parts])
        return [self._intent(rows[end - len(each) : end]) for each, end in zip(parts, ends, strict=True)]

    def _intent(self, rows: NDArray[np.float64]) -> tuple[Intent, float]:
        positive = float(rows[:, 0].max())
        if positive >= self.threshold:
            return Intent.ASKS, positive
        is_negative = bool((rows.argmax(axis=1) == LABELS.index(Label.NEGATIVE)).all())
        return (Intent.ELSE if is_negative else Intent.MAY_ASK), positive

    def fingerprint(self) -> Mapping[str, Any]:
        """Hash the classifier's files, and add the threshold."""
        if self._folder:
            files = sorted(path for path in self._folder.rglob("*") if path.is_file())
        else:
            inner = getattr(self._classifier, "_classifier", self._classifier)
            files = [Path(inspect.getfile(type(inner)))]
        return {"classifier": hash_of(files), "threshold": self.threshold}


def check_classifier(name: str) -> str:
    """Refuse a name that leads to no classifier, before it is stored.

    Returns:
        The name, unchanged.

    Raises:
        ValueError: says what is missing.
    """
    folder = _folder(name)
    if folder is None:
        return check_path(name)
    if not (folder / "classifier.json").is_file():
        raise ValueError(
            "no classifier is there. Name 'shipped', a folder that `python -m chatbots identity train` "
            "wrote, or a class of the lab as module:Class"
        )
    return name


def _folder(name: str) -> Path | None:
    """The folder that a name means; None for a class of the lab."""
    if name == SHIPPED_NAME:
        return SHIPPED
    return Path(name) if "/" in name or ":" not in name else None


def _of_lab(name: str) -> IntentClassifier:
    classifier: Any = lab_object(name)()
    if hasattr(classifier, "probabilities"):
        return classifier  # type: ignore[no-any-return]
    if hasattr(classifier, "asks"):
        return _Certain(classifier)
    raise ClassifierError(f"{name} has neither probabilities(texts) nor asks(texts). Give it one of them.")
