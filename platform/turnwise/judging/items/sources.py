"""Studies in which the texts of a judging study's items were written."""

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
