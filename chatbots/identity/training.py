"""Training a classifier, and the threshold from which a guard may trust it."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chatbots.identity.classifiers import KINDS
from chatbots.identity.classifiers.base import ClassifierError, TrainableClassifier, checked
from chatbots.identity.classifiers.by_grammar import ByGrammar
from chatbots.identity.labels import Label
from chatbots.identity.utterances import Utterance, UtteranceError, labels_of

PRECISION = 0.99


def train(
    kind: str, utterances: Sequence[Utterance], *, seed: int = 0, **settings: Any
) -> TrainableClassifier:
    """A classifier of a kind.

    Args:
        kind: one of `KINDS`.
        utterances: each with a label.
        seed: makes training repeatable.
        settings: the kind's own.

    Raises:
        ClassifierError: the kind is unknown or a label has no text.
    """
    if kind not in KINDS:
        raise ClassifierError(f"'{kind}' is not a kind of classifier. Known: {', '.join(KINDS)}.")
    labels = labels_of(utterances)
    if missing := set(Label) - set(labels):
        raise ClassifierError(
            f"No utterance has the label {', '.join(sorted(missing))}. Give some of each of p, a and n."
        )
    return KINDS[kind].trained([each.text for each in utterances], labels, seed=seed, **settings)


def threshold_at(
    probabilities: NDArray[np.float64], labels: Sequence[Label], precision: float = PRECISION
) -> float | None:
    """The least probability from which texts called positive are positive in at least that share.

    Args:
        probabilities: (n, 3).
        labels: (n,) of the same texts.
        precision: share in (0, 1].

    Returns:
        A probability of the positive label that one of the texts has; None if none reaches the precision.
    """
    scores = probabilities[:, 0]
    right = np.array([label is Label.POSITIVE for label in labels])
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    precise = np.cumsum(right[order]) / np.arange(1, len(order) + 1) >= precision
    last_of_its_score = np.append(ranked[1:] != ranked[:-1], True)
    usable = np.flatnonzero(precise & last_of_its_score)
    return float(ranked[usable[-1]]) if len(usable) else None


def validated(
    classifier: TrainableClassifier, utterances: Sequence[Utterance], precision: float = PRECISION
) -> dict[str, Any]:
    """The threshold for a guard and what it gives on the texts it was taken from.

    Args:
        classifier: trained.
        utterances: on which it was not trained, with one label each.
        precision: that the threshold is to reach on them, in (0, 1].

    Returns:
        `threshold` (None if there is none), and then `recall` of positive texts and `false_alarms`, the share
        of negative texts, both in [0, 1].
    """
    labels = labels_of(utterances)
    found = checked(classifier.probabilities([each.text for each in utterances]), len(utterances))
    threshold = threshold_at(found, labels, precision)
    if threshold is None:
        return {"threshold": None, "precision": precision, "texts": len(labels)}
    called = found[:, 0] >= threshold
    return {
        "threshold": threshold,
        "precision": precision,
        "texts": len(labels),
        "recall": _share(called, labels, Label.POSITIVE),
        "false_alarms": _share(called, labels, Label.NEGATIVE),
    }


def conversation_negatives(paths: Iterable[Path]) -> tuple[list[Utterance], list[str]]:
    """The turns of conversations as negative utterances, each once.

    Args:
        paths: JSON Lines, each line an object with `turns`: texts, or objects with a `text`.

    Returns:
        The utterances, and the texts left out because the grammar knows them for a question of identity.

    Raises:
        UtteranceError: a line has no turns.
    """
    known = ByGrammar()
    texts = dict.fromkeys(text for path in paths for text in _turns(path))
    positive = [text for text in texts if known.label(text) is not Label.NEGATIVE]
    left = set(positive)
    return [
        Utterance(text, Label.NEGATIVE, "", "conversation") for text in texts if text not in left
    ], positive


def _turns(path: Path) -> Iterable[str]:
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            turns = json.loads(line)["turns"]
            yield from (turn if isinstance(turn, str) else turn["text"] for turn in turns)
        except (ValueError, KeyError, TypeError) as error:
            raise UtteranceError(
                f"{path}, line {number}: no turns ({error!r}). Give a list of texts."
            ) from None


def _share(called: NDArray[np.bool_], labels: Sequence[Label], label: Label) -> float | None:
    chosen = np.array([each is label for each in labels])
    return float(called[chosen].mean()) if chosen.any() else None
