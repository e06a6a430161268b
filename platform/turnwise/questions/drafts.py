"""A question set while somebody writes it: everything as text, perhaps not right yet.

The page sends the whole draft with every step. A field's name is its path, such as
`questions.0.choices.2.label`; one that ends in `[]` is a list. Questions, choices and the rest keep an id
while they are moved about, so that conditions, scores and translations stay with what they are about.
"""

import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

from django.http import QueryDict
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

MOST_ROWS = 200


class UnreadableDraftError(Exception):
    """What was sent is no draft, as no page sends it."""


def _new_id() -> str:
    return f"i{secrets.token_hex(4)}"


def _is_id(found: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9]{0,20}", found):
        raise ValueError("this is not an id")
    return found


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: Annotated[str, AfterValidator(_is_id)] = Field(default_factory=_new_id)


class ChoiceDraft(_Part):
    """One choice; an empty value follows from how the answers are stored."""

    label: str = ""
    value: str = ""
    hint: str = ""


class QuestionDraft(_Part):
    """A question with the fields of every kind, so that trying another kind loses nothing.

    Attributes:
        stored: how choices are: names, numbers or yes_no.
        after: id of the question on whose answers it depends; "": it is always asked.
        any_of: those answers, as JSON.
        otherwise: what is stored if it is not asked, as JSON; "": nothing.
    """

    key: str = ""
    wording: str = ""
    help: str = ""
    kind: str = "one"
    stored: str = "names"
    choices: list[ChoiceDraft] = []
    low: str = "1"
    high: str = "7"
    low_caption: str = ""
    high_caption: str = ""
    equal_steps: str = ""
    longest: str = "1000"
    optional: str = ""
    after: str = ""
    any_of: list[str] = []
    otherwise: str = ""


class ScoreDraft(_Part):
    """A score; each term is, as JSON, the id of a question, and a choice if it is a share."""

    key: str = ""
    title: str = ""
    terms: list[str] = []
    combine: str = "mean"


class ExampleDraft(_Part):
    """A worked example; the context has a line for each turn, answers stand by id of the question.

    Of a pair, `other` is the second response.
    """

    context: str = ""
    response: str = ""
    other: str = ""
    answers: dict[str, list[str]] = {}
    why: str = ""


class LanguageDraft(_Part):
    """Translations by key, such as `ID-wording`."""

    code: str = ""
    texts: dict[str, str] = {}


class Draft(BaseModel):
    """All of a set."""

    model_config = ConfigDict(extra="ignore")

    key: str = ""
    title: str = ""
    source: str = ""
    subjects: list[str] = []
    questions: list[QuestionDraft] = []
    scores: list[ScoreDraft] = []
    headline: str = ""
    examples: list[ExampleDraft] = []
    languages: list[LanguageDraft] = []

    def question(self, wanted: str) -> QuestionDraft | None:
        """The question with this id."""
        return next((each for each in self.questions if each.id == wanted), None)


def sent(data: QueryDict) -> Draft:
    """The draft that a page sent.

    Raises:
        UnreadableDraftError: no page sends such fields.
    """
    try:
        return Draft.model_validate(_lists(_nested(data)))
    except (ValidationError, RecursionError, TypeError, AttributeError) as error:
        raise UnreadableDraftError(str(error)[:500]) from error


def _nested(data: QueryDict) -> dict[str, Any]:
    """{"questions": {"0": {"key": …}}} of the fields' paths."""
    root: dict[str, Any] = {}
    for name, values in data.lists():
        *path, last = name.removesuffix("[]").split(".")
        branch = root
        for part in path:
            branch = branch.setdefault(part, {})
        branch[last] = [str(each) for each in values] if name.endswith("[]") else str(values[-1])
    return root


def _lists(found: Any) -> Any:
    """The same with lists where all keys are numbers."""
    if not isinstance(found, Mapping):
        return found
    if found and all(re.fullmatch("[0-9]{1,4}", key) for key in found):
        return [_lists(found[key]) for key in sorted(found, key=int)]
    return {key: _lists(each) for key, each in found.items()}


