"""From a draft to the JSON that declares a set, and back."""

import json
import re
from collections.abc import Iterator
from typing import Any

from evaluation.questions import (
    Answer,
    Choice,
    DeclarationError,
    Example,
    Kind,
    Question,
    QuestionSet,
    Scalar,
    Score,
    default_scores,
)
from questions.drafts import (
    ChoiceDraft,
    Draft,
    ExampleDraft,
    LanguageDraft,
    QuestionDraft,
    ScoreDraft,
    texts_of,
    turns_of,
)

FORMAT = 1


def declared(draft: Draft) -> dict[str, Any]:
    """The JSON object that the draft stands for; `QuestionSet.from_json` says what is wrong with it.

    Raises:
        DeclarationError: a number that is none, or a condition on a question that is gone.
    """
    return {
        "format": FORMAT,
        "key": draft.key.strip(),
        "title": draft.title,
        "source": draft.source,
        "subjects": draft.subjects,
        "questions": [_question(draft, f"questions[{n}]", each) for n, each in enumerate(draft.questions)],
        "scores": [_score(draft, f"scores[{n}]", each) for n, each in enumerate(draft.scores)],
        "headline": next((each.key.strip() for each in draft.scores if each.id == draft.headline), ""),
        "examples": [_example(draft, f"examples[{n}]", each) for n, each in enumerate(draft.examples)],
        "translations": {each.code.strip(): _texts(draft, each) for each in draft.languages},
    }


def _question(draft: Draft, where: str, question: QuestionDraft) -> dict[str, Any]:
    found: dict[str, Any] = {
        "key": question.key.strip(),
        "wording": question.wording,
        "help": question.help,
        "kind": question.kind,
        "required": not question.optional,
    }
    if question.kind == Kind.SCALE:
        found["scale"] = _scale(where, question)
    elif question.kind == Kind.TEXT:
        found["longest"] = _number(f"{where}.longest", question.longest)
    else:
        found["choices"] = [
            {"value": value_of(where, question, n), "label": each.label.strip(), "hint": each.hint.strip()}
            for n, each in enumerate(question.choices)
        ]
    if question.after:
        found["asked_if"] = _condition(draft, where, question)
        found["otherwise"] = _loaded(f"{where}.otherwise", question.otherwise) if question.otherwise else None
    return found


def _scale(where: str, question: QuestionDraft) -> dict[str, Any]:
    return {
        "low": _number(f"{where}.scale.low", question.low),
        "high": _number(f"{where}.scale.high", question.high),
        "low_caption": question.low_caption,
        "high_caption": question.high_caption,
        "equal_steps": bool(question.equal_steps),
    }


def _condition(draft: Draft, where: str, question: QuestionDraft) -> dict[str, Any]:
    first = draft.question(question.after)
    if first is None:
        raise DeclarationError(
            f"{where}.asked_if.question", "the question on which it depends is gone.", "Choose another."
        )
    place = f"{where}.asked_if.any_of"
    return {"question": first.key.strip(), "any_of": [_loaded(place, each) for each in question.any_of]}


def value_of(where: str, question: QuestionDraft, number: int) -> Scalar:
    """What is stored of a choice; where the draft leaves it open, what follows from its place or caption.

    Raises:
        DeclarationError: the draft says neither yes nor no, or no whole number, where it must.
    """
    choice = question.choices[number]
    value = choice.value.strip()
    if question.stored == "names":
        return value or choice.label.strip()
    if question.stored == "numbers":
        return _number(f"{where}.choices[{number}].value", value) if value else number + 1
    if not value:
        return number == 0
    if value.lower() not in ("true", "false", "yes", "no"):
        raise DeclarationError(
            f"{where}.choices[{number}].value", f"“{value}” is neither yes nor no.", "Write yes or no."
        )
    return value.lower() in ("true", "yes")


def values_of(question: QuestionDraft) -> list[tuple[Scalar, str]]:
    """What can be answered, as (stored, caption), as far as the draft says it."""
    try:
        if question.kind == Kind.SCALE:
            low, high = int(question.low), int(question.high)
            return [(n, str(n)) for n in range(low, min(high, low + 50) + 1)]
        if question.kind == Kind.TEXT:
            return []
        return [(value_of("", question, n), each.label) for n, each in enumerate(question.choices)]
    except ValueError:  # it is said where the set is checked
        return []


def is_numeric(question: QuestionDraft) -> bool:
    """Whether the mean of its answers is worth a look."""
    return question.kind == Kind.SCALE or (question.kind == Kind.ONE and question.stored == "numbers")


