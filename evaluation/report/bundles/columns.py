"""Columns of a bundle's tables: description, columns for answers, and columns of several tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from evaluation import questions
from evaluation.questions import Choice, Level, Question, QuestionSet, Scalar


class Kind(StrEnum):
    """Type of a column, named as in the Frictionless Table Schema."""

    TEXT = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    TIME = "datetime"


@dataclass(frozen=True, slots=True)
class Column:
    """A column. Name and meaning never change; an empty value means unknown or none.

    Attributes:
        name: name in every file.
        kind: type of its values.
        meaning: description for the data dictionary, with unit and range.
    """

    name: str
    kind: Kind
    meaning: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the bundle, stored as JSON Lines, CSV and Parquet with the same rows.

    Attributes:
        name: name of its files, without extension.
        about: meaning of a row, and order of the rows.
        columns: columns in the order of the files.
    """

    name: str
    about: str
    columns: tuple[Column, ...]


def answered_in(sets: Sequence[QuestionSet]) -> dict[str, dict[str, Question]]:
    """Assign columns to questions: by key of a set, by name of a column, the question.

    A column is named by its question's key. Sets share a column only for identical questions; a different
    question with the same key gets a column with the key of its set as prefix.
    """
    by_key: dict[str, Question] = {}
    by_file: dict[str, dict[str, Question]] = {}
    for each in sets:
        columns = by_file.setdefault(each.key, {})
        for question in each.questions:
            is_free = by_key.setdefault(question.key, question) == question
            columns[question.key if is_free else f"{each.key}.{question.key}"] = question
    return by_file


def answers_to(sets: Sequence[QuestionSet]) -> Sequence[Column]:
    """Describe a column for each question of these sets, named by `answered_in`."""
    by_name = {name: question for columns in answered_in(sets).values() for name, question in columns.items()}
    return tuple(_column(name, question) for name, question in by_name.items())


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
ITEM = Column("item", Kind.TEXT, "random name of the item")
REMARKS = Column(
    "remarks", Kind.TEXT, "remarks of the bot's filters or service about it, as a JSON list of texts"
)
GENERATION = (
    REMARKS,
    Column(
        "outcome",
        Kind.TEXT,
        "how the bot's reply ended: `complete`; `cut` at its length limit; `refused` by the model; "
        "`filtered` by its service; `tool_call` in place of an answer; `fallback`, a filter's prepared "
        "sentence; `stopped` by the reader; empty where no bot of this platform spoke. Refused and filtered "
        "replies and tool calls may have no text",
    ),
    Column("model", Kind.TEXT, "model that answered, as the bot's service names it"),
    Column("prompt_tokens", Kind.INTEGER, "tokens of the request, cached ones included, if the bot counts"),
    Column("completion_tokens", Kind.INTEGER, "tokens that were generated, reasoning included, likewise"),
    Column("reasoning_tokens", Kind.INTEGER, "those of `completion_tokens` that were reasoning"),
    Column("cached_tokens", Kind.INTEGER, "those of `prompt_tokens` that the service had in its cache"),
    Column("first_seconds", Kind.NUMBER, "seconds from the request to the first token, if the bot can tell"),
    Column("reasoning", Kind.TEXT, "the model's reasoning, where the study stores it; workers never see it"),
    Column(
        "outcome_before_stop",
        Kind.TEXT,
        "outcome of the whole reply, where `outcome` is `stopped` after the bot had given all of it",
    ),
)
"""Columns about the generation of a reply, the same in every table of replies."""
RATER = "pseudonym of the worker in this study"

READ = (
    DIALOGUE,
    Column("seat", Kind.INTEGER, "seat of the reader: 0 speaks first in the conversation, 1 answers"),
    Column("number", Kind.INTEGER, "number of the text among the texts of this seat, from 1"),
    Column("key", Kind.TEXT, "short name of the text, such as `FS1`"),
    Column("title", Kind.TEXT, "title of the text on the reader's page"),
    Column("heading", Kind.TEXT, "subject of the text, if its title does not say it"),
    Column("text", Kind.TEXT, "the text"),
    Column("points", Kind.TEXT, "single facts after the text, as a JSON list of texts"),
    Column("variant", Kind.TEXT, "version of a text with several versions: `shortened` or `summarized`"),
)

LABEL = (
    Column("rater", Kind.TEXT, RATER),
    Column(
        "ask",
        Kind.INTEGER,
        "number of the ask, as in study.json; empty: the label came with a file, or a reader gave it in "
        "another study",
    ),
    Column("question_set", Kind.TEXT, "key of the answered question set"),
    Column("labelled_at", Kind.TIME, "time of the last change of the label, UTC"),
    Column("label_changes", Kind.INTEGER, "number of times that the worker changed the label"),
    Column(
        "shown_ms",
        Kind.INTEGER,
        "time from display of the question to the answer, in milliseconds, by the page's clock",
    ),
    Column(
        "answer_ms",
        Kind.INTEGER,
        "time from display of the judged text to the answer, in milliseconds, by the page's clock",
    ),
)
