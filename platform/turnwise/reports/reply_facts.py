"""Facts about bots' replies for reports: outcomes, tokens, times."""

from collections.abc import Sequence
from sys import intern
from typing import Any

from django.db import connection

from evaluation.report.studies.replies import ReplyFacts
from turnwise.studies.models import Study

UTC_DAY = "to_char({} AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
"""SQL of the day of a time, for `ReplyFacts.day`."""
ROWS_AT_ONCE = 10_000
_TOKENS = ("prompt", "completion", "reasoning", "cached")


def facts_columns(column: str) -> str:
    """SQL of the facts in a stored generation, for `facts_from_row`; the latency in ms follows them."""
    tokens = ", ".join(f"({column}->'usage'->>'{name}')::integer" for name in _TOKENS)
    return f"""coalesce({column}->>'outcome', 'complete'), coalesce({column} ? 'remarks', false), {tokens},
       ({column}->>'first_seconds')::float8, coalesce({column}->>'outcome_before_stop', '')"""


def facts_from_row(
    values: Sequence[Any], day: str = "", *, is_scored: bool = True, versions: int = 1, bot: str = ""
) -> ReplyFacts:
    """Read the values of `facts_columns` and the latency."""
    outcome, has_remarks, prompt, completion, reasoning, cached, first_seconds, before, latency = values
    last_seconds = None if latency is None else latency / 1000
    return ReplyFacts(  # by position: a large study has a million of them
        intern(outcome), has_remarks, prompt, completion, reasoning, cached, first_seconds, last_seconds, day,
        is_scored, intern(before), versions, bot,
    )  # fmt: skip


_REPLIES = f"""
SELECT v.bot_id, {UTC_DAY.format("t.created_at")}, d.ending = 'complete',
       greatest(1, (SELECT count(*) FROM dialogues_replyversion AS each WHERE each.turn_id = t.id)),
       {facts_columns("t.generation")}, t.latency_ms
  FROM dialogues_dialogue AS d
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
  JOIN bots_botversion AS v ON v.id = t.bot_version_id
 WHERE d.study_id = %(study)s
 UNION ALL
SELECT v.bot_id, {UTC_DAY.format("r.created_at")}, false, 1,
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
    by_bot: dict[int, list[ReplyFacts]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_REPLIES, {"study": study.pk})
        while rows := cursor.fetchmany(ROWS_AT_ONCE):  # all of them at once need twice the memory
            for bot, day, is_scored, versions, *facts in rows:
                read = facts_from_row(facts, intern(day), is_scored=is_scored, versions=versions)
                by_bot.setdefault(bot, []).append(read)
    return by_bot
