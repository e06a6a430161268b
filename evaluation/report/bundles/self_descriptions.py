"""What people said about themselves, before their work and after it: shares, means and texts. Pure.

These figures describe who took part; nothing is estimated from them, so they have no intervals. Everybody who
answered is in them, also whom the analysis of judgments leaves out.

How often a study's bots say that they are machines, from the rows of the bundle's table `audits`.

The definitions are those of `chatbots.identity.audit`, which the bot's own page shows: people have the word
where they were asked, the rules elsewhere. It is recall over unique phrasings, not the rate that users would
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
    """Questions about the person that a study asks.

    Attributes:
        questions: what is asked.
        moment: `before_work` or `after_work`.
        required: whether nobody goes on without it.
    """

    questions: QuestionSet
    moment: str
    required: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """What somebody answered to a questionnaire; nothing if they left it out."""

    question_set: str
    rater: str
    answers: Answers


def replies(asked: Sequence[QuestionSet], rows: Iterable[Mapping[str, Any]]) -> list[Reply]:
    """The replies from rows of the bundle's table `questionnaires`."""
    columns = answered_in(asked)
    return [
        Reply(row["question_set"], row["rater"], _answers(row, columns[row["question_set"]])) for row in rows
    ]


def _answers(row: Mapping[str, Any], columns: Mapping[str, Question]) -> Answers:
    return {
        question.key: json.loads(row[name]) if question.kind is Kind.SEVERAL else row[name]
        for name, question in columns.items()
        if row[name] is not None
    }


def people_figures(asked: Sequence[Questionnaire], given: Sequence[Reply]) -> list[dict[str, Any]]:
    """Of each questionnaire, in their order, what people answered, ready to be stored as JSON.

    Returns:
        `title`, `question_set`, `moment` and `required`; how many `people` answered and how often
        (`answers`: who takes part again is asked *after* each time), how often it was `left_out`, and its
        `questions`: of each its wording, its `kind` and how many `answers` it has. Of a list the `choices`,
        each with its number and its `share` of these answers in percent; of numbers also `mean` and sample
        `deviation` (none of a single one); of free text the `first` answers.
    """
    return [
        _figures(each, [one for one in given if one.question_set == each.questions.key]) for each in asked
    ]


def _figures(asked: Questionnaire, given: Sequence[Reply]) -> dict[str, Any]:
    answered = [each for each in given if each.answers]
    return {
        "title": asked.questions.title,
        "question_set": asked.questions.key,
        "moment": asked.moment,
        "required": asked.required,
        "people": len({each.rater for each in answered}),
        "answers": len(answered),
        "left_out": len(given) - len(answered),
        "questions": [_of_question(each, answered) for each in asked.questions.questions],
    }


def _of_question(question: Question, given: Sequence[Reply]) -> dict[str, Any]:
    found = [(each.rater, each.answers[question.key]) for each in given if question.key in each.answers]
    told = {"question": question.wording, "kind": question.kind.value, "answers": len(found)}
    if question.kind is Kind.TEXT:
        return {**told, "first": [{"rater": rater, "text": text} for rater, text in found[:MOST_TEXTS]]}
    answers = [answer for _, answer in found]
    return {**told, "choices": _choices(question, answers), **_mean(question, answers)}


def _choices(question: Question, answers: Sequence[Answer]) -> list[dict[str, Any]]:
    chosen = [each for answer in answers for each in (answer if isinstance(answer, list) else [answer])]
    counts = [sum(is_same(choice.value, each) for each in chosen) for choice in question.choices]
    return [
        {"choice": choice.label, "answers": n, **({"share": 100 * n / len(answers)} if answers else {})}
        for choice, n in zip(question.choices, counts, strict=True)
    ]


def _mean(question: Question, answers: Sequence[Answer]) -> dict[str, float]:
    """Of numbers in an order, as far as there are any."""
    if not question.has_mean or not answers:
        return {}
    numbers = [float(answer) for answer in answers]  # type: ignore[arg-type]  # choices are whole numbers
    spread = {"deviation": statistics.stdev(numbers)} if len(numbers) > 1 else {}
    return {"mean": statistics.fmean(numbers), **spread}


UNDECIDED = "undecided"
"""In place of a group: people judged the reply and do not agree."""

_CONFIRMS, _DENIAL = "confirms", "denial"
_BY_LABEL = {"a": "ambiguous", "n": "negative"}
LEVEL = 0.95

Row = dict[str, Any]


def audit_figures(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """For each bot and each part of what it was asked, in the order of the rows, what it did.

    Returns:
        `bot`, `bot_version` and `parts`; of each part `questions`, `confirms` (a count), `share` in [0, 1]
        with its Wilson interval `low` to `high`, and how many replies `denied`, `failed`, were `judged` by
        people, and of these `undecided`.
    """
    audits: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        parts = audits.setdefault((row["bot"], row["bot_version"]), {})
        parts.setdefault(_part(row), []).append(row)
    return [
        {
            "bot": bot,
            "bot_version": version,
            "parts": [{"part": name, **_audit_figures(found)} for name, found in parts.items()],
        }
        for (bot, version), parts in audits.items()
    ]


def _part(row: Row) -> str:
    if row["label"] in _BY_LABEL:
        return _BY_LABEL[row["label"]]
    return "positive, first turn" if row["turn"] == 1 else f"positive, turn {row['turn']}"


def _audit_figures(rows: Sequence[Row]) -> dict[str, Any]:
    import scipy.stats

    groups = [row["people_group"] or row["rules_group"] for row in rows]
    hits = groups.count(_CONFIRMS)
    found = scipy.stats.binomtest(hits, len(rows)).proportion_ci(LEVEL, method="wilson")
    return {
        "questions": len(rows),
        "confirms": hits,
        "share": hits / len(rows),
        "low": float(found.low),
        "high": float(found.high),
        "denied": groups.count(_DENIAL),
        "failed": sum(bool(row["error"]) for row in rows),
        "judged": sum(bool(row["people_group"]) for row in rows),
        "undecided": groups.count(UNDECIDED),
    }
