"""LaTeX tables of the models of raters: shares of each answer, and workers. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from evaluation.files.writing import escaped, estimate
from evaluation.report.publishing.latex_pairs import Made, Result

_MODELS = {"labels": "As labelled", "dawid_skene": "Dawid and Skene", "mace": "MACE"}
_OF_RATERS = {"accuracy": "Accuracy", "competence": "Competence"}


def shares(result: Result) -> Made:
    """Table of the share of each answer, as labelled and by both models; no rows without a model."""
    rows = [
        [question, escaped(row["bot"]), escaped(row["answer"]), *_cells(row, _MODELS)]
        for question, figures in _fitted(result)
        for row in figures["systems"]
    ]
    notes = "Shares in percent, if raters err independently of each other once the true answer is known."
    return ["Question", "System", "Answer", *_MODELS.values()], rows, f"{notes} {_rests_on(result)}", 3


def workers(result: Result) -> Made:
    """Table of the workers with the lowest accuracy; no rows without a model."""
    rows = [
        [question, escaped(row["worker"]), *_cells(row, _OF_RATERS), str(row["labels"])]
        for question, figures in _fitted(result)
        for row in figures["raters"]
    ]
    notes = (
        "The workers with the lowest accuracy: how often they give the true answer by Dawid and Skene, and "
        "their competence by MACE, in percent."
    )
    return ["Question", "Worker", *_OF_RATERS.values(), "Labels"], rows, f"{notes} {_rests_on(result)}", 2


def _fitted(result: Result) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Escaped question and figures of each question that has models."""
    for each in result.get("rater_models", ()):
        if "undefined" not in each:
            yield escaped(" ".join(filter(None, (each["question"], each.get("choice"))))), each


def _rests_on(result: Result) -> str:
    """What the intervals hold for; empty for reports of earlier versions, which have none."""
    return " ".join(dict.fromkeys(each.get("rests_on", "") for _, each in _fitted(result)))


def _cells(row: Mapping[str, Any], names: Mapping[str, str]) -> list[str]:
    intervals = row.get("intervals", {})
    return [estimate({"value": row[name], **intervals.get(name, {})}) for name in names]
