"""How far the judging of each ask of a study is."""

from typing import NamedTuple

from django.db import connection
from django.utils.functional import Promise

from turnwise.judging.asks import JUDGED_BY, asks_of_readers
from turnwise.judging.queries import batches_of_pilot_over
from turnwise.studies.asks import About
from turnwise.studies.models import Ask, Study


class AskCount(NamedTuple):
    """How far the judging of the items of one ask is.

    Attributes:
        ask: which.
        items: that are in the queue.
        judged: judgments that count.
        wanted: judgments in all.
    """

    ask: Ask
    items: int
    judged: int
    wanted: int

    @property
    def about(self) -> str | Promise:
        """What is judged, in a word or two."""
        return JUDGED_BY[About(self.ask.about)]


_BY_ASK = """
SELECT i.ask_id, count(DISTINCT i.id) FILTER (WHERE i.removed_at IS NULL), count(s.label_id),
       count(s.id) FILTER (WHERE i.removed_at IS NULL OR s.label_id IS NOT NULL OR s.leased_until >= now())
  FROM judging_item AS i
  LEFT JOIN judging_slot AS s ON s.item_id = i.id AND (s.batch_id IS NULL OR s.batch_id <> ALL (%(pilot)s))
 WHERE i.study_id = %(study)s AND i.right_answers IS NULL
 GROUP BY i.ask_id
"""


def ask_counts(study: Study) -> list[AskCount]:
    """For each ask of readers, in their order, its items, the judgments that they have, and those wanted."""
    with connection.cursor() as cursor:
        pilot = batches_of_pilot_over(study)
        cursor.execute(_BY_ASK, {"study": study.pk, "pilot": pilot})
        found = {ask: counts for ask, *counts in cursor.fetchall()}
    return [AskCount(ask, *found.get(ask.pk, (0, 0, 0))) for ask in asks_of_readers(study)]
