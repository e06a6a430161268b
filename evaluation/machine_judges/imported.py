"""Labels of a machine judge that worked elsewhere, from the rows of a table. Nothing is guessed.

Each item is named by its key; " swapped" behind it says that the judge saw the second side of a pair first.
"""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evaluation.files.reading import boolean
from evaluation.machine_judges.model_answers import Probabilities, as_choice
from evaluation.machine_judges.template import MOST_DRAWS, judgeable_questions
from evaluation.questions import Answer, AnswersError, Kind, Question, QuestionSet
from evaluation.questions.answers import checked
from evaluation.texts.cleaning import cleaned

SWAPPED = " swapped"
"""End of the reference to a pair whose second side the judge saw first."""

LONGEST_REASON = 4_000
"""Characters of a reason that are stored."""

Cells = Mapping[str, object]
"""Cells of a row by column, as text or as values of JSON."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Meaning of a table's columns; an empty name stands for no column.

    Attributes:
        item: reference to the item.
        answers: by question key, the column with its answers. Not used with a column `question`.
        question: column with the key or the wording of the answered question, of tables with a row for each
            answer.
        answer: column with the answer to that question.
        probability: probability of the answer that was given, in [0, 1].
        reason: what the judge wrote about the item.
        draw: number of the answer about the item, from 1.
    """

    item: str
    answers: Mapping[str, str] = field(default_factory=dict)
    question: str = ""
    answer: str = ""
    probability: str = ""
    reason: str = ""
    draw: str = ""


@dataclass(frozen=True, slots=True)
class ImportedLabel:
    """One answer of the judge about one item.

    Attributes:
        line: number of its first row.
        item: key of the item.
        is_swapped: of a pair, whether the judge saw its second side first.
        draw: number of the answer, from 1.
        answers: as those of people; None if they are outside the choices.
        why: why there are no answers; empty otherwise.
        probabilities: those of the answers, if the table has them.
        reason: what the judge wrote.
    """

    line: int
    item: str
    is_swapped: bool
    draw: int
    answers: dict[str, Answer] | None
    why: str = ""
    probabilities: Probabilities = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Imported:
    """Content of a table.

    Attributes:
        labels: labels in the order of the rows.
        problems: line and sentence of everything that prevents the import.
        notes: line and sentence of what deserves a look.
    """

    labels: list[ImportedLabel]
    problems: list[tuple[int, str]]
    notes: list[tuple[int, str]]


def suggested_columns(questions: QuestionSet, header: Sequence[str]) -> Columns:
    """The columns by their names, or what follows the last point in them; empty names where none fits."""
    names = list(reversed(header))
    by_name = {name.rpartition(".")[2].strip().casefold(): name for name in names}
    by_name |= {name.strip().casefold(): name for name in names}

    def first(*names: str) -> str:
        return next((by_name[name.casefold()] for name in names if name.casefold() in by_name), "")

    asked = judgeable_questions(questions)
    answers = {each.key: first(f"answer_{each.key}", each.key, each.wording) for each in asked}
    general = first("answer", "label", "judgment", "verdict", "score", "value")
    if len(asked) == 1:
        answers[asked[0].key] = answers[asked[0].key] or general
    question = first("question", "question_key") if len(asked) > 1 and not any(answers.values()) else ""
    return Columns(
        item=first("item", "item_id", "id", "key"),
        answers={key: name for key, name in answers.items() if name and not question},
        question=question,
        answer=general if question else "",
        probability=first("probability", "confidence", "prob"),
        reason=first("reason", "explanation", "rationale", "text"),
        draw=first("draw", "epoch"),
    )


def missing_columns(questions: QuestionSet, columns: Columns) -> list[str]:
    """Sentences about columns without which nothing can be read; empty if none is missing."""
    missing = [] if columns.item else ["Choose the column that names the item."]
    if columns.question and not columns.answer:
        missing.append("Choose the column with the answers, beside that with the questions.")
    if not columns.question and not any(columns.answers.values()):
        missing.append("Choose a column with answers.")
    return missing


