"""A question set and its translations: declared once for forms, validation, storage, statistics, exports."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from evaluation.questions import schema
from evaluation.questions.answers import checked
from evaluation.questions.checks import texts_of
from evaluation.questions.parts import Answer, Choice, Example, Kind, Question, Score
from evaluation.questions.schema import Declaration

D = TypeVar("D", bound=Declaration)


@cache
def shipped_translations() -> Mapping[str, Mapping[str, str]]:
    """Translations of the sets that come with Turnwise, by language code, by English text."""
    files = sorted((Path(__file__).parent / "languages").glob("*.json"))
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}


def in_every_language(questions: D) -> D:
    """Add the shipped translations to a set that comes with Turnwise."""
    texts_of_set = [*dict.fromkeys(texts_of(questions.questions, questions.examples))]
    complete = {
        language: {text: texts[text] for text in texts_of_set if text in texts}
        for language, texts in shipped_translations().items()
    }
    return replace(questions, translations=complete)


def example_in(example: Example, language: str, written: Mapping[str, str]) -> Example:
    """Translate a worked example that comes with Turnwise; languages as in `translated`.

    Args:
        example: in English.
        language: code of the language.
        written: further translations, by English text, which come first.
    """
    shipped = shipped_translations()
    texts = {**shipped.get(language.split("-")[0], {}), **shipped.get(language, {}), **written}
    return _example(example, lambda english: texts.get(english, english))


def translated(questions: D, language: str) -> D:
    """Translate the texts that workers read; texts without a translation stay English.

    A regional variant such as `pt-BR` falls back to `pt` first. The set no longer has translations.
    """
    general = language.split("-")[0]
    texts = {**questions.translations.get(general, {}), **questions.translations.get(language, {})}
    if not texts:
        return questions

    def say(english: str) -> str:
        return texts.get(english, english)

    return replace(
        questions,
        questions=tuple(_question(question, say) for question in questions.questions),
        examples=tuple(_example(example, say) for example in questions.examples),
        translations={},
    )


def _question(question: Question, say: Callable[[str], str]) -> Question:
    scale = question.scale
    if scale is not None:
        ends = {"low_caption": say(scale.low_caption), "high_caption": say(scale.high_caption)}
        scale = replace(scale, **ends)  # type: ignore[arg-type]  # both are texts
    choices = () if scale else tuple(Choice(c.value, say(c.label), say(c.hint)) for c in question.choices)
    return replace(
        question, wording=say(question.wording), help=say(question.help), scale=scale, choices=choices
    )


def _example(example: Example, say: Callable[[str], str]) -> Example:
    return replace(
        example,
        context=tuple((speaker, say(text)) for speaker, text in example.context),
        response=say(example.response),
        other=say(example.other),
        why=say(example.why),
    )


@dataclass(frozen=True, slots=True)
class QuestionSet(schema.Declaration):
    """A valid declaration of a question set, with derived properties.

    Raises:
        DeclarationError: at declaration; names each field, what is wrong with it, and the cure.
    """

    def __post_init__(self) -> None:
        self._fill(schema.validated({each.name: getattr(self, each.name) for each in fields(self)}))

    def _fill(self, declaration: schema.Declaration) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, getattr(declaration, each.name))

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
        question_set = cls.__new__(cls)
        question_set._fill(schema.from_json(declared))
        return question_set

    def answered_questions(self, answers: Mapping[str, Answer]) -> Iterator[tuple[Question, Answer | None]]:
        """Yield each question with its answer; None if it was not asked or not answered."""
        for question in self.questions:
            is_asked = question.asked_if is None or question.asked_if.holds(answers)
            yield question, answers.get(question.key) if is_asked else None
