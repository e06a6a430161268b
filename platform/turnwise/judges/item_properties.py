"""Agreement of a machine judge with people by length, turn and category of the items."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from django.db import connection
from django.utils.translation import gettext as _

from evaluation.machine_judges.agreement import Agreement, agreements_by, thirds
from evaluation.machine_judges.judged import JudgedItems
from evaluation.statistics.labels import BoolArray
from turnwise.judges.models import JudgeRun
from turnwise.judging.queries import items_of

MOST_GROUPS = 12
_PROPERTIES = f"""
SELECT length(i.text), i.position, nullif(c.category, '')
  FROM ({items_of(ask="%s")}) AS i
  JOIN judging_item AS item ON item.id = i.id
  LEFT JOIN responses_response AS r ON r.id = item.response_id
  LEFT JOIN contexts_context AS c ON c.id = coalesce(r.context_id, item.context_id)
 ORDER BY i.id
"""


def agreement_by_property(run: JudgeRun, judged: JudgedItems) -> list[tuple[str, list[Agreement]]]:
    """Title and agreement in each group of items, for each property in which the items differ.

    Length and turn are of single replies and responses, the category of contexts. Of many turns or
    categories, the most frequent are compared.
    """
    with connection.cursor() as cursor:
        cursor.execute(_PROPERTIES, [run.study_id, run.ask_id])
        rows = cursor.fetchall()
    lengths, turns, categories = zip(*rows, strict=True) if rows else ((), (), ())
    has_text = all(length is not None for length in lengths)
    by_length = thirds(np.array(lengths, dtype=np.int64)) if has_text else {}
    found = [
        (_("By length of the text, in characters"), by_length),
        (_("By turn in the conversation"), _groups(turns)),
        (_("By category of the context"), _groups(categories)),
    ]
    return [(title, agreements_by(judged, groups)) for title, groups in found if len(groups) > 1]


def _groups(values: Sequence[Any]) -> dict[str, BoolArray]:
    """Items with each value, in the order of the values; items without a value are in no group."""
    frequent = Counter(value for value in values if value is not None).most_common(MOST_GROUPS)
    found: Iterable[Any] = sorted(value for value, _number in frequent)
    return {str(value): np.array([each == value for each in values]) for value in found}
