"""Facts about bots' replies for reports: outcomes, tokens, times."""

from collections.abc import Sequence
from typing import Any

from django.db import connection

from evaluation.report.studies.replies import ReplyFacts
from turnwise.studies.models import Study

_TOKENS = ("prompt", "completion", "reasoning", "cached")


def facts_columns(column: str) -> str:
    """SQL of the facts in a stored generation, for `facts_from_row`; the latency in ms follows them."""
    tokens = ", ".join(f"({column}->'usage'->>'{name}')::integer" for name in _TOKENS)
    return f"""coalesce({column}->>'outcome', 'complete'), coalesce({column} ? 'remarks', false), {tokens},
       ({column}->>'first_seconds')::float8, coalesce({column}->>'outcome_before_stop', '')"""


def facts_from_row(
    values: Sequence[Any], day: str = "", *, is_scored: bool = True, versions: int = 1
) -> ReplyFacts:
    """Read the values of `facts_columns` and the latency."""
    outcome, has_remarks, prompt, completion, reasoning, cached, first_seconds, before, latency = values
    return ReplyFacts(
        outcome=outcome,
        has_remarks=has_remarks,
        prompt=prompt,
        completion=completion,
        reasoning=reasoning,
        cached=cached,
        first_seconds=first_seconds,
        last_seconds=None if latency is None else latency / 1000,
        day=day,
        is_scored=is_scored,
        outcome_before_stop=before,
        versions=versions,
    )


_REPLIES = f"""
SELECT v.bot_id, to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), d.ending = 'complete',
       greatest(1, (SELECT count(*) FROM dialogues_replyversion AS each WHERE each.turn_id = t.id)),
       {facts_columns("t.generation")}, t.latency_ms
  FROM dialogues_dialogue AS d
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
  JOIN bots_botversion AS v ON v.id = t.bot_version_id
 WHERE d.study_id = %(study)s
 UNION ALL
SELECT v.bot_id, to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), false, 1,
       {facts_columns("r.generation")}, r.latency_ms
  FROM dialogues_dialogue AS d
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
  JOIN dialogues_replyversion AS r ON r.turn_id = t.id AND NOT r.is_kept
  JOIN bots_botversion AS v ON v.id = r.bot_version_id
 WHERE d.study_id = %(study)s
"""


def reply_facts(study: Study) -> dict[int, list[ReplyFacts]]:
    """Facts about all replies in a study's conversations, by primary key of the bot.

    Versions that workers discarded are among them, for their cost.
    """
    found: dict[int, list[ReplyFacts]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_REPLIES, {"study": study.pk})
        for bot, day, is_scored, versions, *facts in cursor.fetchall():
            read = facts_from_row(facts, day, is_scored=is_scored, versions=versions)
            found.setdefault(bot, []).append(read)
    return found
