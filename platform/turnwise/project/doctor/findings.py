"""Findings of a check: what is in order, what is wrong with the cure, and what could not be checked."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from turnwise.project.supervision.processes import StartError


class State(StrEnum):
    OK = "ok"
    PROBLEM = "problem"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check; `cure` is a sentence that says what to do, "" if nothing is to be done."""

    check: str
    state: State
    sentence: str
    cure: str = ""


Check = Callable[[], Iterable[Finding]]


def ok(check: str, sentence: str) -> Finding:
    return Finding(check, State.OK, sentence)


def problem(check: str, sentence: str, cure: str) -> Finding:
    return Finding(check, State.PROBLEM, sentence, cure)


def unchecked(check: str, sentence: str, cure: str = "") -> Finding:
    return Finding(check, State.UNCHECKED, sentence, cure)


# Refusals of a start end with what to do, which begins with one of these verbs.
_CURE = re.compile(r"(?<=\.) (?=(?:Check|Change|Choose|Correct|Create|Set|Stop|Use|Write) )")


def refusal(check: str, error: StartError | SystemExit) -> Finding:
    """Finding of what would keep Turnwise from starting, with its cure."""
    parts = _CURE.split(str(error).removeprefix(f"{check}: "), maxsplit=1)
    return problem(check, parts[0], parts[1] if parts[1:] else "")


def run_checks(checks: Iterable[tuple[str, Check]]) -> Iterator[Finding]:
    """Run named checks in order; one that fails unexpectedly is a problem, and the others still run."""
    for name, check in checks:
        try:
            yield from check()
        except Exception as error:
            reason = str(error).strip().partition("\n")[0]
            yield problem(
                name, f"This check failed: {type(error).__name__}: {reason}.", "Report it with this line."
            )
