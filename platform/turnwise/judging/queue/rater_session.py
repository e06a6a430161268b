"""A worker's session in a judging study: its constant facts, refusals, and the reading beside items.

If the plan shows reading, raters of conversations see what the chatters could read, raters of a response the
sentences of its
context, and raters of a context its own sentences.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from evaluation.questions import Answer
from turnwise.judging.models import Slot
from turnwise.live.frames import RefusedError
from turnwise.studies.models import Ask

READING = """
SELECT i.study_id, i.id AS item, i.key::text AS key, side.number AS side, d.public_id::text AS dialogue,
       seat.number::integer AS seat, m.number::integer AS number, m.key AS name, m.title,
       nullif(m.heading, '') AS heading, nullif(m.text, '') AS text, m.points::text[] AS points,
       nullif(m.variant, '') AS variant
  FROM judging_item AS i
  LEFT JOIN dialogues_turn AS t ON t.id = i.turn_id
  LEFT JOIN labels_pair AS p ON p.id = i.pair_id
 CROSS JOIN LATERAL (VALUES (0, coalesce(t.dialogue_id, i.dialogue_id, p.first_dialogue_id)),
                            (1, p.second_dialogue_id)) AS side (number, dialogue)
  JOIN dialogues_dialogue AS d ON d.id = side.dialogue
  JOIN dialogues_seat AS seat ON seat.dialogue_id = d.id
  JOIN dialogues_material AS m ON m.seat_id = seat.id
UNION ALL
SELECT i.study_id, i.id, i.key::text, 0, NULL, NULL, read.number::integer, NULL, NULL, NULL,
       read.sentence, '{}', NULL
  FROM judging_item AS i
  LEFT JOIN labels_pair AS p ON p.id = i.pair_id
  LEFT JOIN responses_response AS r ON r.id = coalesce(i.response_id, p.first_response_id)
  JOIN contexts_context AS c ON c.id = coalesce(r.context_id, i.context_id)
 CROSS JOIN LATERAL unnest(c.material) WITH ORDINALITY AS read (sentence, number)
"""
"""Subquery of the reading of all items, with a row for each text.

`side` tells the two conversations of a pair apart. Sentences of a context have no seat.
"""

_OF_ITEMS = f"""
SELECT read.item, read.side, read.seat, read.title, coalesce(read.heading, ''), coalesce(read.text, ''),
       read.points
  FROM ({READING}) AS read
 WHERE read.item = ANY(%(items)s)
 ORDER BY read.item, read.side, read.seat, read.number
