"""Lookup of question sets by key, shipped or declared, and their JSON for the worker's pages (static/js).

A version never changes, so it is read once per process.
"""

import logging
from collections.abc import Collection, Iterable
from dataclasses import asdict, replace
from functools import lru_cache

from django.core.exceptions import ValidationError
from django.utils.translation import get_language, gettext

from evaluation import questions as shipped
from evaluation.questions import (
    AnswersError,
    DeclarationError,
    Example,
    Question,
    QuestionSet,
    Scalar,
    UnknownQuestionSetError,
)
from evaluation.questions.checks import texts_of
from evaluation.questions.sets.preference import training_of
from turnwise.languages.live_texts import LiveLanguage, live_language
from turnwise.live.database import in_database
from turnwise.questions.models import SetVersion

ENGLISH = "en"
log = logging.getLogger(__name__)

_declared: dict[str, QuestionSet] = {}


def question_set(key: str) -> QuestionSet:
    """The set with this key.

    Raises:
        UnknownQuestionSetError: no such set; the message suggests the nearest that comes with Turnwise.
    """
    return shipped.question_set(key, _declared_set)


def question_sets(keys: Iterable[str]) -> list[QuestionSet]:
    """Those with these keys, in this order: what was never read is read in one query."""
    wanted = list(keys)
    unread = {key for key in wanted if key not in shipped.QUESTION_SETS and key not in _declared}
    for version in SetVersion.objects.filter(key__in=unread) if unread else ():
        _declared[version.key] = QuestionSet.from_json(version.declaration)
    return [question_set(key) for key in wanted]


async def question_set_async(key: str) -> QuestionSet:
    """Async version of `question_set`."""
    if key in shipped.QUESTION_SETS or key in _declared:
        return question_set(key)
    return await in_database(question_set, key)


def titled(questions: QuestionSet) -> str:
    """Title of the set; with its key if it is declared, as titles are not unique."""
    return (
        questions.title if questions.key in shipped.QUESTION_SETS else f"{questions.title} ({questions.key})"
    )


def refuse_unknown_set(key: str) -> None:
    """Validate a stored key."""
    try:
        question_set(key)
    except UnknownQuestionSetError as error:
        raise ValidationError(str(error)) from None


def forget_question_sets() -> None:
    """Read every set anew, as tests do, which begin with another database."""
    _declared.clear()


def _declared_set(key: str) -> QuestionSet | None:
    if key not in _declared:
        version = SetVersion.objects.filter(key=key).first()
        if version is None:
            return None
        _declared[key] = QuestionSet.from_json(version.declaration)
    return _declared[key]


def in_language(questions: QuestionSet, language: str) -> QuestionSet:
    """Translate a set; for sets that come with Turnwise, translations written in the product come first."""
    if questions.key not in shipped.QUESTION_SETS or not (versions := _written(language)):
        return questions.in_language(language)
    return _with_written(questions.key, language, tuple((each.code, each.version) for each in versions))


def training_in(questions: QuestionSet, language: str) -> tuple[Example, ...]:
    """Training questions of a set that is already in this language."""
    return training_of(questions, language, written_texts(language))


def written_texts(language: str) -> dict[str, str]:
    """Translations written in the product, by English text."""
    return {text: written for each in _written(language) for text, written in each.questions.items()}


def _written(language: str) -> list[LiveLanguage]:
    """A language's general form and itself, as far as they are translated in the product."""
    if language == ENGLISH:
        return []
    codes = dict.fromkeys((language.split("-")[0], {"zh": "zh-hans"}.get(language, language)))
    return [written for code in codes if (written := live_language(code))]


@lru_cache(maxsize=500)
def _with_written(key: str, language: str, versions: tuple[tuple[str, int], ...]) -> QuestionSet:
    """Set in a language with these versions of its translations, which are part of the cache's key only."""
    questions, texts = shipped.QUESTION_SETS[key], written_texts(language)
    of_set = {
        text: texts[text] for text in texts_of(questions.questions, questions.examples) if text in texts
    }
    exact = {**questions.translations.get(language, {}), **of_set}
    try:
        complete = replace(questions, translations={**questions.translations, language: exact})
        return complete.in_language(language)
    except DeclarationError as error:  # such as two choices with the same translation
        log.warning("The written translations of %s to %s are not used: %s", key, language, error)
        return questions.in_language(language)


def questions_json(key: str, language: str, hidden: Collection[Scalar] = ()) -> list[dict[str, object]]:
    """The questions of a set, in the language of those who are asked, without the hidden choices."""
    declared = question_set(key)
    both = zip(declared.questions, in_language(declared, language).questions, strict=True)
    # A key is a word of the language in which the question was declared.
    return [
        question_json(shortened, hidden) | {"short": "" if shortened == question else shortened.wording}
        for question, shortened in both
    ]


def question_json(question: Question, hidden: Collection[Scalar] = ()) -> dict[str, object]:
    """JSON of a question; a scale has captions at its ends only."""
    condition, scale = question.asked_if, question.scale
    choices = [choice if scale is None else replace(choice, hint="") for choice in question.choices]
    return {
        "key": question.key,
        "wording": question.wording,
        "help": question.help,
        "kind": question.kind.value,
        "required": question.required,
        "choices": [asdict(choice) for choice in choices if choice.value not in hidden],
        "low_caption": scale.low_caption if scale else "",
        "high_caption": scale.high_caption if scale else "",
        "max_chars": question.longest,
        "asked_if": {"question": condition.question, "values": condition.any_of} if condition else None,
    }


def describe_answers_error(error: AnswersError) -> str:
    """Message for a worker whose answers were refused; the details are only available in English."""
    if get_language() == "en":
        return error.message
    return gettext("That answer does not fit the question. Please answer it again.")