def _loaded(where: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise DeclarationError(where, f"“{text[:40]}” is not JSON.", "Choose one that is offered.") from None


def _number(where: str, text: str) -> int:
    if not re.fullmatch(r"\s*[-+]?[0-9]{1,9}\s*", text):
        raise DeclarationError(where, f"“{text[:40]}” is not a whole number.", "Write one such as 7.")
    return int(text)


def _score(draft: Draft, where: str, score: ScoreDraft) -> dict[str, Any]:
    terms = []
    for text in score.terms:
        term = _loaded(f"{where}.terms", text)
        wanted, *choice = term if isinstance(term, list) and term else [""]
        question = draft.question(wanted)
        if question is None:
            raise DeclarationError(f"{where}.terms", "one of its questions is gone.", "Choose what it is of.")
        terms.append({"question": question.key.strip()} | ({"choice": choice[0]} if choice else {}))
    return {"key": score.key.strip(), "title": score.title, "terms": terms, "combine": score.combine}


def _example(draft: Draft, where: str, example: ExampleDraft) -> dict[str, Any]:
    return {
        "context": turns_of(example.context),
        "response": example.response,
        "other": example.other,
        "answers": dict(_answers(draft, f"{where}.answers", example)),
        "why": example.why,
    }


def _answers(draft: Draft, where: str, example: ExampleDraft) -> Iterator[tuple[str, Any]]:
    for question in draft.questions:
        given = [each for each in example.answers.get(question.id, []) if each]
        if not given:
            continue
        if question.kind == Kind.TEXT:
            yield question.key.strip(), given[0]
        else:
            values = [_loaded(where, each) for each in given]
            yield question.key.strip(), values if question.kind == Kind.SEVERAL else values[0]


def _texts(draft: Draft, language: LanguageDraft) -> dict[str, str]:
    said = ((text, language.texts.get(place, "")) for place, text in texts_of(draft))
    return {text.strip(): translation for text, translation in said if translation.strip()}


# --- back ----------------------------------------------------------------------------------------------


def draft_of(questions: QuestionSet) -> Draft:
    """A draft that declares this set again; scores that follow from its questions are left to do so."""
    drafts = {each.key: _question_draft(each) for each in questions.questions}
    ids = {key: each.id for key, each in drafts.items()}
    for question in questions.questions:
        if question.asked_if:
            drafts[question.key].after = ids[question.asked_if.question]
    follows = questions.scores == default_scores(questions.questions) and (
        not questions.scores or questions.headline == questions.scores[0].key
    )
    scores = [] if follows else [_score_draft(each, ids) for each in questions.scores]
    draft = Draft(
        key=questions.key,
        title=questions.title,
        source=questions.source,
        subjects=sorted(questions.subjects),
        questions=list(drafts.values()),
        scores=scores,
        headline=next((each.id for each in scores if each.key == questions.headline), ""),
        examples=[_example_draft(questions, each, ids) for each in questions.examples],
    )
    for code, texts in questions.translations.items():
        said = {place: texts[text] for place, text in texts_of(draft) if text in texts}
        draft.languages.append(LanguageDraft(code=code, texts=said))
    return draft


def write_out_scores(draft: Draft) -> str:
    """Fill in the scores that follow from the questions, for somebody to change.

    Returns:
        The path of the first one.

    Raises:
        DeclarationError: the questions cannot be, so that nothing follows.
    """
    bare = {"scores": [], "headline": "", "examples": [], "translations": {}}
    found = QuestionSet.from_json(declared(draft) | bare)
    ids = {each.key.strip(): each.id for each in draft.questions}
    draft.scores = [_score_draft(each, ids) for each in found.scores]
    return "scores.0" if draft.scores else "scores"


def _question_draft(question: Question) -> QuestionDraft:
    scale, condition = question.scale, question.asked_if
    found = QuestionDraft(
        key=question.key,
        wording=question.wording,
        help=question.help,
        kind=question.kind,
        stored=_stored(question),
        choices=[] if scale else [_choice_draft(each) for each in question.choices],
        longest=str(question.longest),
        optional="" if question.required else "on",
        any_of=[_json(each) for each in condition.any_of] if condition else [],
        otherwise="" if question.otherwise is None else _json(question.otherwise),
    )
    if scale:
        found.low, found.high = str(scale.low), str(scale.high)
        found.low_caption, found.high_caption = scale.low_caption, scale.high_caption
        found.equal_steps = "on" if scale.equal_steps else ""
    return found


def _stored(question: Question) -> str:
    kinds = {type(choice.value) for choice in question.choices}
    return "yes_no" if kinds == {bool} else "numbers" if kinds == {int} else "names"


def _choice_draft(choice: Choice) -> ChoiceDraft:
    value = {True: "yes", False: "no"}[choice.value] if isinstance(choice.value, bool) else str(choice.value)
    return ChoiceDraft(label=choice.label, value=value, hint=choice.hint)


def _score_draft(score: Score, ids: dict[str, str]) -> ScoreDraft:
    terms = [
        _json([ids[term.question]] if term.choice is None else [ids[term.question], term.choice])
        for term in score.terms
    ]
    return ScoreDraft(key=score.key, title=score.title, terms=terms, combine=score.combine)


def _example_draft(questions: QuestionSet, example: Example, ids: dict[str, str]) -> ExampleDraft:
    answers = {
        ids[key]: _answer_draft(questions.question(key), answer) for key, answer in example.answers.items()
    }
    return ExampleDraft(
        context="\n".join(f"{who}: {said}" for who, said in example.context),
        response=example.response,
        other=example.other,
        answers=answers,
        why=example.why,
    )


def _answer_draft(question: Question, answer: Answer) -> list[str]:
    if question.kind is Kind.TEXT:
        return [str(answer)]
    return [_json(each) for each in (answer if isinstance(answer, list) else [answer])]


def can_be_edited(questions: QuestionSet) -> bool:
    """Whether a draft holds all of the set; JSON can say a little more, such as choices of mixed types."""
    return QuestionSet.from_json(declared(draft_of(questions))) == questions


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
