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
       ({column}->>'first_seconds')::float8"""


def facts_from_row(values: Sequence[Any], day: str = "", *, is_scored: bool = True) -> ReplyFacts:
    """Read the values of `facts_columns` and the latency."""
    outcome, has_remarks, prompt, completion, reasoning, cached, first_seconds, latency = values
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
    )


_REPLIES = f"""
SELECT v.bot_id, to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), d.ending = 'complete',
       {facts_columns("t.generation")}, t.latency_ms
  FROM dialogues_dialogue AS d
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
  JOIN bots_botversion AS v ON v.id = t.bot_version_id
 WHERE d.study_id = %s
"""


def reply_facts(study: Study) -> dict[int, list[ReplyFacts]]:
    """Facts about all replies in a study's conversations, by primary key of the bot."""
    found: dict[int, list[ReplyFacts]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_REPLIES, [study.pk])
        for bot, day, is_scored, *facts in cursor.fetchall():
            found.setdefault(bot, []).append(facts_from_row(facts, day, is_scored=is_scored))
    return found
