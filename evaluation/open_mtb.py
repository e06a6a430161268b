"""The project's open Mini-Turing-style benchmark: 1,477 contexts to answer (see `data/README.md`)."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

VERSION = "1.0.0"
CANARY = "open-mtb-canary:b090b291-9eab-4218-87dd-cbcdbfac3fb8"
"""Marker in every line of the files, so that builders of training corpora can find and drop them."""

_DATA = Path(__file__).parent / "data"
PATH = _DATA / "open_mtb.jsonl"
PATH_ZH = _DATA / "open_mtb.zh.jsonl"
KEYS_PATH = _DATA / "open_mtb.keys.jsonl"
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
CONTEXTS_BY_TURNS = {1: 315, 2: 500, 3: 662}  # the paper's numbers, section 2.2
LEAST_CONSISTENCY = 150
LEAST_IDENTITY = 20
MOST_UNBALANCED = 4  # yes/no probes that want one answer more often than the other
LONGEST_TURN = 300  # characters
NEAR_DUPLICATE_OVERLAP = 0.6  # of character 4-grams; no pair of the shipped set reaches it


@dataclass(frozen=True)
class StaticContext:
    """One context of the static evaluation; the judged response answers its last turn.

    Attributes:
        id: unique in the set and stable between versions.
        turns: one to three texts, oldest first; the speakers alternate.
        category: one of `CATEGORIES`.
        language: ISO 639-1 code.
        consistency: true if a right response must agree with an earlier turn.
        identity: true if the last turn asks whether the partner is a person or a program.
        extends: id of the context with all turns but the last, None for one turn.
    """

    id: str
    turns: tuple[str, ...]
    category: str
    language: str
    consistency: bool
    identity: bool
    extends: str | None


@dataclass(frozen=True)
class ConsistencyKey:
    """The fact that a response to a context with `consistency` must agree with. "Partner" is the responder.

    Attributes:
        id: id of the context.
        turns: numbers of the turns that state the fact, from 1.
        fact: the fact, in a sentence.
        contradicts: kinds of answer that disagree with the fact.
        answer: the plain answer that agrees with the fact; None if the last turn is not a yes-or-no question.
    """

    id: str
    turns: tuple[int, ...]
    fact: str
    contradicts: str
    answer: Literal["yes", "no"] | None


def read_open_mtb(path: Path = PATH) -> list[StaticContext]:
    """Read the benchmark, one context a line, in the file's order.

    Args:
        path: a file in the format of the shipped one.

    Raises:
        ValueError: a line is not a JSON object with exactly the fields of `StaticContext` and a canary.
    """
    return [StaticContext(**fields) for fields in _objects(path, StaticContext)]


def read_keys(path: Path = KEYS_PATH) -> dict[str, ConsistencyKey]:
    """Read the keys of the contexts that test consistency, by the context's id.

    Args:
        path: a file in the format of the shipped one.

    Raises:
        ValueError: a line is not a JSON object with exactly the fields of `ConsistencyKey` and a canary.
    """
    return {fields["id"]: ConsistencyKey(**fields) for fields in _objects(path, ConsistencyKey)}


@cache
def last_turns() -> Mapping[str, frozenset[str]]:
    """Last turns of each context of the benchmark, in all its languages, by id."""
    by_name: dict[str, set[str]] = {}
    for path in (PATH, PATH_ZH):
        for context in read_open_mtb(path):
            by_name.setdefault(context.id, set()).add(context.turns[-1])
    return {name: frozenset(turns) for name, turns in by_name.items()}


def fingerprint(path: Path = PATH) -> str:
    """Return the SHA-256 of a file in hexadecimal: scores are comparable where it is the same."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def columns(
    contexts: Sequence[StaticContext], keys: dict[str, ConsistencyKey]
) -> dict[str, dict[str, str | int | bool]]:
    """Return the properties of each context by which results are broken down.

    Args:
        contexts: any contexts of the benchmark.
        keys: keys of the contexts that test consistency; contexts without a key have no `answer`.

    Returns:
        By id, in the order of `contexts`: `category`, `turns` (1 to 3), `consistency`, `identity`, `answer`
        ("yes", "no", or "" if no plain answer is right).
    """
    return {
        context.id: {
            "category": context.category,
            "turns": len(context.turns),
            "consistency": context.consistency,
            "identity": context.identity,
            "answer": (keys[context.id].answer or "") if context.id in keys else "",
        }
        for context in contexts
    }


