"""What a column of a bundle's table is, and the columns with the answers to questions.

Columns that several tables of a bundle have.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from evaluation import questions
from evaluation.questions import Choice, Level, Question, QuestionSet, Scalar


class Kind(StrEnum):
    """Type of a column, by its name in the Frictionless Table Schema."""

    TEXT = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIME = "datetime"


@dataclass(frozen=True, slots=True)
class Column:
    """A column; its name and meaning stay as they are, and an empty value means unknown or none.

    Attributes:
        name: in every file.
        kind: type of its values.
        meaning: in words, for the dictionary; with unit and range where there are any.
    """

    name: str
    kind: Kind
    meaning: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the bundle, stored as JSON Lines, CSV and Parquet with the same rows.

    Attributes:
        name: of its files, without ending.
        about: what a row is, and the order of the rows.
        columns: in the order of the files.
    """

    name: str
    about: str
    columns: tuple[Column, ...]


def answered_in(sets: Sequence[QuestionSet]) -> dict[str, dict[str, Question]]:
    """By key of a set, by name of a column, the question of the set whose answers stand there.

    A column has the question's key. Sets share one only if they ask the very same question; where another
    has the same key, its column begins with the key of its set.
    """
    taken: dict[str, Question] = {}
    found: dict[str, dict[str, Question]] = {}
    for each in sets:
        columns = found.setdefault(each.key, {})
        for question in each.questions:
            is_free = taken.setdefault(question.key, question) == question
            columns[question.key if is_free else f"{each.key}.{question.key}"] = question
    return found


def answers_to(sets: Sequence[QuestionSet]) -> Sequence[Column]:
    """A column for each question of these sets, as `answered_in` names them."""
    asked = {name: question for columns in answered_in(sets).values() for name, question in columns.items()}
    return tuple(_column(name, question) for name, question in asked.items())


def _column(name: str, question: Question) -> Column:
    return Column(name, _kind(question), f"{question.wording} {_answers(question)}")


def _kind(question: Question) -> Kind:
    if question.level is Level.BINARY:
        return Kind.BOOLEAN
    return Kind.INTEGER if question.has_mean else Kind.TEXT


def _answers(question: Question) -> str:
    if question.kind is questions.Kind.TEXT:
        answers = f"free text of at most {question.longest} characters"
    elif question.level is Level.BINARY:
        answers = "`true` or `false`"
    else:
        answers = ", ".join(f"`{choice.value}` {choice.label}{_hint(choice)}" for choice in question.choices)
    about = [question.level.value] if question.level else []
    if question.kind is questions.Kind.SEVERAL:
        about = ["any of them, as a JSON list"]
    if not question.required:
        about.append("may be left out")
    return f"{answers} ({'; '.join([*about, *_condition(question)])})"


def _hint(choice: Choice) -> str:
    return f" ({choice.hint})" if choice.hint else ""


def _condition(question: Question) -> list[str]:
    condition = question.asked_if
    if condition is None:
        return []
    values = " or ".join(f"`{_as_json(value)}`" for value in condition.any_of)
    instead = "left empty" if question.otherwise is None else f"`{_as_json(question.otherwise)}` then"
    return [f"asked if `{condition.question}` is {values}, otherwise {instead}"]


def _as_json(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


DIALOGUE = Column("dialogue", Kind.TEXT, "public id of the conversation")
TURN = Column("turn", Kind.INTEGER, "position in the conversation from 0 up, the opening included")
ITEM = Column("item", Kind.TEXT, "name of the item, a random one")
REMARKS = Column(
    "remarks", Kind.TEXT, "what the bot's filters or service remarked on it, as a JSON list of texts"
)
RATER = "pseudonym of the worker, in this study alone"

READ = (
    DIALOGUE,
    Column("seat", Kind.INTEGER, "whose it was: 0 speaks first in the conversation, 1 answers"),
    Column("number", Kind.INTEGER, "which of the texts that they had to read it is, from 1"),
    Column("key", Kind.TEXT, "its short name, such as `FS1`"),
    Column("title", Kind.TEXT, "the name under which they knew it"),
    Column("heading", Kind.TEXT, "what it is about, where its title does not say so"),
    Column("text", Kind.TEXT, "what there was to read"),
    Column("points", Kind.TEXT, "single facts after the text, as a JSON list of texts"),
    Column("variant", Kind.TEXT, "which version of a text that has several: `shortened` or `summarized`"),
)

LABEL = (
    Column("rater", Kind.TEXT, RATER),
    Column(
        "ask",
        Kind.INTEGER,
        "number of what was asked, as in study.json; empty: it came with a file, or a reader gave it in "
        "another study",
    ),
    Column("question_set", Kind.TEXT, "key of the questions that were answered"),
    Column("labelled_at", Kind.TIME, "when the label was last changed, UTC"),
    Column("label_changes", Kind.INTEGER, "how often the worker changed the label"),
    Column(
        "shown_ms",
        Kind.INTEGER,
        "how long the question was on screen before it was answered, in milliseconds, by the page's clock",
    ),
    Column(
        "answer_ms",
        Kind.INTEGER,
        "time from what is judged being shown to the answer, in milliseconds, likewise",
    ),
)
