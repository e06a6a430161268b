"""Errors of declarations and of answers, in words for the people who can correct them."""

from collections.abc import Iterable
from itertools import islice

# Most faults that are searched for and reported.
MOST_FAULTS = 100


class DeclarationError(ValueError):
    """A question set that cannot be declared.

    Attributes:
        field: path of the field, such as `questions[1].choices`.
        problem: the fault, with the value.
        cure: what to do.
        also: further faults of the declaration.
    """

    def __init__(self, field: str, problem: str, cure: str) -> None:
        super().__init__(f"{field}: {problem} {cure}")
        self.field = field
        self.problem = problem
        self.cure = cure
        self.also: tuple[DeclarationError, ...] = ()

    @property
    def all(self) -> "tuple[DeclarationError, ...]":
        """All faults, in the order of the declaration."""
        return (self, *self.also)


def refuse_with(faults: Iterable[DeclarationError]) -> None:
    """Raise the first of these faults, with the others attached; do nothing if there are none."""
    first_faults = list(islice(faults, MOST_FAULTS))
    if first_faults:
        first_faults[0].also = tuple(first_faults[1:])
        raise first_faults[0]


class AnswersError(ValueError):
    """Answers that cannot be stored, explained for the worker.

    Attributes:
        code: `unknown_question`, `missing_answer`, `wrong_value`, `too_long` or `not_asked`.
        message: the explanation, also `str(error)`.
        question: key of the faulty question.
    """

    def __init__(self, code: str, message: str, question: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.question = question


class UnknownQuestionSetError(LookupError):
    """No question set has this key; the message suggests one and lists all."""