def _objects(path: Path, kind: type[StaticContext | ConsistencyKey]) -> Iterator[dict[str, Any]]:
    expected = [*kind.__dataclass_fields__, "canary"]
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            fields = json.loads(line)
            if sorted(fields) != sorted(expected):
                raise ValueError(f"the fields are {sorted(fields)}")
            del fields["canary"]
            yield {**fields, "turns": tuple(fields["turns"])}
        except (ValueError, TypeError) as error:
            expects = f"expected a JSON object with {', '.join(expected)}"
            raise ValueError(f"{path.name}, line {number}: {error}; {expects}") from error


def find_faults(contexts: Sequence[StaticContext]) -> list[str]:
    """List violations of the benchmark's rules, in one sentence each.

    Checked: unique ids, one to three clean turns, known category, language, the paper's counts by number of
    turns, the quotas for consistency and identity, and that each longer context adds one turn to the context
    it extends.

    Args:
        contexts: the whole set, parents anywhere.
    """
    by_id = {context.id: context for context in contexts}
    faults = [f"id {one} is used {n} times" for one, n in Counter(c.id for c in contexts).items() if n > 1]
    for context in contexts:
        faults += [f"{context.id}: {fault}" for fault in _faults_of(context, by_id, "en")]
    return faults + list(_faults_of_counts(contexts))


def find_translation_faults(
    contexts: Sequence[StaticContext], originals: Sequence[StaticContext]
) -> list[str]:
    """List departures of a Chinese version from the original, in one sentence each.

    Checked: language and turns, and the same category, flags and parent as the original context with
    the same id; a category is translated whole or not at all.

    Args:
        contexts: the translated contexts, of some categories or all.
        originals: the whole English set.
    """
    by_id = {context.id: context for context in contexts}
    categories = {c.category for c in contexts}
    expected = {c.id: c for c in originals if c.category in categories}
    faults = [f"{one} is missing or unknown" for one in sorted(set(expected) ^ set(by_id))]
    for context in contexts:
        faults += [f"{context.id}: {fault}" for fault in _faults_of(context, by_id, "zh")]
        if context.id in expected and _shape(context) != _shape(expected[context.id]):
            faults.append(
                f"{context.id}: {_shape(context)} is not the original's {_shape(expected[context.id])}"
            )
    return faults


def find_key_faults(contexts: Sequence[StaticContext], keys: dict[str, ConsistencyKey]) -> list[str]:
    """List faults of the consistency keys, in one sentence each.

    Checked: exactly the contexts that test consistency have a key, its turns exist, one is earlier than the
    last, no field is empty, and "yes" and "no" are right about equally often.

    Args:
        contexts: the whole set.
        keys: by id, as `read_keys` gives them.
    """
    by_id = {context.id: context for context in contexts if context.consistency}
    faults = [f"{one} has a key or tests consistency, not both" for one in sorted(set(by_id) ^ set(keys))]
    for key in keys.values():
        last = len(by_id[key.id].turns) if key.id in by_id else 3
        if not key.turns or min(key.turns) >= last or not set(key.turns) <= set(range(1, last + 1)):
            faults.append(f"{key.id}: turns {key.turns} name no earlier turn of {last}")
        if not (key.fact and key.contradicts) or key.answer not in ("yes", "no", None):
            faults.append(
                f"{key.id}: fact or contradicts is empty, or answer {key.answer!r} is not yes or no"
            )
    counts = Counter(key.answer for key in keys.values())
    if abs(counts["yes"] - counts["no"]) > MOST_UNBALANCED:
        faults.append(
            f"{counts['yes']} probes want yes and {counts['no']} no; a constant answer would do well"
        )
    return faults


def _shape(context: StaticContext) -> tuple[object, ...]:
    return len(context.turns), context.category, context.consistency, context.identity, context.extends


def _faults_of(context: StaticContext, by_id: dict[str, StaticContext], language: str) -> Iterator[str]:
    if context.category not in CATEGORIES:
        yield f"category {context.category!r} is none of {', '.join(CATEGORIES)}"
    if context.language != language:
        yield f"language {context.language!r} is not {language!r}"
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
    counts = Counter(len(context.turns) for context in contexts)
    if dict(counts) != CONTEXTS_BY_TURNS:
        yield f"contexts by number of turns are {dict(sorted(counts.items()))}, not {CONTEXTS_BY_TURNS}"
    consistency = sum(context.consistency for context in contexts)
    if consistency < LEAST_CONSISTENCY:
        yield f"{consistency} contexts test consistency, fewer than {LEAST_CONSISTENCY}"
    identity = sum(context.identity for context in contexts)
    if identity < LEAST_IDENTITY:
        yield f"{identity} contexts ask what the partner is, fewer than {LEAST_IDENTITY}"
