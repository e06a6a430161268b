"""Conversion between drafts and declarations as JSON, which `evaluation.questions.schema` validates."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evaluation.questions import (
    Answer,
    DeclarationError,
    Kind,
    Question,
    QuestionSet,
    Scalar,
    Score,
    default_scores,
)
from evaluation.questions.schema import FORMAT
from turnwise.questions.drafts import (
    Draft,
    ExampleDraft,
    LanguageDraft,
    QuestionDraft,
    ScoreDraft,
    new_id,
    texts_of,
    turns_of,
)


def declaration_of(draft: Draft) -> dict[str, Any]:
    """Convert a draft to a declaration for `QuestionSet.from_json`.

    Where a text cannot be converted, a `DeclarationError` takes its place, so that it is reported with all
    other problems.
    """
    keys = {each.id: each.key for each in draft.questions}
    return {
        "format": FORMAT,
        **draft.model_dump(include={"key", "title", "source", "subjects"}),
        "questions": [_question(each, keys) for each in draft.questions],
        "scores": [_score(each, keys) for each in draft.scores],
        "headline": next((each.key for each in draft.scores if each.id == draft.headline), ""),
        "examples": [_example(each, draft.questions) for each in draft.examples],
        "translations": {each.code: _texts(draft, each) for each in draft.languages},
    }


def _question(question: QuestionDraft, keys: Mapping[str, str]) -> dict[str, Any]:
    found = question.model_dump(include={"key", "wording", "help", "kind"})
    found["required"] = not question.optional
    if question.kind == Kind.SCALE:
        scale = question.scale
        numbers = {"low": _number(scale.low), "high": _number(scale.high)}
        found["scale"] = {**scale.model_dump(), **numbers, "equal_steps": bool(scale.equal_steps)}
    elif question.kind == Kind.TEXT:
        found["longest"] = _number(question.longest)
    else:
        found["choices"] = [
            {"value": value_of(question, n), "label": each.label, "hint": each.hint}
            for n, each in enumerate(question.choices)
        ]
    if question.asked_if.question:
        gone = DeclarationError("", "the question on which it depends is gone.", "Choose another.")
        found["asked_if"] = {
            "question": keys.get(question.asked_if.question, gone),
            "any_of": [_loaded(each) for each in question.asked_if.any_of],
        }
        found["otherwise"] = _loaded(question.otherwise) if question.otherwise else None
    return found


def _score(score: ScoreDraft, keys: Mapping[str, str]) -> dict[str, Any]:
    terms = [_term(_loaded(text), keys) for text in score.terms]
    return {**score.model_dump(include={"key", "title", "combine"}), "terms": terms}


def _term(term: Any, keys: Mapping[str, str]) -> object:
    question, *choice = term if isinstance(term, list) and term else [""]
    if str(question) not in keys:
        return DeclarationError("", "one of its questions is gone.", "Choose what it is of.")
    return {"question": keys[str(question)], "choice": choice[0] if choice else None}


def _example(example: ExampleDraft, questions: Iterable[QuestionDraft]) -> dict[str, Any]:
    answers = dict(_answers(example, questions))
    return {**example.model_dump(exclude={"id"}), "context": turns_of(example.context), "answers": answers}


def _answers(example: ExampleDraft, questions: Iterable[QuestionDraft]) -> Iterator[tuple[str, Any]]:
    for question in questions:
        given = [each for each in example.answers.get(question.id, []) if each]
        if given and question.kind == Kind.TEXT:
            yield question.key, given[0]
        elif given:
            values = [_loaded(each) for each in given]
            yield question.key, values if question.kind == Kind.SEVERAL else values[0]


def value_of(question: QuestionDraft, number: int) -> Scalar | DeclarationError:
    """Stored value of a choice; if the draft leaves it empty, it follows from the number or caption."""
    choice = question.choices[number]
    value = choice.value.strip()
    if question.stored == "names":
        return value or choice.label.strip()
    if question.stored == "numbers":
        found = _number(value) if value else number + 1
        is_number = isinstance(found, int)
        return found if is_number else _unreadable(value, "a whole number", "Write one such as 7.")
    if value.lower() in ("true", "yes", "false", "no", ""):
        return value.lower() in ("true", "yes") if value else number == 0
    return _unreadable(value, "yes or no", "Write yes or no.")


def _unreadable(text: str, wanted: str, cure: str) -> DeclarationError:
    return DeclarationError("", f"“{text[:40]}” is not {wanted}.", cure)


def values_of(question: QuestionDraft) -> list[tuple[Scalar, str]]:
    """Possible answers as (stored value, caption), as far as the draft defines them."""
    if question.kind == Kind.SCALE:
        low, high = _number(question.scale.low), _number(question.scale.high)
        if isinstance(low, str) or isinstance(high, str):
            return []
        return [(n, str(n)) for n in range(low, min(high, low + 50) + 1)]
    choices = [] if question.kind == Kind.TEXT else question.choices
    values = [(value_of(question, n), each.label) for n, each in enumerate(choices)]
    return [(value, label) for value, label in values if not isinstance(value, DeclarationError)]


def is_numeric(question: QuestionDraft) -> bool:
    """True if the mean of the answers is meaningful."""
    return question.kind == Kind.SCALE or (question.kind == Kind.ONE and question.stored == "numbers")


def _loaded(text: str) -> Any:
    """Decode a JSON text from the page; return any other text unchanged."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _number(text: str) -> int | str:
    return int(text) if re.fullmatch(r"\s*[-+]?[0-9]{1,9}\s*", text) else text


