"""What readers have beside an item, if the study's plan says so.

Of conversations it is what those who talked had to read, of a response the sentences of its context,
and of a context its own.

A worker's place in a judging study, and what can be said to them there.
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

READ_BESIDE = """
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
"""What was to be read with all items there are, text by text, as a subquery.

Of a pair of conversations, `side` says in which of the two. The sentences of a context are in no seat.
"""

_OF_ITEMS = f"""
SELECT read.item, read.side, read.seat, read.title, coalesce(read.heading, ''), coalesce(read.text, ''),
       read.points
  FROM ({READ_BESIDE}) AS read
 WHERE read.item = ANY(%(items)s)
 ORDER BY read.item, read.side, read.seat, read.number
"""


class Content(NamedTuple):
    """What a text says; the same text in two hands is one."""

    title: str
    heading: str
    text: str
    points: tuple[str, ...]


class Read(NamedTuple):
    """One of the texts of an item.

    Attributes:
        title, heading, text, points: as those who talked had it.
        note: who alone had it, in a sentence; empty if everybody had it, and if nobody else read anything:
            that would say which of the two is a person.
    """

    title: str
    heading: str
    text: str
    points: tuple[str, ...]
    note: str


def read_in_slots(batch_id: int, keys: Iterable[str]) -> dict[str, list[Read]]:
    """By the key under which a batch has its item, what is read beside it; absent: nothing."""
    slots = Slot.objects.filter(batch=batch_id, key__in=[UUID(key) for key in keys])
    held = {
        str(key): (item, swapped) for key, item, swapped in slots.values_list("key", "item", "is_swapped")
    }
    found = _hands([item for item, _swapped in held.values()])
    return {
        key: _named(found[item], is_swapped=swapped) for key, (item, swapped) in held.items() if item in found
    }


def read_beside(items: Collection[int]) -> dict[int, list[Read]]:
    """What is read beside items with these keys, their sides in their own order; absent: nothing."""
    return {item: _named(hands, is_swapped=False) for item, hands in _hands(list(items)).items()}


# A side of a pair, 0 of anything else, and a seat of the conversation there.
_Hand = tuple[int, int]
_Hands = Mapping[Content, set[_Hand]]


def _hands(items: list[int]) -> dict[int, _Hands]:
    """By item, each text with the sides and seats that had it, in the order in which they come."""
    found: dict[int, dict[Content, set[_Hand]]] = {}
    sentences: dict[int, list[str]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_OF_ITEMS, {"items": items})
        for item, side, seat, title, heading, text, points in cursor.fetchall():
            if seat is None:
                sentences.setdefault(item, []).append(text)
            else:
                content = Content(title, heading, text, tuple(points))
                found.setdefault(item, {}).setdefault(content, set()).add((side, seat))
    # Those of a context are one text without a name, in one hand.
    of_contexts = {
        item: {Content(gettext("Knowledge"), "", "\n\n".join(all_of_them), ()): {(0, 0)}}
        for item, all_of_them in sentences.items()
    }
    return {**found, **of_contexts}


def _named(hands: _Hands, *, is_swapped: bool) -> list[Read]:
    """The texts with whose they are, those of the side that is shown first before the others."""
    everybody = set().union(*hands.values())
    sides = {side for side, _seat in everybody}
    ordered = sorted(hands.items(), key=lambda each: min(side != is_swapped for side, _seat in each[1]))
    return [Read(*content, _note(had, everybody, sides, is_swapped=is_swapped)) for content, had in ordered]


def _note(had: set[_Hand], everybody: set[_Hand], sides: set[int], *, is_swapped: bool) -> str:
    if len(sides) > 1:
        in_sides = {side != is_swapped for side, _seat in had}
        if len(in_sides) > 1:
            return ""
        if in_sides == {True}:
            return gettext("For the second conversation only.")
        return gettext("For the first conversation only.")
    if len(everybody) < 2 or len(had) > 1:
        return ""
    if had == {(0, 1)}:
        return gettext("Only Speaker B could read this.")
    return gettext("Only Speaker A could read this.")


Shown = dict[str, Any]

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
class Desk:
    """A worker's place in a judging study: what does not change while they judge.

    Attributes:
        asks: what readers are asked in it, by number.
    """

    batch_id: int
    assignment_id: int
    participation_id: int
    study_code: str
    asks: Mapping[int, Ask]
    markdown: bool
    shows_reading: bool

    def ask_of(self, key: UUID) -> Ask:
        """What is asked about the item of this name, which begins with the number of its ask.

        Raises:
            RefusedError: no item of this study has such a name.
        """
        if key.bytes[0] not in self.asks:
            raise RefusedError("given_away", REFUSALS["given_away"])
        return self.asks[key.bytes[0]]


@dataclass(frozen=True, slots=True)
class Judged:
    """What a saved judgment leads to: what was stored, newly leased items, and how far the batch is."""

    answers: dict[str, Answer]
    leased: list[Shown]
    progress: dict[str, object]
