"""Sources of an item's contents: studies in which its texts were written, and pictures sent in them."""

from collections.abc import Sequence
from typing import Any

from django.db import connection

from turnwise.dialogues.models import MessagePicture
from turnwise.dialogues.pictures import participant_picture_of
from turnwise.dialogues.seat_context import PictureInfo
from turnwise.judging.models import Item
from turnwise.studies.models import Study

SOURCE_STUDIES = (
    "turn__dialogue__study", "dialogue__study", "response__run__study",
    "pair__first_response__run__study", "pair__second_response__run__study",
    "pair__first_dialogue__study", "pair__second_dialogue__study",
)  # fmt: skip
"""Lookup paths from an item to these studies."""


def source_studies(study: Study) -> set[int]:
    """Keys of the studies whose texts a study judges."""
    items, found = Item.objects.filter(study=study).order_by(), set[int]()
    for path in SOURCE_STUDIES:
        # Filter on the item's own column first: otherwise all conversations would be read.
        there = items.filter(**{f"{path.partition('__')[0]}__isnull": False, f"{path}__isnull": False})
        found.update(there.values_list(path, flat=True).distinct())
    return found


# `side` tells the two conversations of a pair apart. Of a judged turn, only what was said before it is shown.
_OF_SLOTS = """
SELECT slot.key::text, CASE WHEN slot.is_swapped THEN 1 - side.number ELSE side.number END,
       said.position, picture.id, coalesce(picture.width, 0), coalesce(picture.height, 0),
       coalesce(picture.description, '')
  FROM judging_slot AS slot
  JOIN judging_item AS item ON item.id = slot.item_id
  LEFT JOIN dialogues_turn AS judged ON judged.id = item.turn_id
  LEFT JOIN labels_pair AS pair ON pair.id = item.pair_id
 CROSS JOIN LATERAL (VALUES (0, coalesce(judged.dialogue_id, item.dialogue_id, pair.first_dialogue_id)),
                            (1, pair.second_dialogue_id)) AS side (number, dialogue)
  JOIN dialogues_turn AS said ON said.dialogue_id = side.dialogue
                             AND (judged.id IS NULL OR said.position <= judged.position)
  JOIN dialogues_messagepicture AS sent ON sent.turn_id = said.id
  LEFT JOIN dialogues_picture AS picture ON picture.id = sent.picture_id
 WHERE slot.batch_id = %s AND slot.key = ANY(%s::uuid[])
 ORDER BY slot.key, said.position
"""


def are_there_pictures() -> bool:
    """True if any message of this installation has a picture; else no item can have one."""
    return MessagePicture.objects.exists()


def with_pictures(
    batch_id: int, participation_id: int, items: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The items of a batch with the pictures of their turns, which this rater's browser may open.

    `pictures` of an item has for each picture the side of its pair (else 0), the position of its turn, its
    address, its size and its description.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_OF_SLOTS, [batch_id, [item["key"] for item in items]])
        for key, side, position, picture, width, height, description in cursor.fetchall():
            info: PictureInfo = {
                "id": picture, "width": width, "height": height, "description": description,
            }  # fmt: skip
            shown = participant_picture_of(info, participation_id)
            found.setdefault(key, []).append({"side": side, "position": position, **shown})
    return [item | ({"pictures": found[item["key"]]} if item["key"] in found else {}) for item in items]
