"""Training a classifier, the threshold from which a guard may trust it, and files of utterances."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chatbots.identity.classifiers import KINDS
from chatbots.identity.classifiers.base import ClassifierError, TrainableClassifier, checked
from chatbots.identity.classifiers.baselines import ByGrammar
from chatbots.identity.labels import CATEGORIES, Label


class UtteranceError(ValueError):
    """A file that cannot be used; says where, what and what to do."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """A labelled text.

    Attributes:
        text: as written; may be empty.
        label: None if unknown.
        category: category of the labelling guide; "" if unknown.
        source: its origin; "" if unknown.
    """

    text: str
    label: Label | None = None
    category: str = ""
    source: str = ""


def read_utterances(paths: Iterable[Path], *, labelled: bool) -> list[Utterance]:
    """Read the utterances of files, in order.

    Args:
        paths: CSV files with a header or, if they end in `.jsonl`, JSON Lines; columns `text`, `label`,
            `category`, `source`; others are ignored.
        labelled: True if each must have a label.

    Raises:
        UtteranceError: a file cannot be read, has no text or an unknown label; names the line.
    """
    utterances: list[Utterance] = []
    for path in paths:
        try:
            with path.open(newline="", encoding="utf-8-sig") as file:
                rows = _json_rows(path, file) if path.suffix == ".jsonl" else _csv_rows(path, file)
                utterances.extend(_utterance(where, row, labelled) for where, row in rows)
        except OSError as error:
            raise UtteranceError(
                f"{path}: {error.strerror}. Give the path of a CSV or .jsonl file."
            ) from None
        except UnicodeDecodeError as error:
            raise UtteranceError(
                f"{path}: byte {error.start} is not UTF-8. Save the file as UTF-8."
            ) from None
    if not utterances:
        raise UtteranceError(f"{', '.join(map(str, paths))}: no utterances. Give a file with some.")
    return utterances


def write_utterances(utterances: Sequence[Utterance], path: Path) -> None:
    """Write JSON Lines."""
    lines = (json.dumps(asdict(each), ensure_ascii=False) for each in utterances)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def labels_of(utterances: Iterable[Utterance]) -> list[Label]:
    """Labels of utterances that all have one."""
    return [label for each in utterances if (label := each.label) is not None]


def _csv_rows(path: Path, file: Iterable[str]) -> Iterator[tuple[str, Mapping[str, object]]]:
    reader = csv.DictReader(file, restkey="", restval="")
    if "text" not in (reader.fieldnames or ()):
        names = ", ".join(filter(None, reader.fieldnames or ())) or "nothing"
        raise UtteranceError(f"{path}, line 1: there is no column text. The header has: {names}.")
    for row in reader:
        yield f"{path}, line {reader.line_num}", row


def _json_rows(path: Path, file: Iterable[str]) -> Iterator[tuple[str, Mapping[str, object]]]:
    for number, line in enumerate(file, 1):
        where = f"{path}, line {number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UtteranceError(f"{where}: {error}. Write one JSON object a line.") from None
        if not isinstance(row, dict):
            raise UtteranceError(f'{where}: not a JSON object. Write one a line, as {{"text": ...}}.')
        yield where, row


def _utterance(where: str, row: Mapping[str, object], labelled: bool) -> Utterance:
    text, label = row.get("text"), row.get("label") or None
    if not isinstance(text, str):
        raise UtteranceError(f"{where}: text = {text!r} is not text. Fix it or leave the line out.")
    if label is None and labelled:
        raise UtteranceError(f"{where}: no label. Give p, a or n.")
    if label is not None and label not in set(Label):
        raise UtteranceError(f"{where}: label = {label!r} is unknown. Give p, a or n.")
    category = str(row.get("category") or row.get("justification_cat") or "")
    if label is not None and category not in CATEGORIES[Label(str(label))]:
        category = ""
    return Utterance(text, Label(str(label)) if label else None, category, str(row.get("source") or ""))


PRECISION = 0.99


def train(
    kind: str, utterances: Sequence[Utterance], *, seed: int = 0, **settings: Any
) -> TrainableClassifier:
    """Train a classifier of a kind.

    Args:
        kind: one of `KINDS`.
        utterances: each with a label.
        seed: makes training repeatable.
        settings: specific to the kind.

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
    """Find the least probability from which that share of the texts called positive is positive.

    Args:
        probabilities: (n, 3).
        labels: (n,) of the same texts.
        precision: share in (0, 1].

    Returns:
        A positive probability of one of the texts; None if none reaches the precision.
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
    """Choose a guard's threshold; report its results on the same texts.

    Args:
        classifier: trained.
        utterances: labelled ones on which it was not trained.
        precision: that the threshold must reach on them, in (0, 1].

    Returns:
        `threshold` (None if there is none), and then `recall` of positive texts and `false_alarms`, the share
        of negative texts, both in [0, 1].
    """
    labels = labels_of(utterances)
    probabilities = checked(classifier.probabilities([each.text for each in utterances]), len(utterances))
    threshold = threshold_at(probabilities, labels, precision)
    if threshold is None:
        return {"threshold": None, "precision": precision, "texts": len(labels)}
    called = probabilities[:, 0] >= threshold
    return {
        "threshold": threshold,
        "precision": precision,
        "texts": len(labels),
        "recall": _share(called, labels, Label.POSITIVE),
        "false_alarms": _share(called, labels, Label.NEGATIVE),
    }


def conversation_negatives(paths: Iterable[Path]) -> tuple[list[Utterance], list[str]]:
    """Collect the turns of conversations as negative utterances, each once.

    Args:
        paths: JSON Lines, each line an object with `turns`: texts, or objects with a `text`.

    Returns:
        The utterances, and the texts left out because the grammar recognises them as identity questions.

    Raises:
        UtteranceError: a line has no turns.
    """
    grammar = ByGrammar()
    texts = dict.fromkeys(text for path in paths for text in _turns(path))
    positive = [text for text in texts if grammar.label(text) is not Label.NEGATIVE]
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
    has_label = np.array([each is label for each in labels])
    return float(called[has_label].mean()) if has_label.any() else None
