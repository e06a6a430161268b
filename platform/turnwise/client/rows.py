"""Rows of lists: what the API says of a participant, a label, an item and others; findings of a rehearsal."""

from dataclasses import dataclass
from typing import Any, TypedDict


class Participant(TypedDict):
    """A participation, from consent to its outcome. Times are ISO 8601 in UTC."""

    worker: str
    number: int
    panel: str
    panel_id: str
    submission: str
    consented_at: str
    began_at: str | None
    ended_at: str | None
    outcome: str
    completion_code: str
    pilot: bool
    condition: dict[str, str]
    signs: str
    proposed_reason: str
    excluded_at: str | None
    excluded_reason: str


class Redaction(TypedDict):
    """A text that exports, bundles and reports show as a mark."""

    id: int
    text: str
    kind: str
    at: str
    by: str | None
    undone_at: str | None


class SentPicture(TypedDict):
    """A picture that a participant sent, and the positions of the messages with it."""

    id: int
    dialogue: str
    turns: list[int]
    width: int
    height: int
    description: str


class Dispute(TypedDict):
    """An item with two judgments or more, about which an adjudicator may decide."""

    item: str
    question_set: str
    differ: list[str]
    open: list[str]
    complete: bool
    decided: bool
    decision: int


class Dialogue(TypedDict):
    """A conversation."""

    dialogue: str
    origin: str
    bots: list[str]
    workers: list[str]
    language: str
    started_at: str
    ended_at: str | None
    ending: str
    turns: int


class Turn(TypedDict):
    """A turn of a conversation, by its position from 0."""

    dialogue: str
    position: int
    by: str
    text: str
    created_at: str
    bot: str | None
    bot_version: str | None
    latency_ms: int | None
    seed: int | None


class Label(TypedDict):
    """Answers of a rater about one thing, by key of the question."""

    id: int
    ask: int | None
    question_set: str
    answers: dict[str, Any]
    rater: str
    rater_role: str
    subject: str
    dialogue: str | None
    turn: int | None
    occasion: int
    labelled_at: str
    changes: int
    shown_ms: int | None
    answer_ms: int | None


class Item(TypedDict):
    """An item of a queue; of what stands at its subject, the rest is null."""

    key: str
    ask: int
    system: str
    subject: str
    run: int | None
    context: str | None
    dialogue: str | None
    turn: int | None
    language: str
    removed: bool
    gold: dict[str, list[Any]] | None
    instructed: bool
    judgments: int


class Flag(TypedDict):
    """A quality flag of a worker."""

    worker: str
    number: int
    kind: str
    says: str
    figures: dict[str, Any]
    labels: list[int]
    found_at: str


class Decision(TypedDict):
    """A decision about a worker."""

    id: int
    worker: str
    action: str
    reason: str
    by: str
    at: str
    undone: bool


class Context(TypedDict):
    """A context: turns, oldest first, to which systems respond."""

    id: str
    turns: list[str]
    category: str
    language: str
    consistency: bool
    material: list[str]
    extends: str


class Response(TypedDict):
    """A response to a context."""

    context: str
    repetition: int
    text: str
    seed: int | None
    latency_ms: int | None
    created_at: str


class Reviewed(TypedDict):
    """A finished conversation with its measures and the decision about it."""

    dialogue: str
    state: str
    reason: str
    by: str | None
    at: str | None
    measures: dict[str, float | None]
    broken: list[str]


@dataclass(frozen=True, slots=True)
class Finding:
    """An injected effect of a rehearsal, compared with the report.

    Attributes:
        holds: whether the report shows it; None: that cannot be told.
        words: the comparison in a sentence.
    """

    holds: bool | None
    words: str
