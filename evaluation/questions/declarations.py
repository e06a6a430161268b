"""A question set: declared once for forms, validation, storage, statistics, exports."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, ClassVar

from pydantic import ConfigDict

from evaluation.questions.answers import checked
from evaluation.questions.checks import faults_of_questions, faults_of_scores_and_texts
from evaluation.questions.errors import MOST_FAULTS, refuse_with
from evaluation.questions.json_form import FORMAT, as_json, read
from evaluation.questions.parts import STRICT, Answer, Example, Kind, Question, Score, Subject
from evaluation.questions.scores import default_scores
from evaluation.questions.translation import translated


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions that are answered together about one subject, and the scores that follow from the answers.

    All texts are English. `translations` has them in other languages; a text that is missing there stays
    English.

    Attributes:
        key: name in the registry, in storage and in exports.
        title: name for people.
        subjects: the kinds of subject that it can be asked about.
        questions: in the order asked; a condition refers to an earlier question only.
        source: the publication that defines it, or who does.
        scores: what a report shows; none given: the share of yes, the share of each choice, the mean of
            numbers, and nothing of free text.
        headline: key of the score that represents the set where there is room for one; "": the first.
        examples: worked examples for the instructions.
        translations: by language code, by English text, the translation.

    Raises:
        DeclarationError: at declaration; names each field, what is wrong with it, and the cure.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    key: str
    title: str
    subjects: frozenset[Subject]
    questions: tuple[Question, ...]
    source: str
    scores: tuple[Score, ...] = ()
    headline: str = ""
    examples: tuple[Example, ...] = ()
    translations: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        faults = list(islice(faults_of_questions(self), MOST_FAULTS))
        asks = not faults
        if asks and not self.scores:
            object.__setattr__(self, "scores", default_scores(self.questions))
        if not self.headline and self.scores:
            object.__setattr__(self, "headline", self.scores[0].key)
        refuse_with(chain(faults, faults_of_scores_and_texts(self, asks=asks)))

    def question(self, key: str) -> Question:
        """The question with this key; raises `KeyError` that lists the keys."""
        for question in self.questions:
            if question.key == key:
                return question
        keys = ", ".join(q.key for q in self.questions)
        raise KeyError(f"Question set '{self.key}' has no question '{key}'. It has: {keys}.")

    def score(self, key: str) -> Score:
        """The score with this key; raises `KeyError` that lists the keys."""
        for score in self.scores:
            if score.key == key:
                return score
        keys = ", ".join(s.key for s in self.scores) or "none"
        raise KeyError(f"Question set '{self.key}' has no score '{key}'. It has: {keys}.")

    @property
    def main_score(self) -> Score | None:
        """The score that represents the set; None if only free text is asked."""
        return self.score(self.headline) if self.headline else None

    @property
    def free_texts(self) -> list[str]:
        """Keys of the questions that are answered in free text, in their order."""
        return [question.key for question in self.questions if question.kind is Kind.TEXT]

    def check(self, answers: Mapping[str, object]) -> dict[str, Answer]:
        """Validate a complete set of answers and return what to store; see `answers.checked`."""
        return checked(self, answers)

    def in_language(self, language: str) -> "QuestionSet":
        """The same set with its texts in this language, as far as they are translated; else in English."""
        return translated(self, language)

    def to_json(self) -> dict[str, Any]:
        """The declaration as a JSON object, from which `from_json` makes an equal set."""
        return {"format": FORMAT, **as_json(self)}

    @classmethod
    def from_json(cls, declared: object) -> "QuestionSet":
        """The set that a JSON object declares; every text is cleaned, nothing unknown is accepted.

        Raises:
            DeclarationError: names the field, what is wrong with it, and the cure.
        """
        found: QuestionSet = read(cls, declared)
        return found

    def asked(self, answers: Mapping[str, Answer]) -> Iterator[tuple[Question, Answer | None]]:
        """Each question with its answer; None where it was not asked or not answered."""
        for question in self.questions:
            is_asked = question.asked_if is None or question.asked_if.holds(answers)
            yield question, answers.get(question.key) if is_asked else None
