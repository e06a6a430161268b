"""Parts of question sets: questions with their kinds of answers, scores, worked examples.

Answers are plain JSON values: true, false, a whole number or a text for one choice; a whole number for a
scale; a list, in the declared order and without repeats, for several choices; a text for free text.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, ClassVar, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StrictStr

from evaluation.questions.validation import (
    LONGEST_TEXT_ANSWER,
    MOST_CHOICES,
    MOST_QUESTIONS,
    Caption,
    DeclarationError,
    GivenAnswer,
    Hint,
    Line,
    OptionalText,
    QuestionKey,
    ScoreKey,
    ScoreTitle,
    StoredValue,
    Text,
    WholeNumber,
)

Scalar: TypeAlias = bool | int | str
Answer: TypeAlias = Scalar | list[Scalar]

# Parts that are built in Python are checked as well, once they stand in a set.
PART = ConfigDict(extra="forbid", revalidate_instances="always")

FIRST, SECOND, TIED, BOTH_BAD = "first", "second", "tied", "both_bad"
"""The answers to a question about the two sides of a pair, as they were shown."""
SIDES = frozenset({FIRST, SECOND})


class Kind(StrEnum):
    """Kind of answer to a question."""

    ONE = "one"
    """One of a closed list."""
    SCALE = "scale"
    """A whole number between two ends, which have captions."""
    SEVERAL = "several"
    """Any number of a closed list."""
    TEXT = "text"
    """Free text."""


class Level(StrEnum):
    """Level of measurement; decides which distances between answers mean anything."""

    BINARY = "binary"
    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"


class Subject(StrEnum):
    """Subject of a judgment."""

    TURN = "turn"
    RESPONSE = "response"
    DIALOGUE = "dialogue"
    PAIR = "pair"
    """Two responses to one context, or two conversations."""
    CONTEXT = "context"
    """What was said before, without a response."""
    PERSON = "person"
    """The worker who answers, before or after their work."""


class Combine(StrEnum):
    """Method to combine the terms of a score into one number."""

    MEAN = "mean"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer that a rater can give: the stored value, its caption, and a short hint below it."""

    __pydantic_config__: ClassVar[ConfigDict] = PART

    value: Annotated[StoredValue, Field(title="Stored as")]
    label: Annotated[Caption, Field(title="Caption")]
    hint: Annotated[Hint, Field(title="Hint below")] = ""


@dataclass(frozen=True, slots=True)
class Scale:
    """Whole numbers from `low` to `high`, with a caption at each end.

    Attributes:
        low: the lowest number that can be chosen.
        high: the highest.
        low_caption: what the lowest means.
        high_caption: what the highest means.
        equal_steps: whether raters are told that the steps are of equal size; then the level of measurement
            is interval, else ordinal.
    """

    __pydantic_config__: ClassVar[ConfigDict] = PART

    low: Annotated[WholeNumber, Field(title="Lowest number")]
    high: Annotated[WholeNumber, Field(title="Highest number")]
    low_caption: Annotated[Caption, Field(title="Meaning of the lowest number")]
    high_caption: Annotated[Caption, Field(title="Meaning of the highest number")]
    equal_steps: Annotated[StrictBool, Field(title="Workers are told that all steps are of equal size")] = (
        False
    )

    @property
    def points(self) -> tuple[Choice, ...]:
        """Every number of the scale as a choice, the captions as hints at its ends."""
        hints = {self.low: self.low_caption, self.high: self.high_caption}
        return tuple(Choice(n, str(n), hints.get(n, "")) for n in range(self.low, self.high + 1))


def _is_built(scale: Scale) -> Scale:
    """Refuse a scale of which no points are built."""
    if scale.high <= scale.low:
        raise DeclarationError(
            "high", f"{scale.high} is not above the lowest number, {scale.low}.", "Give a higher number."
        )
    if (points := scale.high - scale.low + 1) > MOST_CHOICES:
        raise DeclarationError(
            "high", f"the scale has {points} numbers; {MOST_CHOICES} is the most.", "Give a lower number."
        )
    return scale


@dataclass(frozen=True, slots=True)
class Condition:
    """Condition that an earlier question was answered with one of these values, or a list with one."""

    __pydantic_config__: ClassVar[ConfigDict] = PART

    question: StrictStr
    any_of: Annotated[tuple[StoredValue, ...], Field(title="after any of these answers", min_length=1)]

    def holds(self, answers: Mapping[str, Answer]) -> bool:
        """True if these answers, by key, meet the condition; of several choices any may meet it."""
        answer = answers.get(self.question)
        values = answer if isinstance(answer, list) else [answer]
        return any(is_same(value, each) for value in self.any_of for each in values)