# --- what the buttons do ---------------------------------------------------------------------------

_NEW: dict[str, type[_Part]] = {
    "questions": QuestionDraft,
    "scores": ScoreDraft,
    "examples": ExampleDraft,
    "languages": LanguageDraft,
}
_ROW = re.compile(
    r"(?:(?P<within>questions)\.(?P<at>[0-9]{1,4})\.)?(?P<list>[a-z]+)(?:\.(?P<row>[0-9]{1,4}))?"
)


def changed(draft: Draft, step: str) -> str:
    """Take a step such as `add:questions`, `up:questions.2` or `remove:questions.0.choices.1`.

    Returns:
        The path of what it is about now, where the page puts the focus; "" if there was no such step.
    """
    verb, _, path = step.partition(":")
    found = _ROW.fullmatch(path)
    rows = _rows(draft, found) if found else None
    if not found or rows is None:
        return ""
    whole, number = path.removesuffix(f".{found['row']}"), int(found["row"] or -1)
    if verb == "add" and len(rows) < MOST_ROWS:
        rows.append(_new_row(found["list"]))
        return f"{whole}.{len(rows) - 1}"
    if not 0 <= number < len(rows):
        return ""
    if verb == "remove":
        del rows[number]
        return whole
    other = number + {"up": -1, "down": 1}.get(verb, 0)
    if found["within"] or other == number or not 0 <= other < len(rows):
        return ""
    rows[number], rows[other] = rows[other], rows[number]
    return f"{whole}.{other}"


def _rows(draft: Draft, found: re.Match[str]) -> list[Any] | None:
    if found["within"] is None:
        rows: list[Any] | None = getattr(draft, found["list"]) if found["list"] in _NEW else None
        return rows
    at = int(found["at"])
    is_there = found["list"] == "choices" and at < len(draft.questions)
    return draft.questions[at].choices if is_there else None


def _new_row(name: str) -> _Part:
    if name == "questions":
        return QuestionDraft(choices=[ChoiceDraft(), ChoiceDraft()])
    return _NEW.get(name, ChoiceDraft)()


# --- translations ------------------------------------------------------------------------------------


def texts_of(draft: Draft) -> Iterator[tuple[str, str]]:
    """Every text that workers read, as (key, English), empty ones left out."""
    yield from ((key, text) for key, text in _keyed(draft) if text.strip())


def _keyed(draft: Draft) -> Iterator[tuple[str, str]]:
    for each in draft.questions:
        yield f"{each.id}-wording", each.wording
        yield f"{each.id}-help", each.help
        if each.kind == "scale":
            yield f"{each.id}-low", each.low_caption
            yield f"{each.id}-high", each.high_caption
        elif each.kind != "text":
            yield from _keyed_choices(each.choices)
    for example in draft.examples:
        for number, (_, said) in enumerate(turns_of(example.context)):
            yield f"{example.id}-said-{number}", said
        yield f"{example.id}-response", example.response
        if example.other:
            yield f"{example.id}-other", example.other
        yield f"{example.id}-why", example.why


def _keyed_choices(choices: Iterable[ChoiceDraft]) -> Iterator[tuple[str, str]]:
    for choice in choices:
        yield f"{choice.id}-label", choice.label
        yield f"{choice.id}-hint", choice.hint


def turns_of(context: str) -> list[tuple[str, str]]:
    """The turns of an example, a line each: “You: …” or “Chatbot: …”; without a name the two alternate."""
    found: list[tuple[str, str]] = []
    for line in filter(None, map(str.strip, context.splitlines())):
        who, colon, said = line.partition(":")
        if colon and who.strip().lower() in ("you", "chatbot"):
            found.append((who.strip().capitalize(), said.strip()))
        else:
            found.append(("Chatbot" if found and found[-1][0] == "You" else "You", line))
    return found
