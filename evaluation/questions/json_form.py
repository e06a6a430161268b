"""Question sets as JSON: for researchers who declare their own, and for bundles, which say what was asked."""

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from evaluation.questions.errors import MOST_FAULTS, DeclarationError, refuse_with
from evaluation.texts.cleaning import cleaned

if TYPE_CHECKING:
    from evaluation.questions.declarations import QuestionSet

FORMAT = 1
_MOST_CHARACTERS = 1_000_000
_TEXT = 100_000


def as_json(questions: "QuestionSet") -> dict[str, Any]:
    """All fields, sets in order; equal sets give equal objects."""
    adapter: TypeAdapter[QuestionSet] = TypeAdapter(type(questions))
    fields: dict[str, Any] = adapter.dump_python(questions, mode="json")
    fields["subjects"] = sorted(fields["subjects"])
    for question in fields["questions"]:
        if question["scale"] is not None:
            del question["choices"]  # they follow from the scale
    return fields


def read(declared_type: "type[QuestionSet]", declared: object) -> "QuestionSet":
    """As `QuestionSet.from_json`."""
    if not isinstance(declared, Mapping):
        raise DeclarationError("declaration", f"{declared!r:.80} is not a JSON object.", "Give an object.")
    fields = dict(declared)
    found = fields.pop("format", None)
    if type(found) is not int or found != FORMAT:
        raise DeclarationError("format", f"{found!r:.80} cannot be read.", f"This version reads {FORMAT}.")
    adapter: TypeAdapter[QuestionSet] = TypeAdapter(declared_type)
    try:
        return adapter.validate_json(json.dumps(_cleaned(fields), allow_nan=False))
    except ValidationError as error:
        faults = list(islice(_faults(error), MOST_FAULTS))
    except (RecursionError, TypeError, ValueError) as error:
        if isinstance(error, DeclarationError):
            raise
        faults = [DeclarationError("declaration", f"it is not JSON: {error}.", "Give a JSON object.")]
    refuse_with(faults)
    raise AssertionError("a ValidationError has at least one fault")


def _cleaned(value: object) -> object:
    """The same JSON value, every text cleaned as those of bots and workers are."""
    if isinstance(value, str):
        return cleaned(value, _TEXT)
    if isinstance(value, Mapping):
        return {cleaned(str(key), _TEXT): _cleaned(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(each) for each in value]
    return value


def _faults(error: ValidationError) -> Iterator[DeclarationError]:
    for each in error.errors(include_url=False):
        raised = each.get("ctx", {}).get("error")
        if isinstance(raised, DeclarationError):
            yield from raised.all
            continue
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in each["loc"])
        yield DeclarationError(where.lstrip(".") or "declaration", f"{each['msg']}.", _cure(each["type"]))


def _cure(kind: str) -> str:
    if kind == "missing":
        return "Add it."
    if kind in ("unexpected_keyword_argument", "extra_forbidden"):
        return "Take it out, or correct its name."
    return "Correct it."
