"""A study's preregistered plan as files: JSON with its hash, and Markdown. Pure."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

Plan = Mapping[str, Any]
FORMAT = 1

SECTIONS = (
    "task", "asks", "main_score", "bots", "stopping_rule", "protocol", "languages", "instructions",
    "debriefing", "consent", "pay", "expected_minutes", "turnwise",
)  # fmt: skip
"""Parts of the plan in the order of its Markdown."""


def as_text(plan: Plan) -> str:
    """Write the plan as JSON with sorted keys, the form that is hashed."""
    return json.dumps(plan, ensure_ascii=False, sort_keys=True, indent=1) + "\n"


def hash_of(plan: Plan) -> str:
    """SHA-256 of the plan's file, in hexadecimal digits."""
    return hashlib.sha256(as_text(plan).encode()).hexdigest()


def as_markdown(plan: Plan) -> str:
    """Write the plan for people: every value under its name, and the hash of the JSON file."""
    lines = [
        f"# Plan: {one_line(plan['title'])}",
        "",
        f"Fixed at {plan['frozen_at']}, version {plan['version']}.",
    ]
    lines += ["", f"SHA-256 of the plan's JSON file: `{hash_of(plan)}`", ""]
    for key in SECTIONS:
        lines += [f"## {key.replace('_', ' ').capitalize()}", "", *_described(plan[key]), ""]
    return "\n".join(lines)


def _described(value: object, depth: int = 0) -> Iterator[str]:
    indent = "  " * depth
    if isinstance(value, Mapping):
        for key, each in value.items():
            if isinstance(each, Mapping | list) and each:
                yield f"{indent}- {key}:"
                yield from _described(each, depth + 1)
            else:
                yield f"{indent}- {key}: {one_line(each)}"
    elif isinstance(value, list):
        for each in value:
            if isinstance(each, Mapping):
                nested = {
                    key: part for key, part in each.items() if isinstance(part, Mapping | list) and part
                }
                flat = [f"{key}: {one_line(part)}" for key, part in each.items() if key not in nested]
                yield f"{indent}- {'; '.join(flat)}"
                for key, part in nested.items():
                    yield f"{indent}  - {key}:"
                    yield from _described(part, depth + 2)
            else:
                yield f"{indent}- {one_line(each)}"
    else:
        yield indent + one_line(value)


def one_line(value: object) -> str:
    """A value of a plan on one line."""
    if value is None or value == "" or value == []:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(str(value).split())
