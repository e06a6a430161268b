"""A question as the worker's pages take it (static/js)."""

from collections.abc import Collection
from dataclasses import asdict, replace

from django.utils.translation import get_language, gettext

from evaluation.questions import AnswersError, Question, Scalar
from turnwise.questions.resolving import question_set


def all_asked(key: str, language: str, hidden: Collection[Scalar] = ()) -> list[dict[str, object]]:
    """The questions of a set, in the language of those who are asked, without the hidden choices."""
    declared = question_set(key)
    both = zip(declared.questions, declared.in_language(language).questions, strict=True)
    # A key is a word of the language in which the question was declared.
    return [asked(said, hidden) | {"short": "" if said == own else said.wording} for own, said in both]


def asked(question: Question, hidden: Collection[Scalar] = ()) -> dict[str, object]:
    """Everything about the question; of a scale, captions stand at its ends only."""
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


def why_not_taken(error: AnswersError) -> str:
    """Why answers were not taken, for who gave them: in detail in English, which is the error's language."""
    if get_language() == "en":
        return error.message
    return gettext("That answer does not fit the question. Please answer it again.")