def read_labels(
    questions: QuestionSet,
    rows: Sequence[tuple[int, Cells]],
    columns: Columns,
    items: Collection[str],
    *,
    of_pairs: bool = False,
) -> Imported:
    """Read labels from the rows of a table.

    An answer that is none of the choices is kept as such, with its reason. Unknown items, repeated answers,
    and draws and probabilities out of their range are problems.

    Args:
        questions: the question set that the judge answered.
        rows: number of each row in its file, and its cells.
        columns: meaning of the columns; complete by `missing_columns`.
        items: keys of the items that may be labelled.
        of_pairs: true if the items are pairs.
    """
    table = _Table(questions, columns, items, of_pairs)
    problems: list[tuple[int, str]] = []
    for line, cells in rows:
        try:
            table.add(line, cells)
        except ValueError as error:
            problems.append((line, str(error)))
    labels = list(table.labels())
    return Imported(labels, problems, list(_notes(questions, labels)))


_Key = tuple[str, bool, int]


@dataclass(slots=True)
class _Given:
    """Cells about one item and draw."""

    line: int
    answers: dict[str, object] = field(default_factory=dict)
    probabilities: dict[str, float] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)


class _Table:
    """Rows of a table, collected by item and draw."""

    def __init__(
        self, questions: QuestionSet, columns: Columns, items: Collection[str], of_pairs: bool
    ) -> None:
        self._asked = judgeable_questions(questions)
        self._columns, self._items, self._of_pairs = columns, items, of_pairs
        self._given: dict[_Key, _Given] = {}

    def add(self, line: int, cells: Cells) -> None:
        """Add a row.

        Raises:
            ValueError: the row cannot be used; says why, with the value and the cure.
        """
        columns = self._columns
        item, is_swapped = self._item(_text(cells.get(columns.item)))
        draw = _draw(cells.get(columns.draw)) if columns.draw else 1
        answers = self._answers(cells)
        probability = _probability(cells.get(columns.probability)) if columns.probability else None
        if probability is not None and len(answers) > 1:
            raise ValueError(
                "This row answers several questions, so its probability belongs to none. Write a row for "
                "each answer, or leave the column of probabilities out."
            )
        given = self._given.setdefault((item, is_swapped, draw), _Given(line))
        for key, answer in answers.items():
            if key in given.lines:
                raise ValueError(_repeated(item, key, given.lines[key]))
            given.lines[key] = line
            given.answers[key] = answer
            if probability is not None:
                given.probabilities[key] = probability
        if reason := _text(cells.get(columns.reason)) if columns.reason else "":
            given.reasons.append(reason)

    def _item(self, reference: str) -> tuple[str, bool]:
        if not reference:
            raise ValueError(f"“{self._columns.item}” is empty. Write the key of the item in it.")
        is_swapped = self._of_pairs and reference.endswith(SWAPPED)
        key = reference.removesuffix(SWAPPED).lower() if is_swapped else reference.lower()
        if key not in self._items:
            raise ValueError(
                f"“{cleaned(reference, 60)}” is no item that a machine judges here. Take the keys from the "
                "file of items."
            )
        return key, is_swapped

    def _answers(self, cells: Cells) -> dict[str, object]:
        columns = self._columns
        if not columns.question:
            return {key: cells.get(name) for key, name in columns.answers.items() if name}
        name = _text(cells.get(columns.question))
        found = [q.key for q in self._asked if name.casefold() in (q.key.casefold(), q.wording.casefold())]
        if len(found) != 1:
            known = ", ".join(question.key for question in self._asked)
            raise ValueError(f"“{cleaned(name, 60)}” is no question here. The questions are: {known}.")
        return {found[0]: cells.get(columns.answer)}

    def labels(self) -> Iterator[ImportedLabel]:
        """The labels, in the order of their first rows."""
        for (item, is_swapped, draw), given in self._given.items():
            reason = cleaned("\n".join(given.reasons), LONGEST_REASON)
            try:
                answers = _checked(self._asked, given.answers)
            except AnswersError as error:
                why = cleaned(error.message, 300)
                yield ImportedLabel(given.line, item, is_swapped, draw, None, why, reason=reason)
                continue
            found = {
                question.key: _of_choices(question, answers[question.key], given.probabilities[question.key])
                for question in self._asked
                if question.key in answers and question.key in given.probabilities
            }
            probabilities = {key: each for key, each in found.items() if each}
            yield ImportedLabel(given.line, item, is_swapped, draw, answers, "", probabilities, reason)


