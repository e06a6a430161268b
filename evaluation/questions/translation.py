"""A question set in the language of its workers; languages/ has those that come with Turnwise."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from evaluation.questions.checks import texts_of
from evaluation.questions.parts import Choice, Example, Question
from evaluation.questions.schema import Declaration

D = TypeVar("D", bound=Declaration)


@cache
def shipped_translations() -> Mapping[str, Mapping[str, str]]:
    """Translations of the sets that come with Turnwise, by language code, by English text."""
    files = sorted((Path(__file__).parent / "languages").glob("*.json"))
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}


def in_every_language(questions: D) -> D:
    """Add the shipped translations to a set that comes with Turnwise."""
    own = [*dict.fromkeys(texts_of(questions.questions, questions.examples))]
    said = {
        language: {text: texts[text] for text in own if text in texts}
        for language, texts in shipped_translations().items()
    }
    return replace(questions, translations=said)


def example_in(example: Example, language: str) -> Example:
    """Translate a worked example that comes with Turnwise; languages as in `translated`."""
    shipped = shipped_translations()
    texts = {**shipped.get(language.split("-")[0], {}), **shipped.get(language, {})}
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
        context=tuple((speaker, say(said)) for speaker, said in example.context),
        response=say(example.response),
        other=say(example.other),
        why=say(example.why),
    )
