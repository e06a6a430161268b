"""The files of pictures in a bundle."""

from django.db.models import Q, QuerySet
from django.db.models.expressions import RawSQL

from turnwise.dialogues.models import Picture
from turnwise.exports.files import Archive
from turnwise.exports.picture_columns import FOLDER, picture_file
from turnwise.judging.queries import items_of
from turnwise.studies.models import Study

# Of a judged turn, raters see only what was said before it and the turn itself.
_JUDGED = f"""
SELECT side.dialogue, max(side.last) AS last
  FROM ({items_of()}) AS i
  JOIN judging_item AS item ON item.id = i.id
  LEFT JOIN labels_pair AS pair ON pair.id = item.pair_id
 CROSS JOIN LATERAL (VALUES (coalesce(i.dialogue_id, item.dialogue_id), coalesce(i.position, 32767)),
                            (pair.first_dialogue_id, 32767),
                            (pair.second_dialogue_id, 32767)) AS side (dialogue, last)
 WHERE side.dialogue IS NOT NULL
 GROUP BY side.dialogue
"""
_SENT = f"""
  FROM ({_JUDGED}) AS judged
  JOIN dialogues_dialogue AS d ON d.id = judged.dialogue
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id AND t.position <= judged.last
  JOIN dialogues_messagepicture AS sent ON sent.turn_id = t.id
"""
ITEM_PICTURE_ROWS = f"""
SELECT d.public_id::text, t.position, {picture_file("t.id")} {_SENT} ORDER BY d.id, t.position
"""
"""Rows of the table `ITEM_PICTURES` of a bundle."""


def sent_pictures(study: Study) -> QuerySet[Picture]:
    """Pictures that were sent in the conversations that the study has or judges, each content once."""
    in_study = Q(seat__dialogue__study=study, messages__isnull=False)
    judged = Q(pk__in=RawSQL(f"SELECT sent.picture_id {_SENT}", [study.pk]))
    return Picture.objects.filter(in_study | judged).order_by("sha256", "pk").distinct("sha256")


def add_pictures(archive: Archive, study: Study) -> None:
    """Add the files of a study's pictures to its bundle."""
    for key in list(sent_pictures(study).values_list("pk", flat=True)):
        picture = Picture.objects.get(pk=key)
        path = f"{FOLDER}/{picture.file_name}"
        with archive.file(path, packed=True, mediatype=picture.media_type) as file:
            file.write(bytes(picture.content))
