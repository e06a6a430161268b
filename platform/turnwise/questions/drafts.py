"""Draft of a question set: all fields as text, perhaps invalid.

The page sends the whole draft with every step. A field's name is its path in the declaration, such as
`questions.0.choices.2.label`; one that ends in `[]` is a list. Questions, choices and the rest keep an id
while they are moved about, so that conditions, scores and translations stay with what they are about.
"""

import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

from django.http import QueryDict
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

MOST_ROWS = 200


class UnreadableDraftError(Exception):
    """The submitted fields are no draft."""


def new_id() -> str:
    return f"i{secrets.token_hex(4)}"


def _as_text(value: object) -> object:
    """A value of a declaration as its field shows it; a box that is not checked is empty."""
    if value is None or isinstance(value, bool):
        return "on" if value else ""
    return str(value) if isinstance(value, int) else value


Text = Annotated[str, BeforeValidator(_as_text)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]{0,20}$")] = Field(default_factory=new_id)


class ChoiceDraft(_Part):
    """One choice; an empty value follows from how the answers are stored."""

    label: Text = ""
    value: Text = ""
    hint: Text = ""


class ScaleDraft(BaseModel):
    """The ends of a scale."""

    low: Text = "1"
    high: Text = "7"
    low_caption: Text = ""
    high_caption: Text = ""
    equal_steps: Text = ""


class ConditionDraft(BaseModel):
    """Condition under which a question is asked.

    Attributes:
        question: id of the question on whose answers it depends; "": it is always asked.
        any_of: those answers, as JSON.
    """

    question: Text = ""
    any_of: list[str] = []


class QuestionDraft(_Part):
    """A question with the fields of every kind, so that trying another kind loses nothing.

    Attributes:
        stored: how choices are: names, numbers or yes_no.
        otherwise: what is stored if it is not asked, as JSON; "": nothing.
    """

    key: Text = ""
    wording: Text = ""
    help: Text = ""
    kind: Text = "one"
    stored: Text = "names"
    choices: list[ChoiceDraft] = []
    scale: ScaleDraft = ScaleDraft()
    longest: Text = "1000"
    optional: Text = ""
    asked_if: ConditionDraft = ConditionDraft()
    otherwise: Text = ""


class ScoreDraft(_Part):
    """A score; each term is, as JSON, the id of a question, and a choice if it is a share."""

    key: Text = ""
    title: Text = ""
    terms: list[str] = []
    combine: Text = "mean"


class ExampleDraft(_Part):
    """A worked example; the context has a line for each turn, answers stand by id of the question.

    Of a pair, `other` is the second response.
    """

    context: Text = ""
    response: Text = ""
    other: Text = ""
    answers: dict[str, list[str]] = {}
    why: Text = ""


class LanguageDraft(_Part):
    """Translations by key, such as `ID-wording`."""

    code: Text = ""
    texts: dict[str, str] = {}


class Draft(BaseModel):
    """All of a set, in the shape of its declaration."""

    model_config = ConfigDict(extra="ignore")

    key: Text = ""
    title: Text = ""
    source: Text = ""
    subjects: list[str] = []
    questions: list[QuestionDraft] = []
    scores: list[ScoreDraft] = []
    headline: Text = ""
    examples: list[ExampleDraft] = []
    languages: list[LanguageDraft] = []

    def question(self, wanted: str) -> QuestionDraft | None:
        """The question with this id."""
        return next((each for each in self.questions if each.id == wanted), None)


def parse_draft(data: QueryDict) -> Draft:
    """Parse the draft that a page sent.

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
    """Convert mappings whose keys are all numbers to lists."""
    if not isinstance(found, Mapping):
        return found
    if found and all(re.fullmatch("[0-9]{1,4}", key) for key in found):
        return [_lists(found[key]) for key in sorted(found, key=int)]
    return {key: _lists(each) for key, each in found.items()}


# --- what the buttons do ---------------------------------------------------------------------------

_NEW: dict[str, Callable[[], _Part]] = {
    "questions": lambda: QuestionDraft(choices=[ChoiceDraft(), ChoiceDraft()]),
    "choices": ChoiceDraft,
    "scores": ScoreDraft,
    "examples": ExampleDraft,
    "languages": LanguageDraft,
}


def part_of(draft: Draft, path: str) -> Any:
    """Get the part of a draft at a path such as `questions.0.choices`.

    Raises:
        LookupError, ValueError or AttributeError: nothing does.
    """
    found: Any = draft
    for part in path.split("."):
        if isinstance(found, list):
            found = found[int(part)]
        else:
            found = found.get(part, "") if isinstance(found, dict) else getattr(found, part)
    return found


def apply_step(draft: Draft, step: str) -> str:
    """Apply a step such as `add:questions`, `up:questions.2` or `remove:questions.0.choices.1`.

    Returns:
        Path that gets the focus; "" if there is no such step.
    """
    verb, _, path = step.partition(":")
    whole, _, number = (path, "", "") if verb == "add" else path.rpartition(".")
    new = _NEW.get(whole.rpartition(".")[2])
    try:
        rows = part_of(draft, whole)
        at = int(number or len(rows))
    except (LookupError, ValueError, AttributeError):
        return ""
    if new and verb == "add" and len(rows) < MOST_ROWS:
        rows.append(new())
        return f"{whole}.{at}"
    other = at + {"up": -1, "down": 1}.get(verb, 0)
    if new is None or not (0 <= at < len(rows) and 0 <= other < len(rows)):
        return ""
    if verb == "remove":
        del rows[at]
        return whole
    rows[at], rows[other] = rows[other], rows[at]
    return f"{whole}.{other}" if other != at else ""


# --- translations ------------------------------------------------------------------------------------


def texts_of(draft: Draft) -> Iterator[tuple[str, str]]:
    """Yield every non-empty text that workers read, as (key, English)."""
    for question in draft.questions:
        texts = {"wording": question.wording, "help": question.help}
        if question.kind == "scale":
            texts |= {"low": question.scale.low_caption, "high": question.scale.high_caption}
        yield from _keyed(question.id, texts)
        for choice in question.choices if question.kind in ("one", "several") else ():
            yield from _keyed(choice.id, {"label": choice.label, "hint": choice.hint})
    for example in draft.examples:
        yield from _keyed(
            example.id,
            {f"said-{n}": text for n, (_, text) in enumerate(turns_of(example.context))}
            | {"response": example.response, "other": example.other, "why": example.why},
        )


def _keyed(id_: str, texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((f"{id_}-{name}", text) for name, text in texts.items() if text.strip())


def turns_of(context: str) -> list[tuple[str, str]]:
    """The turns of an example, a line each: “You: …” or “Chatbot: …”; without a name the two alternate."""
    found: list[tuple[str, str]] = []
    for line in filter(None, map(str.strip, context.splitlines())):
        who, colon, text = line.partition(":")
        if colon and who.strip().lower() in ("you", "chatbot"):
            found.append((who.strip().capitalize(), text.strip()))
        else:
            found.append(("Chatbot" if found and found[-1][0] == "You" else "You", line))
    return found
