"""The project's open Mini-Turing-style benchmark: 1,477 contexts to answer (see `data/README.md`)."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PATH = Path(__file__).parent / "data" / "open_mtb.jsonl"
CATEGORIES = (
    "pleasantries",
    "personality",
    "likes_and_dislikes",
    "opinions",
    "feelings",
    "hobbies",
    "common_sense",
    "basic_knowledge",
    "everyday_life",
)
CONTEXTS_BY_TURNS = {1: 315, 2: 500, 3: 662}  # the paper's numbers, section 2.4
LEAST_CONSISTENCY = 150
LONGEST_TURN = 300  # characters
NEAR_DUPLICATE_OVERLAP = 0.6  # of character 4-grams; no pair of the shipped set reaches it


@dataclass(frozen=True)
class StaticContext:
    """One context of the static evaluation; the response to judge answers its last turn.

    Attributes:
        id: unique in the set and stable between versions.
        turns: one to three texts, oldest first; the speakers alternate.
        category: one of `CATEGORIES`.
        language: ISO 639-1 code.
        consistency: a right response must agree with something said in an earlier turn.
        extends: id of the context with all turns but the last, None for one turn.
    """

    id: str
    turns: tuple[str, ...]
    category: str
    language: str
    consistency: bool
    extends: str | None


def read_open_mtb(path: Path = PATH) -> list[StaticContext]:
    """Read the benchmark, one context a line, in the file's order.

    Args:
        path: a file in the format of the shipped one.

    Raises:
        ValueError: a line is not a JSON object with exactly the fields of `StaticContext`.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_parse(line, f"{path.name}, line {number}") for number, line in enumerate(lines, start=1)]


def _parse(line: str, where: str) -> StaticContext:
    try:
        fields = json.loads(line)
        return StaticContext(**{**fields, "turns": tuple(fields["turns"])})
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f"{where}: {error}; expected a JSON object with id, turns, category, …, extends"
        ) from error


def find_faults(contexts: Sequence[StaticContext]) -> list[str]:
    """Say in one sentence each what breaks the benchmark's rules; empty if nothing does.

    Checked: unique ids, one to three clean turns, known category, language, the paper's counts by number of
    turns, the quota for consistency, and that each longer context adds one turn to the context it extends.

    Args:
        contexts: the whole set, parents anywhere.
    """
    by_id = {context.id: context for context in contexts}
    faults = [f"id {one} is used {n} times" for one, n in Counter(c.id for c in contexts).items() if n > 1]
    for context in contexts:
        faults += [f"{context.id}: {fault}" for fault in _faults_of(context, by_id)]
    return faults + list(_faults_of_counts(contexts))


def _faults_of(context: StaticContext, by_id: dict[str, StaticContext]) -> Iterator[str]:
    if context.category not in CATEGORIES:
        yield f"category {context.category!r} is none of {', '.join(CATEGORIES)}"
    if context.language != "en":
        yield f"language {context.language!r} is not 'en'"
    for turn in context.turns:
        if not 0 < len(turn) <= LONGEST_TURN or turn != " ".join(turn.split()):
            yield f"turn {turn!r} is empty, has stray spaces or more than {LONGEST_TURN} characters"
    if context.consistency and len(context.turns) == 1:
        yield "one turn cannot test consistency: nothing was said before"
    parent = by_id.get(context.extends) if context.extends else None
    if len(context.turns) == 1 and context.extends:
        yield f"one turn extends nothing, but it names {context.extends}"
    if len(context.turns) > 1 and (parent is None or parent.turns != context.turns[:-1]):
        yield f"extends {context.extends}, which is not the same context without its last turn"
    if parent and parent.category != context.category:
        yield f"category {context.category}, but it extends one of {parent.category}"


def _faults_of_counts(contexts: Sequence[StaticContext]) -> Iterator[str]:
    found = Counter(len(context.turns) for context in contexts)
    if dict(found) != CONTEXTS_BY_TURNS:
        yield f"contexts by number of turns are {dict(sorted(found.items()))}, not {CONTEXTS_BY_TURNS}"
    consistency = sum(context.consistency for context in contexts)
    if consistency < LEAST_CONSISTENCY:
        yield f"{consistency} contexts test consistency, fewer than {LEAST_CONSISTENCY}"
