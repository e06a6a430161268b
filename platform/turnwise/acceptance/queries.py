"""Finished conversations for review, with their measures and decisions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Count, Prefetch, Q, QuerySet

from evaluation.conversation.grounding import LIMITS, GroundedTurn, broken, measures
from evaluation.questions.sets.topical_chat import SECTIONS, TOPICAL_CHAT_CONVERSATION, TOPICAL_CHAT_OWN
from turnwise.acceptance.models import Decision
from turnwise.dialogues.models import Dialogue, Material, Seat, Turn
from turnwise.labels.models import Label
from turnwise.studies.models import Study

PENDING = "pending"
"""A state beside those of `Decision`."""


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """A row of the review page: a conversation with its measures.

    Attributes:
        dialogue: with its seats.
        decision: None while it is pending.
        measured: by key, the value and whether it is beyond its limit.
        broken: keys of the measures that are beyond their limits.
        ratings: what the two said of the whole at the end.
    """

    dialogue: Dialogue
    decision: Decision | None
    measured: Mapping[str, tuple[float | None, bool]]
    broken: list[str]
    ratings: list[int]


def dialogues_to_review(study: Study, state: str = "") -> QuerySet[Dialogue]:
    """The finished conversations that were held here, oldest first; of one state, or all."""
    finished = Dialogue.objects.filter(
        study=study, origin=Dialogue.Origin.LIVE, ending=Dialogue.Ending.COMPLETE
    ).order_by("pk")
    if state == PENDING:
        return finished.filter(decision=None)
    return finished.filter(decision__state=state) if state else finished


def count_by_state(study: Study) -> dict[str, int]:
    """Number of pending, accepted and rejected conversations."""
    decided = {state: Count("pk", filter=Q(decision__state=state)) for state in Decision.State.values}
    counts: dict[str, int] = dialogues_to_review(study).aggregate(
        pending=Count("pk", filter=Q(decision=None)), **decided
    )
    return counts


def review_rows(dialogues: QuerySet[Dialogue], limits: Mapping[str, float | None]) -> list[ReviewRow]:
    """Conversations of one page of the list, with their measures."""
    annotations = Label.objects.filter(question_set=TOPICAL_CHAT_OWN.key).exclude(party="reader")
    wholes = Label.objects.filter(question_set=TOPICAL_CHAT_CONVERSATION.key).exclude(party="reader")
    annotated = Prefetch("labels", queryset=annotations, to_attr="annotations")
    turns = Turn.objects.order_by("position").prefetch_related(annotated)
    rows = dialogues.select_related("decision__by").prefetch_related(
        Prefetch("turn_set", queryset=turns, to_attr="said"),
        Prefetch("labels", queryset=wholes.order_by("pk")),
        Prefetch("seats", queryset=Seat.objects.select_related("worker", "bot")),
        Prefetch("seats__materials", queryset=Material.objects.order_by("number")),
    )
    return [_review_row(each, limits) for each in rows]


def _review_row(dialogue: Dialogue, limits: Mapping[str, float | None]) -> ReviewRow:
    turns: list[Turn] = dialogue.said  # type: ignore[attr-defined]  # prefetched
    counted_turns = [turn for turn in turns if turn.position >= dialogue.opening_turns]
    found: Mapping[str, float | None] = dict.fromkeys(LIMITS)
    if counted_turns:
        first, last = counted_turns[0], counted_turns[-1]
        found = measures(
            [_grounded_turn(turn) for turn in counted_turns],
            {seat.number: _texts(seat.materials.all()) for seat in dialogue.seats.all()},
            (last.created_at - first.created_at).total_seconds(),
        )
    beyond = broken(found, limits)
    return ReviewRow(
        dialogue=dialogue,
        decision=getattr(dialogue, "decision", None),
        measured={key: (found[key], key in beyond) for key in LIMITS},
        broken=beyond,
        ratings=[label.answers["quality"] for label in dialogue.labels.all()],
    )


def _grounded_turn(turn: Turn) -> GroundedTurn:
    annotations: list[Label] = turn.annotations  # type: ignore[attr-defined]  # prefetched
    if not annotations:
        return GroundedTurn(turn.position % 2, turn.text)
    answers = annotations[0].answers
    sources = tuple(answers.get("source", ()))
    is_sourced = any(each in SECTIONS for each in sources)
    return GroundedTurn(turn.position % 2, turn.text, (answers.get("sentiment"), sources), is_sourced)


def _texts(materials: Iterable[Material]) -> list[str]:
    return [text for each in materials for text in (each.text, *each.points) if text]
