"""What is wrong with a declaration, or with answers, in words for those who can mend it."""

from collections.abc import Iterable
from itertools import islice

# Of a declaration of a million characters nobody reads more, nor are more looked for.
MOST_FAULTS = 100


class DeclarationError(ValueError):
    """A question set that cannot be declared.

    Attributes:
        field: where, such as `questions[1].choices`.
        problem: what is wrong, with the value.
        cure: what to do.
        also: what else is wrong with the same declaration.
    """

    def __init__(self, field: str, problem: str, cure: str) -> None:
        super().__init__(f"{field}: {problem} {cure}")
        self.field = field
        self.problem = problem
        self.cure = cure
        self.also: tuple[DeclarationError, ...] = ()

    @property
    def all(self) -> "tuple[DeclarationError, ...]":
        """Everything that is wrong, in the order of the declaration."""
        return (self, *self.also)


def refuse_with(faults: Iterable[DeclarationError]) -> None:
    """Raise the first of these with the others; nothing if there are none."""
    found = list(islice(faults, MOST_FAULTS))
    if found:
        found[0].also = tuple(found[1:])
        raise found[0]


class AnswersError(ValueError):
    """Answers that cannot be stored, explained in words fit to show to a worker.

    Attributes:
        code: `unknown_question`, `missing_answer`, `wrong_value`, `too_long` or `not_asked`.
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
