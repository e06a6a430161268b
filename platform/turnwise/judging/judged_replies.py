"""Replies that a study's readers judge, for reports and bundles: in whole conversations, and their prices."""

from django.db import connection

from evaluation.report.studies.replies import Price
from turnwise.bots.generation import columns_of
from turnwise.bots.models import Bot
from turnwise.bots.prices import prices_by_bot
from turnwise.judging.queries import items_of
from turnwise.studies.models import Study


def _sides(items: str) -> str:
    """SQL of the judged conversations of these items, with their system and the item's id.

    An item has one conversation, or as a pair two; other items have none.
    """
    return f"""
  FROM ({items}) AS i
  JOIN judging_item AS item ON item.id = i.id
  LEFT JOIN labels_pair AS pair ON pair.id = item.pair_id
 CROSS JOIN LATERAL (VALUES (item.dialogue_id, i.system),
                            (pair.first_dialogue_id, i.first_system),
                            (pair.second_dialogue_id, i.second_system)) AS side (dialogue, system)
 WHERE side.dialogue IS NOT NULL"""


def judged_replies(facts: str, ask: str) -> str:
    """SQL of `facts` about each reply `t` of a bot `b`, after its system; `ask` is the parameter of an ask.

    Only conversations with a judgment count, each once.
    """
    return f"""
SELECT judged.system, {facts}
  FROM (SELECT DISTINCT ON (side.dialogue) side.dialogue, side.system
        {_sides(items_of(ask=ask))}
           AND EXISTS (SELECT FROM judging_slot AS s WHERE s.item_id = i.id AND s.label_id IS NOT NULL)
       ) AS judged
  JOIN dialogues_turn AS t ON t.dialogue_id = judged.dialogue
  JOIN bots_botversion AS v ON v.id = t.bot_version_id
  JOIN bots_bot AS b ON b.id = v.bot_id
"""


REPLY_COUNT = """
       greatest(1, (SELECT count(*) FROM dialogues_replyversion AS each
                     WHERE each.turn_id = t.id))::integer"""
"""SQL of the number of replies to the same message as the reply `t`."""

CONVERSATION_REPLY_ROWS = f"""
SELECT d.public_id::text, t.position, b.name, v.fingerprint, t.created_at, t.latency_ms, {REPLY_COUNT},
       {columns_of("t.generation", "true")}
  FROM (SELECT DISTINCT side.dialogue {_sides(items_of())}) AS judged
  JOIN dialogues_dialogue AS d ON d.id = judged.dialogue
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
  JOIN bots_botversion AS v ON v.id = t.bot_version_id
  JOIN bots_bot AS b ON b.id = v.bot_id
 ORDER BY d.id, t.position
"""
"""Rows of the table `CONVERSATION_REPLIES` of a bundle."""


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
