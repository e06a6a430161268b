"""SQL of the export columns about several replies to the same message (dialogues/reply_versions.py)."""

from turnwise.bots.generation import columns_of

VERSIONS = "versions.kept, versions.replies"
"""Columns reply_version and reply_versions of a bot's turn, with `versions_join`; NULL for other texts."""

NO_VERSIONS = "NULL::integer, NULL::integer"


def versions_join(turn: str) -> str:
    """SQL join with the number of the kept reply and the number of replies; `turn` is SQL of a turn's id."""
    return f"""LEFT JOIN LATERAL (
       SELECT coalesce(max(each.number) FILTER (WHERE each.is_kept), 1)::integer AS kept,
              greatest(1, count(each.id))::integer AS replies
         FROM dialogues_turn AS answered
         LEFT JOIN dialogues_replyversion AS each ON each.turn_id = answered.id
        WHERE answered.id = {turn} AND answered.bot_version_id IS NOT NULL
        GROUP BY answered.id) AS versions ON true"""


EVERY_VERSION = f"""
SELECT d.public_id::text, t.position, each.number, each.is_kept, each.text, each.created_at, b.name,
       v.fingerprint, each.latency_ms, each.seed, each.candidates::text,
       {columns_of("each.generation", "true")}
  FROM dialogues_dialogue AS d
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
  JOIN dialogues_replyversion AS each ON each.turn_id = t.id
  JOIN bots_botversion AS v ON v.id = each.bot_version_id
  JOIN bots_bot AS b ON b.id = v.bot_id
 WHERE d.study_id = %s
 ORDER BY d.id, t.position, each.number
"""
"""Rows of the table `REPLY_VERSIONS` of a bundle."""