def is_same(value: object, other: object) -> bool:
    """True if two answers are equal and of the same type: 1 is not True, "1" is not 1."""
    return type(value) is type(other) and value == other


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    Attributes:
        key: name in storage and exports.
        wording: the question as the rater reads it.
        help: guidance shown beside it, plain text.
        kind: how it is answered.
        choices: all answers, in the order shown; numbers in rising order. A scale has its points here without
            being told, a free text nothing.
        scale: ends of the scale, if it is one.
        longest: most characters of a free text.
        required: whether a rater must answer it if it is asked.
        asked_if: asked only if this holds; None: always asked.
        otherwise: the answer that follows where the question is not asked (a response that is not sensible
            is not specific: False); None: then nothing is stored.
    """

    __pydantic_config__: ClassVar[ConfigDict] = PART

    key: Annotated[
        QuestionKey,
        Field(
            title="Key",
            description="Name of its column in files, such as polite. Small letters, digits and _.",
        ),
    ]
    wording: Annotated[Line, Field(title="Wording")]
    help: Annotated[
        OptionalText,
        Field(title="Help", description="Workers read it in the instructions, and beside the question."),
    ] = ""
    kind: Annotated[Kind, Field(title="It is answered with")] = Kind.ONE
    choices: Annotated[tuple[Choice, ...], Field(title="Choices", max_length=MOST_CHOICES)] = ()
    scale: Annotated[Scale, AfterValidator(_is_built)] | None = None
    longest: Annotated[WholeNumber, Field(title="Most characters", ge=1, le=LONGEST_TEXT_ANSWER)] = 1000
    required: Annotated[StrictBool, Field(title="Workers have to answer it")] = True
    asked_if: Annotated[Condition | None, Field(title="It is asked")] = None
    otherwise: Annotated[StoredValue | None, Field(title="Where it is not asked, count it as")] = None

    def __post_init__(self) -> None:
        # A scale of a million points is refused by its set's check; it must not be built here first.
        if self.scale and not self.choices and self.scale.high - self.scale.low < MOST_CHOICES:
            object.__setattr__(self, "choices", self.scale.points)

    @property
    def level(self) -> Level | None:
        """Level of measurement: of a list from its values, yes or no, numbers or names; None of a text."""
        if self.kind is Kind.TEXT:
            return None
        if self.scale is not None:
            return Level.INTERVAL if self.scale.equal_steps else Level.ORDINAL
        values = [choice.value for choice in self.choices]
        if self.kind is Kind.ONE and all(isinstance(value, bool) for value in values):
            return Level.BINARY
        if self.kind is Kind.ONE and all(type(value) is int for value in values):
            return Level.ORDINAL
        return Level.NOMINAL

    @property
    def is_sided(self) -> bool:
        """True if the question compares the two sides of a pair, in the order shown."""
        values = {choice.value for choice in self.choices}
        return self.kind is Kind.ONE and SIDES <= values <= SIDES | {TIED, BOTH_BAD}

    @property
    def has_mean(self) -> bool:
        """True if the mean of the answers is meaningful: they are ordered numbers."""
        return self.level in (Level.ORDINAL, Level.INTERVAL)

    def index_of(self, value: object) -> int | None:
        """The number of a value among the choices, from 0; None if it is not among them."""
        return next((n for n, choice in enumerate(self.choices) if is_same(value, choice.value)), None)

    def caption_of(self, answer: Answer) -> str:
        """A valid answer in words, for messages and tables."""
        if isinstance(answer, list):
            return ", ".join(self.caption_of(each) for each in answer) or "none"
        index = self.index_of(answer)
        return str(answer) if index is None else self.choices[index].label


@dataclass(frozen=True, slots=True)
class Term:
    """A number for each label, from its answer to one question.

    Attributes:
        question: key of the question.
        choice: 1 if the answer is this choice, or is a list that has it, else 0; None: the answer itself,
            which is a number.
    """

    __pydantic_config__: ClassVar[ConfigDict] = PART

    question: StrictStr
    choice: StoredValue | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """A number for each label, averaged over labels: a share in percent, or points.

    Attributes:
        key: name in storage, exports and charts.
        title: name for people.
        terms: what it is made of. All are shares of a choice, or all are answers that are numbers.
        combine: how several terms become one number. A label that has not answered all of them has none.
    """

    __pydantic_config__: ClassVar[ConfigDict] = PART

    key: Annotated[ScoreKey, Field(title="Key", description="Name in files.")]
    title: Annotated[ScoreTitle, Field(title="Title")]
    terms: Annotated[tuple[Term, ...], Field(title="Made of", min_length=1, max_length=MOST_QUESTIONS)]
    combine: Annotated[Combine, Field(title="Combine several by")] = Combine.MEAN

    @property
    def is_percent(self) -> bool:
        """True if the score consists of shares, shown in percent; otherwise it consists of points."""
        return all(term.choice is not None for term in self.terms)

    @property
    def factor(self) -> int:
        """Factor from values to shown values: 100 for shares, which are shown in percent, else 1."""
        return 100 if self.is_percent else 1


def default_scores(questions: Iterable[Question]) -> tuple[Score, ...]:
    """The share of yes, the share of each choice, the mean of numbers; nothing of free text."""
    all_questions = list(questions)
    return tuple(
        score for question in all_questions for score in _scores_of(question, alone=len(all_questions) == 1)
    )


def _scores_of(question: Question, *, alone: bool) -> Iterator[Score]:
    if question.kind is Kind.TEXT:
        return
    if question.level is Level.BINARY:
        yield Score(question.key, question.wording, (Term(question.key, choice=True),))
    elif question.has_mean:
        yield Score(question.key, question.wording, (Term(question.key),))
    else:
        for number, choice in enumerate(question.choices, 1):
            title = choice.label if alone else f"{question.wording} {choice.label}"
            yield Score(f"{question.key}.{number}", title, (Term(question.key, choice.value),))


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example for the instructions, in our own words.

    Attributes:
        context: what was said before, oldest first, as (speaker, text); the speakers are "You" and "Chatbot".
        response: what is judged; of a pair, the first; empty if the context itself is judged.
        answers: the right answers, as `check` takes them.
        why: the reason, in a sentence or two.
        other: second response of a pair.
    """

    __pydantic_config__: ClassVar[ConfigDict] = PART

    context: Annotated[tuple[tuple[StrictStr, Text], ...], Field(title="What was said before")]
    response: Annotated[OptionalText, Field(title="What is judged")]
    answers: Mapping[StrictStr, GivenAnswer] = field(hash=False)
    why: Annotated[Text, Field(title="Why", description="A sentence or two.")]
    other: Annotated[OptionalText, Field(title="The second response")] = ""
