"""From a draft to the JSON that declares a set, and back."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

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
    refuse_with,
)
from turnwise.questions.drafts import (
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
T = TypeVar("T")


def declared(draft: Draft) -> dict[str, Any]:
    """The JSON object that the draft stands for; `QuestionSet.from_json` says what is wrong with it.

    Raises:
        DeclarationError: a number that is none, or a condition on a question that is gone; with whatever else
            is wrong.
    """
    declaring = _Declaring(draft)
    found = declaring.all()
    if declaring.faults:
        refuse_with([*declaring.faults, *_others(found, declaring.faults)])
    return found


def _others(declared: dict[str, Any], known: Sequence[DeclarationError]) -> Iterator[DeclarationError]:
    """What else is wrong: not what follows from what stands in for the fields with a known fault."""
    parts = tuple(_PART.match(each.field)[0] for each in known)  # type: ignore[index]  # all fields match
    follows = any(part.startswith("questions") for part in parts)
    try:
        QuestionSet.from_json(declared)
    except DeclarationError as error:
        for each in error.all:
            if not each.field.startswith(parts) and not (follows and _OF_ANSWERS.search(each.field)):
                yield each


# A field of a question, score or example, with all that stands in it.
_PART = re.compile(r"\w+\[\d+\]\.\w+")
# What speaks of the answers to a question.
_OF_ANSWERS = re.compile(r"\.(asked_if|otherwise|terms|answers)\b")


class _Declaring:
    """Reads a draft; where a field cannot be read, it notes why, and something stands in for it."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.faults: list[DeclarationError] = []

    def all(self) -> dict[str, Any]:
        draft = self.draft
        return {
            "format": FORMAT,
            "key": draft.key.strip(),
            "title": draft.title,
            "source": draft.source,
            "subjects": draft.subjects,
            "questions": [self.question(f"questions[{n}]", each) for n, each in enumerate(draft.questions)],
            "scores": [self.score(f"scores[{n}]", each) for n, each in enumerate(draft.scores)],
            "headline": next((each.key.strip() for each in draft.scores if each.id == draft.headline), ""),
            "examples": [self.example(f"examples[{n}]", each) for n, each in enumerate(draft.examples)],
            "translations": {each.code.strip(): _texts(draft, each) for each in draft.languages},
        }

    def read(self, reader: Callable[..., T], instead: T, *of: Any) -> T:
        try:
            return reader(*of)
        except DeclarationError as error:
            self.faults.append(error)
            return instead

    def question(self, where: str, question: QuestionDraft) -> dict[str, Any]:
        found: dict[str, Any] = {
            "key": question.key.strip(),
            "wording": question.wording,
            "help": question.help,
            "kind": question.kind,
            "required": not question.optional,
        }
        if question.kind == Kind.SCALE:
            found["scale"] = self.scale(f"{where}.scale", question)
        elif question.kind == Kind.TEXT:
            found["longest"] = self.read(_number, 1000, f"{where}.longest", question.longest)
        else:
            found["choices"] = [
                {
                    "value": self.value(where, question, n),
                    "label": each.label.strip(),
                    "hint": each.hint.strip(),
                }
                for n, each in enumerate(question.choices)
            ]
        if question.after:
            found["asked_if"] = self.condition(f"{where}.asked_if", question)
            is_given = bool(question.otherwise)
            found["otherwise"] = self.loaded(f"{where}.otherwise", question.otherwise) if is_given else None
        return found

    def value(self, where: str, question: QuestionDraft, number: int) -> Scalar:
        nothing: Scalar = False
        return self.read(value_of, nothing, where, question, number)

    def scale(self, where: str, question: QuestionDraft) -> dict[str, Any]:
        return {
            "low": self.read(_number, 1, f"{where}.low", question.low),
            "high": self.read(_number, 7, f"{where}.high", question.high),
            "low_caption": question.low_caption,
            "high_caption": question.high_caption,
            "equal_steps": bool(question.equal_steps),
        }

    def condition(self, where: str, question: QuestionDraft) -> dict[str, Any] | None:
        first = self.draft.question(question.after)
        if first is None:
            said = "the question on which it depends is gone."
            self.faults.append(DeclarationError(f"{where}.question", said, "Choose another."))
            return None
        any_of = [self.loaded(f"{where}.any_of", each) for each in question.any_of]
        return {"question": first.key.strip(), "any_of": any_of}

    def score(self, where: str, score: ScoreDraft) -> dict[str, Any]:
        terms = []
        for text in score.terms:
            term = self.loaded(f"{where}.terms", text)
            wanted, *choice = term if isinstance(term, list) and term else [""]
            question = self.draft.question(wanted)
            if question is not None:
                terms.append({"question": question.key.strip()} | ({"choice": choice[0]} if choice else {}))
            elif term is not None:
                said = "one of its questions is gone."
                self.faults.append(DeclarationError(f"{where}.terms", said, "Choose what it is of."))
        return {"key": score.key.strip(), "title": score.title, "terms": terms, "combine": score.combine}

    def example(self, where: str, example: ExampleDraft) -> dict[str, Any]:
        return {
            "context": turns_of(example.context),
            "response": example.response,
            "other": example.other,
            "answers": dict(self.answers(f"{where}.answers", example)),
            "why": example.why,
        }

    def answers(self, where: str, example: ExampleDraft) -> Iterator[tuple[str, Any]]:
        for question in self.draft.questions:
            given = [each for each in example.answers.get(question.id, []) if each]
            if not given:
                continue
            if question.kind == Kind.TEXT:
                yield question.key.strip(), given[0]
            else:
                values = [self.loaded(where, each) for each in given]
                yield question.key.strip(), values if question.kind == Kind.SEVERAL else values[0]

    def loaded(self, where: str, text: str) -> Any:
        return self.read(_loaded, None, where, text)


def value_of(where: str, question: QuestionDraft, number: int) -> Scalar:
    """What is stored about a choice; where the draft leaves it open, what follows from its number or caption.

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


def _texts(draft: Draft, language: LanguageDraft) -> dict[str, str]:
    said = ((text, language.texts.get(key, "")) for key, text in texts_of(draft))
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
        said = {key: texts[text] for key, text in texts_of(draft) if text in texts}
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