def _checked(asked: Sequence[Question], given: Mapping[str, object]) -> dict[str, Answer]:
    by_key = {question.key: question for question in asked}
    return checked(asked, {key: _answer(by_key[key], value) for key, value in given.items()})


def _repeated(item: str, key: str, line: int) -> str:
    return (
        f"Item {item} has an answer to “{key}” in line {line} already. Remove one, or choose the column that "
        "numbers the answers."
    )


def _answer(question: Question, value: object) -> object:
    """The stored value of a choice that is given as text or number; any other value as it is."""
    if isinstance(value, str):
        value = value.strip()
    if value is None or value == "" or question.index_of(value) is not None:
        return None if value == "" else value
    if question.kind is Kind.SEVERAL:
        return as_choice(question, _list(value))
    if isinstance(value, int | float):
        value = str(int(value)) if math.isfinite(value) and value == int(value) else str(value)
    if isinstance(value, str) and {choice.value for choice in question.choices} == {True, False}:
        try:
            return boolean(value)
        except ValueError:
            return as_choice(question, value)
    return as_choice(question, value)


def _list(value: object) -> object:
    """A list that a cell has as text of JSON; any other value as it is."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _draw(value: object) -> int:
    text = _text(value).removesuffix(".0")
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:4]) <= MOST_DRAWS):
        raise ValueError(
            f"“{cleaned(text, 20)}” is not the number of an answer. Write 1 to {MOST_DRAWS}, or leave the "
            "column out."
        )
    return int(text)


def _probability(value: object) -> float | None:
    """The probability in a cell; None for an empty one."""
    text = _text(value)
    if not text:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 1:
        raise ValueError(f"“{cleaned(text, 20)}” is not a probability. Write a number from 0 to 1.")
    return number


def _of_choices(question: Question, answer: Answer, probability: float) -> list[float | None]:
    """Probability of each choice; of two choices both are known. Empty for several choices at once."""
    chosen = question.index_of(answer)
    if question.kind is Kind.SEVERAL or chosen is None:
        return []
    others = 1 - probability if len(question.choices) == 2 else None
    return [probability if number == chosen else others for number in range(len(question.choices))]


def _notes(questions: QuestionSet, labels: Sequence[ImportedLabel]) -> Iterator[tuple[int, str]]:
    outside = [label for label in labels if label.answers is None]
    if outside:
        n = f"{len(outside):,} label is" if len(outside) == 1 else f"{len(outside):,} labels are"
        yield (
            outside[0].line,
            f"{n} outside the choices, and counted as such. The first: {outside[0].why}",
        )
    unlikely = [label for label in labels if _is_unlikely(questions, label)]
    if unlikely:
        n = f"{len(unlikely):,} answer has" if len(unlikely) == 1 else f"{len(unlikely):,} answers have"
        yield (
            unlikely[0].line,
            f"{n} a probability below that of the other choices. The column must have the probability of the "
            "answer that was given, not that of “yes”. This is the first.",
        )


def _is_unlikely(questions: QuestionSet, label: ImportedLabel) -> bool:
    """True if another choice is more probable than the answer."""
    for question in judgeable_questions(questions):
        known = label.probabilities.get(question.key, [])
        chosen = question.index_of((label.answers or {}).get(question.key)) if known else None
        if chosen is not None and (known[chosen] or 0) < 1 / len(question.choices):
            return True
    return False
