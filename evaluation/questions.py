"""Question sets: what raters are asked, declared once for forms, validation, storage, statistics, exports.

A new set is a new `QuestionSet` in `QUESTION_SETS`, not new code. Answers are plain JSON values: `True` or
`False` for a binary question, an integer or a string for the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import TypeAlias

Answer: TypeAlias = bool | int | str


class Level(StrEnum):
    """Level of measurement; decides which distances between answers mean anything."""

    BINARY = "binary"
    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"


class Subject(StrEnum):
    """What a judgment is about."""

    TURN = "turn"
    RESPONSE = "response"
    DIALOGUE = "dialogue"


class AnswersError(ValueError):
    """Answers that cannot be stored, explained in words fit to show to a worker.

    Attributes:
        code: `unknown_question`, `missing_answer`, `wrong_value` or `not_asked`.
        message: the explanation, also `str(error)`.
        question: key of the question that is at fault.
    """

    def __init__(self, code: str, message: str, question: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.question = question


class UnknownQuestionSetError(LookupError):
    """No question set has this key; the message suggests one and lists all."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer that a rater can give: the stored value, its caption, and a short hint below it."""

    value: Answer
    label: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """Holds if the earlier question `question` was answered with `equals`."""

    question: str
    equals: Answer


@dataclass(frozen=True, slots=True)
class Question:
    """One question with a closed list of answers.

    Attributes:
        key: name in storage and exports.
        wording: the question as the rater reads it.
        help: guidance shown beside it, plain text.
        level: level of measurement of the answers.
        choices: all answers, in the order shown; for ordinal and interval questions in rising order.
        asked_if: asked only if this holds; None: always asked.
        otherwise: the answer that follows where the question is not asked (a response that is not sensible
            is not specific: False); None: then nothing is stored.
    """

    key: str
    wording: str
    help: str
    level: Level
    choices: tuple[Choice, ...]
    asked_if: Condition | None = None
    otherwise: Answer | None = None

    def accepts(self, answer: object) -> bool:
        """Whether `answer` is one of the choices, of the same type: 1 is not True, "1" is not 1."""
        return any(type(answer) is type(c.value) and answer == c.value for c in self.choices)

    def label_of(self, answer: Answer) -> str:
        """The caption of a valid answer, for messages and tables."""
        return next(c.label for c in self.choices if type(answer) is type(c.value) and answer == c.value)


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions that are answered together about one subject.

    Attributes:
        key: name in the registry, in storage and in exports.
        title: name for people.
        subjects: the kinds of subject that it can be asked about.
        questions: in the order asked; a condition refers to an earlier question only.
        source: the publication that defines it.

    Raises:
        ValueError: at declaration, if keys repeat, a condition looks forward or names an answer that does
            not exist, a binary question has other choices than True and False, or `otherwise` is no choice.
    """

    key: str
    title: str
    subjects: frozenset[Subject]
    questions: tuple[Question, ...]
    source: str

    def __post_init__(self) -> None:
        earlier: dict[str, Question] = {}
        for question in self.questions:
            _check_declaration(question, earlier, self.key)
            earlier[question.key] = question

    def question(self, key: str) -> Question:
        """The question with this key; raises `KeyError` that lists the keys."""
        for question in self.questions:
            if question.key == key:
                return question
        keys = ", ".join(q.key for q in self.questions)
        raise KeyError(f"Question set '{self.key}' has no question '{key}'. It has: {keys}.")

    def check(self, answers: Mapping[str, object]) -> dict[str, Answer]:
        """Validate a complete set of answers and return what to store.

        A question that is not asked may be absent, None or equal to its `otherwise`; the result then holds
        `otherwise`. So `{"sensible": False}` of the SSA set becomes `{"sensible": False, "specific": False}`,
        and `{"sensible": False, "specific": True}` is refused.

        Args:
            answers: answer by question key; None counts as no answer.

        Returns:
            Answer by question key, in the order of the questions.

        Raises:
            AnswersError: an unknown question, a missing answer, an answer that is not among the choices,
                or an answer to a question that is not asked.
        """
        self._refuse_unknown(answers)
        accepted: dict[str, Answer] = {}
        for question in self.questions:
            answer = self._checked(question, answers.get(question.key), accepted)
            if answer is not None:
                accepted[question.key] = answer
        return accepted

    def _refuse_unknown(self, answers: Mapping[str, object]) -> None:
        known = [q.key for q in self.questions]
        for key in answers:
            if key not in known:
                message = f"“{key}” is not a question of this form. Its questions are: {', '.join(known)}."
                raise AnswersError("unknown_question", message, str(key))

    def _checked(self, question: Question, answer: object, accepted: Mapping[str, Answer]) -> Answer | None:
        condition = question.asked_if
        if condition is not None and accepted.get(condition.question) != condition.equals:
            if answer is None or (type(answer) is type(question.otherwise) and answer == question.otherwise):
                return question.otherwise
            raise AnswersError("not_asked", self._why_not_asked(question, condition), question.key)
        if answer is None:
            raise AnswersError("missing_answer", f"Please answer “{question.wording}”", question.key)
        if not question.accepts(answer) or not isinstance(answer, bool | int | str):
            raise AnswersError("wrong_value", _why_wrong(question, answer), question.key)
        return answer

    def _why_not_asked(self, question: Question, condition: Condition) -> str:
        first = self.question(condition.question)
        return (
            f"“{question.wording}” is asked only if the answer to “{first.wording}” is "
            f"“{first.label_of(condition.equals)}”. Please change one of the two answers."
        )


def _why_wrong(question: Question, answer: object) -> str:
    choices = ", ".join(f"“{c.label}”" for c in question.choices)
    return f"“{answer}” is not an answer to “{question.wording}” Please choose one of: {choices}."


def _check_declaration(question: Question, earlier: Mapping[str, Question], where: str) -> None:
    name = f"Question '{question.key}' of set '{where}'"
    if question.key in earlier:
        raise ValueError(f"{name} is declared twice.")
    if question.level is Level.BINARY and sorted(str(c.value) for c in question.choices) != ["False", "True"]:
        raise ValueError(f"{name} is binary, so its choices must have the values True and False.")
    condition = question.asked_if
    if condition is not None:
        asked_before = earlier.get(condition.question)
        if asked_before is None or not asked_before.accepts(condition.equals):
            raise ValueError(
                f"{name} depends on '{condition.question}', which must come earlier and accept it."
            )
    if question.otherwise is not None and not question.accepts(question.otherwise):
        raise ValueError(f"{name} falls back to {question.otherwise!r}, which is not among its choices.")


YES_OR_NO = (Choice(True, "Yes"), Choice(False, "No"))

SSA = QuestionSet(
    key="ssa",
    title="Sensibleness and specificity",
    subjects=frozenset({Subject.TURN, Subject.RESPONSE}),
    questions=(
        Question(
            key="sensible",
            wording="Does it make sense?",
            help=(
                "Judge with common sense, given everything said before. Answer No if anything is off: "
                "confusing, illogical, out of context, factually wrong, or contradicting what was said."
            ),
            level=Level.BINARY,
            choices=YES_OR_NO,
        ),
        Question(
            key="specific",
            wording="Is it specific?",
            help=(
                "Does the answer belong to this conversation, or would it fit dozens of others as well? "
                "To “I love tennis”, the answer “That's nice” is not specific; "
                "“Me too, I can't get enough of Roger Federer!” is."
            ),
            level=Level.BINARY,
            choices=YES_OR_NO,
            asked_if=Condition("sensible", equals=True),
            otherwise=False,
        ),
    ),
    source="Adiwardana et al. 2020, Towards a Human-like Open-Domain Chatbot, arXiv:2001.09977, section 2",
)

HUMAN_LIKENESS = QuestionSet(
    key="human-likeness",
    title="Human-likeness",
    subjects=frozenset({Subject.TURN, Subject.RESPONSE}),
    questions=(
        Question(
            key="human_like",
            wording="Would a person have given this answer?",
            help=(
                "Think of a person in the same conversation at the same moment. Answer Yes if the answer "
                "could well be theirs, even if you would have said something else."
            ),
            level=Level.BINARY,
            choices=YES_OR_NO,
        ),
    ),
    source="Adiwardana et al. 2020, arXiv:2001.09977, Figures 2, 9 and 10",
)

SEVEN_POINTS = (
    Choice(1, "1", "lowest"),
    *(Choice(point, str(point)) for point in range(2, 7)),
    Choice(7, "7", "highest"),
)


def _rating(key: str, wording: str, help_text: str) -> Question:
    return Question(key=key, wording=wording, help=help_text, level=Level.ORDINAL, choices=SEVEN_POINTS)


LIKERT = QuestionSet(
    key="likert",
    title="Five ratings of a whole conversation, 1 to 7",
    subjects=frozenset({Subject.DIALOGUE}),
    questions=(
        _rating("quality", "How good is the conversation as a whole?", "Your overall impression."),
        _rating("fluency", "How fluent is it?", "Is it well formed, and easy to read?"),
        _rating("diversity", "How varied is it?", "Does it say new things, or repeat itself?"),
        _rating("relatedness", "How related are the answers?", "Do they take up what was said before?"),
        _rating("empathy", "How empathic is it?", "Does it respond to feelings in a fitting way?"),
    ),
    source="Ghandeharioun et al. 2019, Approximating Interactive Human Evaluation with Self-Play, "
    "arXiv:1906.09308, section 4.2",
)

QUESTION_SETS: Mapping[str, QuestionSet] = {s.key: s for s in (SSA, HUMAN_LIKENESS, LIKERT)}


def question_set(key: str) -> QuestionSet:
    """The declared question set with this key.

    Raises:
        UnknownQuestionSetError: no such set; the message suggests the nearest key and lists all of them.
    """
    if key in QUESTION_SETS:
        return QUESTION_SETS[key]
    near = get_close_matches(key, QUESTION_SETS, n=1)
    suggestion = f" Did you mean '{near[0]}'?" if near else ""
    raise UnknownQuestionSetError(
        f"No question set is declared as '{key}'.{suggestion} Declared: {', '.join(sorted(QUESTION_SETS))}. "
        f"To add one, declare it in evaluation/questions.py."
    )
