"""A question set: declared once for forms, validation, storage, statistics, exports."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from evaluation.questions import schema
from evaluation.questions.answers import checked
from evaluation.questions.parts import Answer, Kind, Question, Score
from evaluation.questions.translation import translated


@dataclass(frozen=True, slots=True)
class QuestionSet(schema.Declaration):
    """A valid declaration of a question set, with derived properties.

    Raises:
        DeclarationError: at declaration; names each field, what is wrong with it, and the cure.
    """

    def __post_init__(self) -> None:
        self._fill(schema.validated({each.name: getattr(self, each.name) for each in fields(self)}))

    def _fill(self, found: schema.Declaration) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, getattr(found, each.name))

    @property
    def main_score(self) -> Score | None:
        """Score that represents the set; None if it has only free text."""
        return self.score(self.headline) if self.headline else None

    @property
    def free_texts(self) -> list[str]:
        """Keys of the questions that are answered in free text, in their order."""
        return [question.key for question in self.questions if question.kind is Kind.TEXT]

    def check(self, answers: Mapping[str, object]) -> dict[str, Answer]:
        """Validate a complete set of answers and return what to store; see `answers.checked`."""
        return checked(self.questions, answers)

    def in_language(self, language: str) -> "QuestionSet":
        """Translate the set to a language; texts without a translation stay English."""
        return translated(self, language)

    def to_json(self) -> dict[str, Any]:
        """The declaration as a JSON object, from which `from_json` makes an equal set."""
        return schema.to_json(self)

    @classmethod
    def from_json(cls, declared: object) -> "QuestionSet":
        """The set that a JSON object declares; every text is cleaned, nothing unknown is accepted.

        Raises:
            DeclarationError: names the field, what is wrong with it, and the cure.
        """
        found = cls.__new__(cls)
        found._fill(schema.from_json(declared))
        return found

    def answered_questions(self, answers: Mapping[str, Answer]) -> Iterator[tuple[Question, Answer | None]]:
        """Yield each question with its answer; None if it was not asked or not answered."""
        for question in self.questions:
            is_asked = question.asked_if is None or question.asked_if.holds(answers)
            yield question, answers.get(question.key) if is_asked else None
