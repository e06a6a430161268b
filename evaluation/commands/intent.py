"""Command `python -m evaluation intent FILE`: figures of a file of predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluation import intent
from evaluation.files.reading import FileError, read_rows
from evaluation.intent import LABELS, LabelArray
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray

HIGHEST_LOSSES = 20
SUM_TOLERANCE = 1e-3

PUBLISHED: Mapping[str, Mapping[str, tuple[float, float, float, float]]] = {
    "random": {"validation": (39.5, 37.5, 40.2, 39.0), "test": (41.9, 36.3, 41.9, 39.9)},
    "bag of words, logistic regression": {
        "validation": (88.3, 85.5, 83.8, 85.9),
        "test": (90.4, 93.4, 88.3, 90.7),
    },
    "nearest neighbour": {"validation": (81.3, 78.9, 77.4, 79.2), "test": (81.3, 76.7, 78.4, 78.8)},
    "fastText": {"validation": (92.4, 90.9, 89.2, 90.8), "test": (94.6, 93.9, 92.1, 93.5)},
    "BERT base": {"validation": (97.5, 91.7, 93.7, 94.3), "test": (98.5, 94.6, 95.5, 96.2)},
    "their grammar": {"validation": (100, 100, 100, 100), "test": (100, 100, 100, 100)},
}
"""P_w, R, Acc and M in percent from Gros et al. 2021, table 1, on their data, for comparison."""


@dataclass(frozen=True, slots=True)
class Predictions:
    """Predictions of classifiers for the same utterances.

    Attributes:
        texts: (n,) utterances, "" if the file has none.
        truth: (n,) labels as in `intent`.
        categories: (n,), "" if unknown.
        sources: (n,), "" if unknown.
        probabilities: by classifier, (n, 3) probabilities.
        milliseconds: by classifier, time per utterance if the file has it.
    """

    texts: Sequence[str]
    truth: LabelArray
    categories: Sequence[str]
    sources: Sequence[str]
    probabilities: Mapping[str, FloatArray]
    milliseconds: Mapping[str, float]


def figures(predictions: Predictions, rng: np.random.Generator, resamples: int) -> dict[str, Any]:
    """Compute everything that the command prints; shares in percent.

    With several classifiers, calibration and losses are of the mean probabilities.
    """
    truth = predictions.truth
    predicted = {name: rows.argmax(axis=1) for name, rows in predictions.probabilities.items()}
    mean: FloatArray = np.mean(list(predictions.probabilities.values()), axis=0)
    bins, error = intent.calibration(truth, mean)
    return {
        "utterances": {label: int((truth == k).sum()) for k, label in enumerate(LABELS)},
        "scores": _percent(intent.mean_scores(truth, list(predicted.values()))),
        "intervals": _percent(intent.score_intervals(truth, list(predicted.values()), rng, resamples)),
        "models": {
            name: {
                "scores": _percent(intent.scores(truth, labels)),
                "confusion": _named(intent.confusion(truth, labels)),
                "milliseconds": predictions.milliseconds.get(name),
            }
            for name, labels in predicted.items()
        },
        "by_category": _by_group(predictions.categories, truth, list(predicted.values())),
        "by_source": _by_group(predictions.sources, truth, list(predicted.values())),
        "calibration": {"expected_error": error, "bins": [asdict(each) for each in bins]},
        "highest_losses": _highest(predictions, mean),
        "published": {model: dict(parts) for model, parts in PUBLISHED.items()},
    }


def read_predictions(path: Path) -> Predictions:
    """Read the predictions of a file.

    Args:
        path: CSV with a header or, if it ends in `.jsonl`, JSON Lines. Columns `label`, `p`, `a`, `n`, and
            optionally `text`, `category`, `source`, `model` and `milliseconds`.

    Raises:
        FileError: it cannot be read, a label is unknown, probabilities do not sum to one, or classifiers were
            asked different utterances; names the line.
    """
    by_model: dict[str, list[tuple[tuple[str, int, str, str], list[float]]]] = {}
    times: dict[str, float] = {}
    for where, row in read_rows(path):
        model = str(row.get("model") or "the classifier")
        key = (_text(row, "text"), _label(where, row), _text(row, "category"), _text(row, "source"))
        by_model.setdefault(model, []).append((key, _probabilities(where, row)))
        if row.get("milliseconds") not in (None, ""):
            times[model] = _number(where, row, "milliseconds")
    if not by_model:
        raise FileError(f"{path}: no predictions. Write some with: python -m chatbots identity predict.")
    keys = [key for key, _ in next(iter(by_model.values()))]
    for model, rows in by_model.items():
        if [key for key, _ in rows] != keys:
            raise FileError(f"{path}: {model} was asked other utterances than the first one. Predict again.")
    texts, truth, categories, sources = zip(*keys, strict=True)
    probabilities = {model: np.array([row for _, row in rows]) for model, rows in by_model.items()}
    return Predictions(texts, np.array(truth), categories, sources, probabilities, times)


def _text(row: Mapping[str, Any], name: str) -> str:
    return str(row.get(name) or "")


def _label(where: str, row: Mapping[str, Any]) -> int:
    if row.get("label") not in LABELS:
        raise FileError(f"{where}: label = {row.get('label')!r} is unknown. Give {', '.join(LABELS)}.")
    return LABELS.index(row["label"])


def _probabilities(where: str, row: Mapping[str, Any]) -> list[float]:
    probabilities = [_number(where, row, label) for label in LABELS]
    if min(probabilities) < 0 or abs(sum(probabilities) - 1) > SUM_TOLERANCE:
        raise FileError(
            f"{where}: p, a, n = {probabilities} are not probabilities that sum to 1. Predict again."
        )
    return probabilities


def _number(where: str, row: Mapping[str, Any], name: str) -> float:
    try:
        value = float(row[name])
    except (KeyError, TypeError, ValueError):
        raise FileError(f"{where}: {name} = {row.get(name)!r} is not a number. Give one.") from None
    if not np.isfinite(value):
        raise FileError(f"{where}: {name} = {value} is not finite. Give a number.")
    return value


def _by_group(groups: Sequence[str], truth: LabelArray, predicted: Sequence[LabelArray]) -> dict[str, Any]:
    """Confusion counts summed over classifiers, for each named group."""
    scores = {}
    for group in sorted(set(groups) - {""}):
        in_group = np.array([each == group for each in groups])
        total = sum(intent.confusion(truth[in_group], labels[in_group]) for labels in predicted)
        scores[group] = _named(np.asarray(total))
    return scores


def _highest(predictions: Predictions, mean: FloatArray) -> list[dict[str, Any]]:
    lost = intent.losses(predictions.truth, mean)
    return [
        {
            "text": predictions.texts[row],
            "label": LABELS[predictions.truth[row]],
            "said": LABELS[int(mean[row].argmax())],
            "probability": float(mean[row, predictions.truth[row]]),
            "loss": float(lost[row]),
        }
        for row in np.argsort(-lost, kind="stable")[:HIGHEST_LOSSES]
    ]


def _named(counts: np.ndarray[Any, np.dtype[np.int64]]) -> dict[str, dict[str, int]]:
    return {
        label: dict(zip(LABELS, map(int, row), strict=True))
        for label, row in zip(LABELS, counts, strict=True)
    }


def _percent(scores: intent.Scores | intent.ScoreIntervals | Undefined) -> dict[str, Any]:
    if isinstance(scores, Undefined):
        return {"cannot_be_told": scores.reason}
    names = scores.__dataclass_fields__
    return {name: _to_json(getattr(scores, name)) for name in names}


def _to_json(value: float | Interval | Undefined) -> Any:
    if isinstance(value, Undefined):
        return {"cannot_be_told": value.reason}
    if isinstance(value, Interval):
        return [round(100 * value.low, 2), round(100 * value.high, 2)]
    return round(100 * value, 2)