"""


class TextContent(NamedTuple):
    """Content of a text; equal texts of two seats are one."""

    title: str
    heading: str
    text: str
    points: tuple[str, ...]


class ReadingText(NamedTuple):
    """One text beside an item.

    Attributes:
        title, heading, text, points: as the chatters had them.
        note: a sentence that says which speaker alone had it; empty if both had it. Also empty if only
        one speaker
            read anything, since that would reveal which one is a person.
    """

    title: str
    heading: str
    text: str
    points: tuple[str, ...]
    note: str


def reading_of_slots(batch_id: int, keys: Iterable[str]) -> dict[str, list[ReadingText]]:
    """Texts by the key of an item in this batch; items without reading are left out."""
    slots = Slot.objects.filter(batch=batch_id, key__in=[UUID(key) for key in keys])
    slots_by_key = {
        str(key): (item, swapped) for key, item, swapped in slots.values_list("key", "item", "is_swapped")
    }
    texts = _texts_with_holders([item for item, _swapped in slots_by_key.values()])
    return {
        key: _with_notes(texts[item], is_swapped=swapped)
        for key, (item, swapped) in slots_by_key.items()
        if item in texts
    }


def reading_of_items(items: Collection[int]) -> dict[int, list[ReadingText]]:
    """Texts by item id, with sides in stored order; items without reading are left out."""
    return {
        item: _with_notes(holders, is_swapped=False)
        for item, holders in _texts_with_holders(list(items)).items()
    }


# Side of a pair (0 for other items) and seat of the conversation on that side.
_Holder = tuple[int, int]
_Holders = Mapping[TextContent, set[_Holder]]


def _texts_with_holders(items: list[int]) -> dict[int, _Holders]:
    """For each item, its texts in order, each with the sides and seats that had it."""
    found: dict[int, dict[TextContent, set[_Holder]]] = {}
    sentences: dict[int, list[str]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_OF_ITEMS, {"items": items})
        for item, side, seat, title, heading, text, points in cursor.fetchall():
            if seat is None:
                sentences.setdefault(item, []).append(text)
            else:
                content = TextContent(title, heading, text, tuple(points))
                found.setdefault(item, {}).setdefault(content, set()).add((side, seat))
    # The sentences of a context are one text with one holder.
    of_contexts = {
        item: {TextContent(gettext("Knowledge"), "", "\n\n".join(of_context), ()): {(0, 0)}}
        for item, of_context in sentences.items()
    }
    return {**found, **of_contexts}


def _with_notes(holders: _Holders, *, is_swapped: bool) -> list[ReadingText]:
    """The texts with notes about their holders; texts of the side shown first come first."""
    all_holders = set().union(*holders.values())
    sides = {side for side, _seat in all_holders}
    ordered = sorted(holders.items(), key=lambda each: min(side != is_swapped for side, _seat in each[1]))
    return [
        ReadingText(*content, _note(had, all_holders, sides, is_swapped=is_swapped))
        for content, had in ordered
    ]


def _note(had: set[_Holder], all_holders: set[_Holder], sides: set[int], *, is_swapped: bool) -> str:
    if len(sides) > 1:
        in_sides = {side != is_swapped for side, _seat in had}
        if len(in_sides) > 1:
            return ""
        if in_sides == {True}:
            return gettext("For the second conversation only.")
        return gettext("For the first conversation only.")
    if len(all_holders) < 2 or len(had) > 1:
        return ""
    if had == {(0, 1)}:
        return gettext("Only Speaker B could read this.")
    return gettext("Only Speaker A could read this.")


ShownItem = dict[str, Any]

REFUSALS = {
    "given_away": _(
        "You were away for a while, so this one was given to somebody else. Your earlier answers are safe; "
        "please continue with the next one."
    ),
    "judged_elsewhere": _(
        "You have judged this one before, in another study. Your work is safe; please continue with the next "
        "one."
    ),
    "finished": _("You have finished. Everything is saved."),
    "no_reason": _("Please also say why in a few words. Nothing is lost: write it and save again."),
    "reason_not_asked": _(
        "No reason is asked for here, so this was not saved. Reload the page, and answer again."
    ),
    "unjudged": _(
        "There are still items to judge. Your work so far is safe: please answer the open question."
    ),
}


@dataclass(frozen=True, slots=True)
class RaterSession:
    """A worker's session in a judging study: everything that does not change while they judge.

    Attributes:
        asks: the asks of readers, by number.
        has_pictures: items may have pictures that were sent in their conversations.
    """

    batch_id: int
    assignment_id: int
    participation_id: int
    study_code: str
    asks: Mapping[int, Ask]
    markdown: bool
    shows_reading: bool
    has_pictures: bool = False

    def ask_of(self, key: UUID) -> Ask:
        """The ask of the item with this key, whose first byte is the ask's number.

        Raises:
            RefusedError: no item of this study has such a key.
        """
        if key.bytes[0] not in self.asks:
            raise RefusedError("given_away", REFUSALS["given_away"])
        return self.asks[key.bytes[0]]


@dataclass(frozen=True, slots=True)
class SavedJudgment:
    """The result of saving a judgment: stored answers, newly leased items, and progress of the batch."""

    answers: dict[str, Answer]
    leased: list[ShownItem]
    progress: dict[str, object]
