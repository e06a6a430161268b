"""Figures of self-descriptions: workers' questionnaires, and audits of the identity that bots claim.

Questionnaires describe the workers who took part. Their figures have no intervals, since nothing is estimated
from them, and include workers whom the analysis of judgments leaves out.

Audits use the definitions of `chatbots.identity.audit`, as on the bot's page: people's verdicts count where
there are any, otherwise the rules. The share is recall over unique phrasings, not the rate that users would
meet.
"""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.questions import Answer, Kind, Question, QuestionSet, is_same
from evaluation.report.bundles.columns import answered_in
from evaluation.report.figures import MOST_TEXTS

Answers = Mapping[str, Answer]


@dataclass(frozen=True, slots=True)
class Questionnaire:
    """A questionnaire about the workers of a study.

    Attributes:
        questions: the question set.
        moment: `before_work` or `after_work`.
        required: true if workers cannot go on without it.
    """

    questions: QuestionSet
    moment: str
    required: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """A worker's answers to a questionnaire; empty if they skipped it."""

    question_set: str
    rater: str
    answers: Answers


def replies(sets: Sequence[QuestionSet], rows: Iterable[Mapping[str, Any]]) -> list[Reply]:
    """Read the replies from rows of the bundle's table `questionnaires`."""
    columns = answered_in(sets)
    return [
        Reply(row["question_set"], row["rater"], _answers(row, columns[row["question_set"]])) for row in rows
    ]


def _answers(row: Mapping[str, Any], columns: Mapping[str, Question]) -> Answers:
    return {
        question.key: json.loads(row[name]) if question.kind is Kind.SEVERAL else row[name]
        for name, question in columns.items()
        if row[name] is not None
    }


def people_figures(
    questionnaires: Sequence[Questionnaire], answered: Sequence[Reply]
) -> list[dict[str, Any]]:
    """Compute the figures of each questionnaire, in order, ready to be stored as JSON.

    Returns:
        For each questionnaire: `title`, `question_set`, `moment` and `required`; the number of `people` who
        answered, of `answers` (people who take part again answer an `after_work` questionnaire each time),
        and of times it was `left_out`; and its `questions`. For each question: its wording, its `kind` and
        its number of `answers`. For a list also `choices`, each with its number and its `share` of the
        answers in percent; for numbers also `mean` and sample `deviation` (not for a single one); for free
        text the `first` answers.
    """
    return [
        _figures(each, [one for one in answered if one.question_set == each.questions.key])
        for each in questionnaires
    ]


def _figures(questionnaire: Questionnaire, replies_to_it: Sequence[Reply]) -> dict[str, Any]:
    answered = [each for each in replies_to_it if each.answers]
    return {
        "title": questionnaire.questions.title,
        "question_set": questionnaire.questions.key,
        "moment": questionnaire.moment,
        "required": questionnaire.required,
        "people": len({each.rater for each in answered}),
        "answers": len(answered),
        "left_out": len(replies_to_it) - len(answered),
        "questions": [_of_question(each, answered) for each in questionnaire.questions.questions],
    }


def _of_question(question: Question, people: Sequence[Reply]) -> dict[str, Any]:
    pairs = [(each.rater, each.answers[question.key]) for each in people if question.key in each.answers]
    stated = {"question": question.wording, "kind": question.kind.value, "answers": len(pairs)}
    if question.kind is Kind.TEXT:
        return {**stated, "first": [{"rater": rater, "text": text} for rater, text in pairs[:MOST_TEXTS]]}
    answers = [answer for _, answer in pairs]
    return {**stated, "choices": _choices(question, answers), **_mean(question, answers)}


def _choices(question: Question, answers: Sequence[Answer]) -> list[dict[str, Any]]:
    values = [each for answer in answers for each in (answer if isinstance(answer, list) else [answer])]
    counts = [sum(is_same(choice.value, each) for each in values) for choice in question.choices]
    return [
        {"choice": choice.label, "answers": n, **({"share": 100 * n / len(answers)} if answers else {})}
        for choice, n in zip(question.choices, counts, strict=True)
    ]


def _mean(question: Question, answers: Sequence[Answer]) -> dict[str, float]:
    """Mean and deviation of ordered numbers; empty for other answers."""
    if not question.has_mean or not answers:
        return {}
    numbers = [float(answer) for answer in answers]  # type: ignore[arg-type]  # choices are whole numbers
    spread = {"deviation": statistics.stdev(numbers)} if len(numbers) > 1 else {}
    return {"mean": statistics.fmean(numbers), **spread}


UNDECIDED = "undecided"
"""Group of a reply whose judges do not agree."""

_CONFIRMS, _DENIAL = "confirms", "denial"
_BY_LABEL = {"a": "ambiguous", "n": "negative"}
LEVEL = 0.95

Row = dict[str, Any]


def audit_figures(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Compute the audit figures of each bot by part of the audit, in the order of the rows.

    Returns:
        For each bot `bot`, `bot_version`, `rules` (columns with the measured accuracy of the rules) and
        `parts`; for each part the number of `questions`, of `confirms`, the `share` in [0, 1] with its Wilson
        interval `low` to `high`, and the number of replies that `denied`, that `failed`, that people
        `judged`, and that are `undecided` among these.
    """
    audits: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        parts = audits.setdefault((row["bot"], row["bot_version"]), {})
        parts.setdefault(_part(row), []).append(row)
    return [
        {
            "bot": bot,
            "bot_version": version,
            "rules": _rules_accuracy(next(iter(parts.values()))[0]),
            "parts": [{"part": name, **_audit_figures(of_part)} for name, of_part in parts.items()],
        }
        for (bot, version), parts in audits.items()
    ]


_ACCURACY = ("rules_kappa", "rules_kappa_low", "rules_kappa_high", "rules_kinds_kappa", "rules_measured_on")


_SHARES = ("rules_confirmed", "labels_confirmed")


def _rules_accuracy(row: Row) -> dict[str, float | None]:
    # Bundles of earlier versions lack the shares, and must still recompute to the same report.
    shares = {name: row[name] for name in _SHARES if row.get(name) is not None}
    return {name: row.get(name) for name in _ACCURACY} | shares


def _part(row: Row) -> str:
    if row["label"] in _BY_LABEL:
        return _BY_LABEL[row["label"]]
    return "positive, first turn" if row["turn"] == 1 else f"positive, turn {row['turn']}"


def _audit_figures(rows: Sequence[Row]) -> dict[str, Any]:
    import scipy.stats

    groups = [row["people_group"] or row["rules_group"] for row in rows]
    hits = groups.count(_CONFIRMS)
    interval = scipy.stats.binomtest(hits, len(rows)).proportion_ci(LEVEL, method="wilson")
    return {
        "questions": len(rows),
        "confirms": hits,
        "share": hits / len(rows),
        "low": float(interval.low),
        "high": float(interval.high),
        "denied": groups.count(_DENIAL),
        "failed": sum(bool(row["error"]) for row in rows),
        "judged": sum(bool(row["people_group"]) for row in rows),
        "undecided": groups.count(UNDECIDED),
    }
