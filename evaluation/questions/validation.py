"""From pydantic's errors to `DeclarationError`: which field, which value, and what to do next."""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from evaluation.questions import limits
from evaluation.questions.errors import DeclarationError

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
    limits.SET_KEY: "hyphens",
    limits.QUESTION_KEY: "underscores",
    limits.SCORE_KEY: "underscores or dots",
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
    if pattern == limits.LANGUAGE:
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
