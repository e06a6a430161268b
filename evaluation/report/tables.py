"""The tables of a study's bundle: what each column is, for its files and for their dictionary."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from evaluation.questions import Question, QuestionSet


class Kind(StrEnum):
    """Type of a column, by its name in the Frictionless Table Schema."""

    TEXT = "string"
    INTEGER = "integer"
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


_DIALOGUE = Column("dialogue", Kind.TEXT, "public id of the conversation")
_TURN = Column("turn", Kind.INTEGER, "position in the conversation from 0 up, the opening included")
_ITEM = Column("item", Kind.TEXT, "name of the item, a random one")
_REMARKS = Column(
    "remarks", Kind.TEXT, "what the bot's filters or service remarked on it, as a JSON list of texts"
)
_RATER = "pseudonym of the worker; the same person has the same pseudonym in every study of the platform"

CONVERSATIONS = Table(
    "conversations",
    "One row per conversation, finished or not, in the order in which they were begun.",
    (
        Column("number", Kind.INTEGER, "1 for the conversation that was begun first, and so on"),
        _DIALOGUE,
        Column(
            "bot",
            Kind.TEXT,
            "name of the bot; where two talk with each other, the names of both with a space between",
        ),
        Column("worker", Kind.TEXT, _RATER),
        Column("started_at", Kind.TIME, "when it was begun, UTC"),
        Column("ended_at", Kind.TIME, "when it ended, UTC; empty while it is open"),
        Column(
            "ending",
            Kind.TEXT,
            "`complete`; `bot_failed` if it ended because the bot could not answer; empty while it is open. "
            "The report scores complete ones only",
        ),
        Column("question_set", Kind.TEXT, "key of the questions that its worker answers"),
        Column(
            "opening_turns", Kind.INTEGER, "1 if turn 0 is a scripted opening, which does not count; else 0"
        ),
        Column("min_turns", Kind.INTEGER, "turns that it needs, the opening not counted"),
        Column("max_turns", Kind.INTEGER, "turns that it may have, the opening not counted"),
        Column("turns", Kind.INTEGER, "turns that it has, the opening included"),
    ),
)

TURNS = Table(
    "turns",
    "One row per turn, in the order of the conversations and of their turns.",
    (
        _DIALOGUE,
        _TURN,
        Column("speaker", Kind.TEXT, "`bot` or `worker`; a scripted opening belongs to whoever opens"),
        Column("text", Kind.TEXT, "what was said, as it was stored"),
        Column("said_at", Kind.TIME, "when it was stored, UTC"),
        Column("bot", Kind.TEXT, "name of the bot that replied; empty for other turns"),
        Column("bot_version", Kind.TEXT, "fingerprint of the bot version that replied, as in study.json"),
        Column("latency_ms", Kind.INTEGER, "time from asking the bot to its reply, in milliseconds"),
        Column("seed", Kind.INTEGER, "seed that the bot was given for this reply"),
        Column("candidates", Kind.TEXT, "other responses with their scores, as JSON, if the bot gives them"),
        _REMARKS,
        Column(
            "fallback",
            Kind.BOOLEAN,
            "`true` if the reply is a filter's prepared sentence in place of what the bot had to say; "
            "empty for other turns",
        ),
    ),
)

FAULTS = Table(
    "faults",
    "One row per reply that a bot failed to give, in the order of the conversations and of time.",
    (
        _DIALOGUE,
        Column("turn", Kind.INTEGER, "position at which the reply was due"),
        Column("kind", Kind.TEXT, "what went wrong"),
        Column("at", Kind.TIME, "when, UTC"),
    ),
)

WORKERS = Table(
    "workers",
    "One row per worker who agreed to take part, in that order.",
    (
        Column("rater", Kind.TEXT, _RATER),
        Column("consent", Kind.INTEGER, "number of the consent text that they agreed to, as in consent/"),
        Column("consented_at", Kind.TIME, "when they agreed, UTC"),
        Column("outcome", Kind.TEXT, "`complete` or `bot_failed`; empty if they have not finished"),
        Column("set_aside_at", Kind.TIME, "when they were set aside in this study, UTC; empty: they are not"),
        Column(
            "set_aside_reason",
            Kind.TEXT,
            "why the report shows its scores without them, too; their labels are in every other figure",
        ),
    ),
)

ITEMS = Table(
    "items",
    "One row per thing that workers judge, judged or not, in the order in which they came in.",
    (
        _ITEM,
        Column("system", Kind.TEXT, "what the report calls whose words it is about"),
        Column(
            "context", Kind.INTEGER, "number of the context or conversation, the same for all items from it"
        ),
        Column("name", Kind.TEXT, "key of the context, or public id of the conversation"),
        Column("turn", Kind.INTEGER, "position of a turn in its conversation; empty for anything else"),
        Column("repetition", Kind.INTEGER, "which of the system's repeated runs it is from, from 1"),
        Column("language", Kind.TEXT, "code of the language"),
        Column("said_before", Kind.TEXT, "what was said before, oldest first, as a JSON list of texts"),
        Column(
            "text", Kind.TEXT, "what is judged; empty for a whole conversation, which is in `said_before`"
        ),
        Column("bot_version", Kind.TEXT, "fingerprint of the bot version; empty for people and files"),
        Column("latency_ms", Kind.INTEGER, "time from asking the bot to its response, in milliseconds"),
        Column("seed", Kind.INTEGER, "seed that the bot was given for it"),
        _REMARKS,
        Column(
            "fallback",
            Kind.BOOLEAN,
            "`true` if it is a filter's prepared sentence in place of what the bot had to say; "
            "empty for people, files and whole conversations",
        ),
    ),
)

_LABEL = (
    Column("rater", Kind.TEXT, _RATER),
    Column("question_set", Kind.TEXT, "key of the questions that were answered"),
    Column("labelled_at", Kind.TIME, "when the label was last changed, UTC"),
    Column("label_changes", Kind.INTEGER, "how often the worker changed the label"),
)

_JUDGED_IN = Column(
    "judged_in",
    Kind.TEXT,
    "code of the study in which a reader gave it; its report has it, this one counts those of the workers "
    "who talked; empty: theirs",
)


def labels_table(sets: Sequence[QuestionSet]) -> Table:
    """The table of labels, with a column for each question of these sets."""
    return Table(
        "labels",
        "One row per label: a worker's answers about one turn, in the order of the turns.",
        (_DIALOGUE, _TURN, *_LABEL, _JUDGED_IN, *_asked(sets)),
    )


def judgments_table(sets: Sequence[QuestionSet]) -> Table:
    """The table of judgments, with a column for each question of these sets."""
    return Table(
        "judgments",
        "One row per judgment: a worker's answers about one item, in the order of their first answers.",
        (_ITEM, *_LABEL, *_asked(sets)),
    )


def tables(sets: Sequence[QuestionSet], *, judging: bool = False) -> tuple[Table, ...]:
    """All tables of a study in which these question sets were answered, by judging or by talking."""
    if judging:
        return ITEMS, judgments_table(sets), WORKERS
    return CONVERSATIONS, TURNS, labels_table(sets), FAULTS, WORKERS


def _asked(sets: Sequence[QuestionSet]) -> Sequence[Column]:
    asked = {question.key: _column(question) for each in sets for question in each.questions}
    return tuple(asked.values())


def _column(question: Question) -> Column:
    values = [choice.value for choice in question.choices]
    kind = Kind.TEXT
    if all(isinstance(value, bool) for value in values):
        kind = Kind.BOOLEAN
    elif all(isinstance(value, int) for value in values):
        kind = Kind.INTEGER
    return Column(question.key, kind, f"{question.wording} {_answers(question)}")


def _answers(question: Question) -> str:
    if question.level == "binary":
        answers = "`true` or `false`"
    else:
        answers = ", ".join(f"`{choice.value}` {choice.label}" for choice in question.choices)
    condition = question.asked_if
    if condition is None:
        return f"{answers} ({question.level})"
    instead = "left empty" if question.otherwise is None else f"`{question.otherwise}` then".lower()
    equals = str(condition.equals).lower()
    return f"{answers} ({question.level}; asked if `{condition.question}` is `{equals}`, otherwise {instead})"
