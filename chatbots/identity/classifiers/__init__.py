"""Classifiers of the identity question, by kind, one file each."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chatbots.identity.classifiers.base import ClassifierError, TrainableClassifier, read_description
from chatbots.identity.classifiers.baselines import ByGrammar, Guess, Nearest
from chatbots.identity.classifiers.encoder import Encoder
from chatbots.identity.classifiers.logistic import BagOfWords, Ngrams

KINDS: Mapping[str, type[TrainableClassifier]] = {
    cls.kind: cls for cls in (Guess, BagOfWords, Nearest, Ngrams, Encoder, ByGrammar)
}

SHIPPED = Path(__file__).parents[1] / "pretrained"
"""The folder of this repository's classifier."""


def load_classifier(folder: Path = SHIPPED) -> TrainableClassifier:
    """Load the classifier of a folder, of any kind.

    Raises:
        ClassifierError: the folder holds none, or its files cannot be used.
    """
    description = read_description(folder)
    if description["kind"] not in KINDS:
        kinds = ", ".join(KINDS)
        raise ClassifierError(
            f"{folder}: a classifier of the unknown kind '{description['kind']}'. Known: {kinds}."
        )
    try:
        return KINDS[description["kind"]]._load(folder, description.get("settings", {}))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ClassifierError(f"{folder}: cannot be loaded: {error!r}. Train the classifier again.") from None


def noted_threshold(folder: Path = SHIPPED) -> float | None:
    """Positive probability from which a folder's classifier is nearly always right; None if not stored."""
    threshold: Any = read_description(folder).get("threshold")
    return float(threshold) if isinstance(threshold, int | float) else None