def _texts(draft: Draft, language: LanguageDraft) -> dict[str, str]:
    translated = ((text, language.texts.get(key, "")) for key, text in texts_of(draft))
    return {text: translation for text, translation in translated if translation.strip()}


# --- from a declaration to a draft ---
# ----------------------------------------------------------------------------------------------


def draft_of(questions: QuestionSet) -> Draft:
    """Convert a question set to a draft; default scores are left out."""
    found = questions.to_json()
    ids = {each.key: new_id() for each in questions.questions}
    follows = questions.scores == default_scores(questions.questions) and (
        not questions.scores or questions.headline == questions.scores[0].key
    )
    scores = [] if follows else [_score_draft(each, ids) for each in questions.scores]
    draft = Draft.model_validate(
        found
        | {
            "questions": [_question_draft(q, ids, questions.question(q["key"])) for q in found["questions"]],
            "scores": scores,
            "headline": next((each.id for each in scores if each.key == questions.headline), ""),
            "examples": [_example_draft(each, ids, questions) for each in found["examples"]],
        }
    )
    for code, texts in questions.translations.items():
        translated = {key: texts[text] for key, text in texts_of(draft) if text in texts}
        draft.languages.append(LanguageDraft(code=code, texts=translated))
    return draft


def write_out_scores(draft: Draft) -> str:
    """Fill in the default scores of the questions, so that they can be edited.

    Returns:
        The path of the first one.

    Raises:
        DeclarationError: the questions cannot be, so that nothing follows.
    """
    bare = {"scores": [], "headline": "", "examples": [], "translations": {}}
    found = QuestionSet.from_json(declaration_of(draft) | bare)
    ids = {each.key.strip(): each.id for each in draft.questions}
    draft.scores = [_score_draft(each, ids) for each in found.scores]
    return "scores.0" if draft.scores else "scores"


def _question_draft(declared: dict[str, Any], ids: Mapping[str, str], question: Question) -> dict[str, Any]:
    condition, otherwise = question.asked_if, question.otherwise
    kinds = {type(choice.value) for choice in question.choices}
    return declared | {
        "id": ids[question.key],
        "stored": "yes_no" if kinds == {bool} else "numbers" if kinds == {int} else "names",
        "choices": [each | {"value": _value_text(each["value"])} for each in declared.get("choices", ())],
        "scale": declared["scale"] or {},
        "optional": not question.required,
        "asked_if": {"question": ids[condition.question], "any_of": [*map(_json, condition.any_of)]}
        if condition
        else {},
        "otherwise": "" if otherwise is None else _json(otherwise),
    }


def _value_text(value: Scalar) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _score_draft(score: Score, ids: Mapping[str, str]) -> ScoreDraft:
    terms = [
        _json([ids[term.question]] if term.choice is None else [ids[term.question], term.choice])
        for term in score.terms
    ]
    return ScoreDraft(key=score.key, title=score.title, terms=terms, combine=score.combine)


def _example_draft(
    declared: dict[str, Any], ids: Mapping[str, str], questions: QuestionSet
) -> dict[str, Any]:
    answers = declared["answers"].items()
    return declared | {
        "context": "\n".join(f"{who}: {text}" for who, text in declared["context"]),
        "answers": {ids[key]: _answer_texts(questions.question(key), answer) for key, answer in answers},
    }


def _answer_texts(question: Question, answer: Answer) -> list[str]:
    if question.kind is Kind.TEXT:
        return [str(answer)]
    return [_json(each) for each in (answer if isinstance(answer, list) else [answer])]


def can_be_edited(questions: QuestionSet) -> bool:
    """True if a draft can represent the whole set; JSON allows more, such as choices of mixed types."""
    return QuestionSet.from_json(declaration_of(draft_of(questions))) == questions


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
