"""Prices of the bots whose replies a study's readers judge, for reports and bundles."""

from django.db import connection

from evaluation.report.studies.replies import Price
from turnwise.bots.models import Bot
from turnwise.bots.prices import prices_by_bot
from turnwise.studies.models import Study

_BOTS = """
SELECT DISTINCT v.bot_id
  FROM judging_item AS i
  LEFT JOIN labels_pair AS pair ON pair.id = i.pair_id
  LEFT JOIN dialogues_turn AS t ON t.id = i.turn_id
  LEFT JOIN responses_response AS r
         ON r.id IN (i.response_id, pair.first_response_id, pair.second_response_id)
  JOIN bots_botversion AS v ON v.id IN (t.bot_version_id, r.bot_version_id)
 WHERE i.study_id = %(study)s
 UNION
SELECT v.bot_id
  FROM judging_item AS i
  LEFT JOIN labels_pair AS pair ON pair.id = i.pair_id
 CROSS JOIN LATERAL (VALUES (i.dialogue_id), (pair.first_dialogue_id), (pair.second_dialogue_id))
       AS judged (dialogue)
  JOIN dialogues_turn AS t ON t.dialogue_id = judged.dialogue
  JOIN bots_botversion AS v ON v.id = t.bot_version_id
 WHERE i.study_id = %(study)s
"""


def judged_prices(study: Study) -> dict[str, list[Price]]:
    """Prices of each bot that gave a judged reply or response, by its name; without bots that have none."""
    with connection.cursor() as cursor:
        cursor.execute(_BOTS, {"study": study.pk})
        prices = prices_by_bot([bot for (bot,) in cursor.fetchall()])
    names = Bot.objects.filter(pk__in=prices).order_by("name").values_list("name", "pk")
    return {name: prices[bot] for name, bot in names}
