"""Validation of declarations: limits of values, and errors in words for the people who can correct them.

Pydantic checks the limits, and the JSON schema states them. Its errors become a `DeclarationError`: which
field, which value, and what to do next.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictInt, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

# Most faults that are searched for and reported.
MOST_FAULTS = 100


class DeclarationError(ValueError):
    """A question set that cannot be declared.

    Attributes:
        field: path of the field, such as `questions[1].choices`.
        problem: the fault, with the value.
        cure: what to do.
        also: further faults of the declaration.
    """

    def __init__(self, field: str, problem: str, cure: str) -> None:
        super().__init__(f"{field}: {problem} {cure}")
        self.field = field
        self.problem = problem
        self.cure = cure
        self.also: tuple[DeclarationError, ...] = ()

    @property
    def all(self) -> "tuple[DeclarationError, ...]":
        """All faults, in the order of the declaration."""
        return (self, *self.also)


def refuse_with(faults: Iterable[DeclarationError]) -> None:
    """Raise the first of these faults, with the others attached; do nothing if there are none."""
    first_faults = list(islice(faults, MOST_FAULTS))
    if first_faults:
        first_faults[0].also = tuple(first_faults[1:])
        raise first_faults[0]


class AnswersError(ValueError):
    """Answers that cannot be stored, explained for the worker.

    Attributes:
        code: `unknown_question`, `missing_answer`, `wrong_value`, `too_long` or `not_asked`.
        message: the explanation, also `str(error)`.
        question: key of the faulty question.
    """

    def __init__(self, code: str, message: str, question: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.question = question


class UnknownQuestionSetError(LookupError):
    """No question set has this key; the message suggests one and lists all."""


MOST_QUESTIONS = 40
MOST_CHOICES = 50
MOST_SCORES = 200
MOST_EXAMPLES = 20
LONGEST_TEXT_ANSWER = 4000
LARGEST = 1_000_000
_KEY, _SCORE_KEY, _LANGUAGE = 40, 50, 20
_LINE, _CAPTION, _LONG = 300, 120, 4000

NOT_BLANK = r"\S"
SET_KEY = r"^[a-z][a-z0-9-]*$"
QUESTION_KEY = r"^[a-z][a-z0-9_]*$"
SCORE_KEY = r"^[a-z][a-z0-9_.]*$"
LANGUAGE = r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$"

SetKey = Annotated[str, StringConstraints(strict=True, pattern=SET_KEY, max_length=_KEY)]
QuestionKey = Annotated[str, StringConstraints(strict=True, pattern=QUESTION_KEY, max_length=_KEY)]
ScoreKey = Annotated[str, StringConstraints(strict=True, pattern=SCORE_KEY, max_length=_SCORE_KEY)]
Language = Annotated[str, StringConstraints(strict=True, pattern=LANGUAGE, max_length=_LANGUAGE)]
Line = Annotated[str, StringConstraints(strict=True, pattern=NOT_BLANK, max_length=_LINE)]
Caption = Annotated[str, StringConstraints(strict=True, pattern=NOT_BLANK, max_length=_CAPTION)]
Hint = Annotated[str, StringConstraints(strict=True, max_length=_CAPTION)]
"""A caption that may be empty."""
Text = Annotated[str, StringConstraints(strict=True, pattern=NOT_BLANK, max_length=_LONG)]
OptionalText = Annotated[str, StringConstraints(strict=True, max_length=_LONG)]
# The title of a share is the wording of its question and the caption of its choice.
ScoreTitle = Annotated[
    str, StringConstraints(strict=True, pattern=NOT_BLANK, max_length=_LINE + 1 + _CAPTION)
]
WholeNumber = Annotated[StrictInt, Field(ge=-LARGEST, le=LARGEST)]


def _storable(value: object) -> object:
    """Refuse a value that cannot be stored as an answer; a union of types would report one error a type."""
    if not isinstance(value, bool | int | str):
        raise DeclarationError(
            "", f"{value!r:.80} cannot be an answer.", "Give true, false, a whole number or a text."
        )
    if isinstance(value, str):
        if not value.strip():
            raise DeclarationError("", "it is empty.", "Write what is stored.")
        if len(value) > _CAPTION:
            raise DeclarationError(
                "", f"it has {len(value)} characters; {_CAPTION} is the most.", "Shorten it."
            )
    elif abs(value) > LARGEST:
        raise DeclarationError("", f"{value} is out of range.", f"Stay within -{LARGEST} and {LARGEST}.")
    return value


def _answer(value: object) -> object:
    """Refuse values that no question accepts; a later check compares the answer with its question."""
    for each in value if isinstance(value, list | tuple) else (value,):
        if not isinstance(each, bool | int | str):
            raise DeclarationError(
                "", f"{each!r:.80} cannot be an answer.", "Give true, false, a whole number or a text."
            )
    return value


StoredValue = Annotated[bool | int | str, BeforeValidator(_storable)]
"""Stored value of one choice."""
GivenAnswer = Annotated[bool | int | str | list[bool | int | str], BeforeValidator(_answer)]
"""An answer in a worked example; a list for several choices."""


_WRONG_TYPE = {
    "string_type": ("a text", "Give a text, in quotation marks."),
    "int_type": ("a whole number", "Write one such as 7."),
    "bool_type": ("true or false", "Write true or false, without quotation marks."),
    "tuple_type": ("a list", "Give a list, in square brackets."),
    "frozen_set_type": ("a list", "Give a list, in square brackets."),
    "dataclass_type": ("an object", "Give an object, in braces."),
    "mapping_type": ("an object", "Give an object, in braces."),
}
_BETWEEN = {
    SET_KEY: "hyphens",
    QUESTION_KEY: "underscores",
    SCORE_KEY: "underscores or dots",
}
_NAME = re.compile(r"[\w-]+")


def faults_of(error: ValidationError, schema: Mapping[str, Any]) -> Iterator[DeclarationError]:
    """Each thing that is wrong, in the order of the declaration.

    A `DeclarationError` that stands in place of a value is reported as it is: a form puts it where a text of
    its own could not be converted.

    Args:
        error: what pydantic raised.
        schema: the JSON schema that it validated, for the names of fields.
    """
    for each in error.errors(include_url=False):
        where, value = _path(each["loc"]), each["input"]
        raised = each.get("ctx", {}).get("error")
        if isinstance(value, DeclarationError):
            yield DeclarationError(where, value.problem, value.cure)
        elif isinstance(raised, DeclarationError):
            yield from (DeclarationError(_joined(where, of.field), of.problem, of.cure) for of in raised.all)
        elif not _follows(each):
            yield DeclarationError(where or "declaration", *_words(each, schema))


def _path(location: Sequence[str | int]) -> str:
    """The location as `questions[1].choices`; the English text of a translation stands in quotation marks."""
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part != "[key]":
            path += f".{part}" if _NAME.fullmatch(part) else f", “{part[:40]}”"
    return path.lstrip(".")


def _joined(where: str, field: str) -> str:
    return f"{where}.{field}" if where and field else where or field


def _follows(error: ErrorDetails) -> bool:
    """True if a list is reported as too short only because pydantic did not count its invalid members."""
    value = error["input"]
    return error["type"] == "too_short" and isinstance(value, list | tuple) and bool(value)


def _words(error: ErrorDetails, schema: Mapping[str, Any]) -> tuple[str, str]:
    """The problem and its cure."""
    kind, value, limit = error["type"], error["input"], error.get("ctx", {})
    quoted = f"“{value[:60]}”" if isinstance(value, str) else f"{value!r:.80}"
    match kind:
        case "missing":
            return "it is missing.", "Add it."
        case "unexpected_keyword_argument":
            names = list(described(schema, error["loc"][:-1]).get("properties", {}))
            name = str(error["loc"][-1])
            return f"there is no such field.{_nearest(name, names)}", f"Take it out, or use {_listed(names)}."
        case "enum":
            names = re.findall(r"'([^']*)'", limit["expected"])
            return f"{quoted} cannot be chosen.{_nearest(str(value), names)}", f"Use {_listed(names)}."
        case "string_pattern_mismatch":
            return _of_pattern(quoted, value, limit["pattern"])
        case "string_too_long":
            return f"it has {len(value)} characters; {limit['max_length']} is the most.", "Shorten it."
        case "too_long":
            return f"there are {len(value)}; {limit['max_length']} is the most.", "Leave some out."
        case "too_short":
            return f"there are {len(value)}; {limit['min_length']} is the fewest.", "Add some."
        case "greater_than_equal":
            return f"{quoted} is too small.", f"Write {limit['ge']} or more."
        case "less_than_equal":
            return f"{quoted} is too large.", f"Write {limit['le']} or less."
    expected, cure = _WRONG_TYPE.get(kind, ("", ""))
    return (f"{quoted} is not {expected}.", cure) if cure else (f"{error['msg']}.", "Correct it.")


def _of_pattern(quoted: str, value: str, pattern: str) -> tuple[str, str]:
    problem, cure = "it is empty.", "Write what people are to read."
    if pattern == LANGUAGE:
        problem, cure = f"{quoted} is not the code of a language.", "Use a code such as zh or pt-BR."
    elif pattern in _BETWEEN:
        problem = f"{quoted} cannot be a key."
        cure = f"Use small letters of English, digits and {_BETWEEN[pattern]}, a letter first."
    return (problem if value.strip() else "it is empty."), cure


def _nearest(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, n=1)
    return f" Did you mean “{near[0]}”?" if near else ""


def _listed(names: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def described(schema: Mapping[str, Any], path: Sequence[str | int]) -> Mapping[str, Any]:
    """Part of a JSON schema for the field with this path, such as `("questions", 1, "wording")`."""
    description = _target(schema, schema)
    for name in path:
        if isinstance(name, str):
            description = _target(schema, description.get("properties", {}).get(name, {}))
    return description


def _target(schema: Mapping[str, Any], part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Add to a description the properties of its members, or of the part to which it refers."""
    inner = part.get("items") or next((each for each in part.get("anyOf", ()) if "$ref" in each), None)
    if inner is None and "$ref" in part:
        inner = schema["$defs"][part["$ref"].rpartition("/")[2]]
    return part if inner is None else {**part, "properties": _target(schema, inner).get("properties", {})}
