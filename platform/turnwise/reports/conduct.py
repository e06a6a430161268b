"""Course of a study's conversations, facts about bots' replies, and conduct of workers for quality flags."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from sys import intern
from typing import Any

from django.db import connection
from django.db.models import Count

from evaluation.protocols.facts import HUMAN
from evaluation.report.conduct import Manner
from evaluation.report.studies.course import READ_FOR_REPETITION, Course
from evaluation.report.studies.replies import ReplyFacts
from evaluation.texts.cleaning import WITHDRAWN
from evaluation.texts.greetings import LONGEST, STARTS_LIKE_GREETING, GreetingTurn, greeting_replies, only_greets
from turnwise.bots.prices import prices_by_bot
from turnwise.crowd.models import Participation
from turnwise.dialogues.models import Dialogue, Fault
from turnwise.privacy.personal_data import redactor_for
from turnwise.reports.answers import PEOPLE, bot_names, conversations_of_people
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


def courses(study: Study) -> dict[str, Course]:
    """Course of the conversations of each bot, and of two people, sorted by name."""
    by_ending = Counter(
        {
            (bot, ending): times
            for bot, ending, times in Dialogue.objects.filter(study=study, seats__bot__isnull=False)
            .values_list("seats__bot_id", "ending")
            .annotate(times=Count("pk", distinct=True))
        }
    )
    names, talked = (
        bot_names(study),
        conversations_of_people(study).values_list("ending").annotate(times=Count("pk")),
    )
    for ending, times in talked.order_by():
        by_ending[PEOPLE, ending], names[PEOPLE] = times, HUMAN
    faults: dict[int, dict[str, int]] = {}
    for bot, kind, times in (
        Fault.objects.filter(dialogue__study=study, dialogue__seats__bot__isnull=False)
        .values_list("dialogue__seats__bot_id", "kind")
        .annotate(times=Count("pk"))
    ):
        faults.setdefault(bot, {})[kind] = times
    texts, facts, prices = _texts(study), reply_facts(study), prices_by_bot(names)
    return {
        name: Course(
            finished=by_ending[pk, Dialogue.Ending.COMPLETE.value],
            under_way=by_ending[pk, ""],
            bot_failed=by_ending[pk, Dialogue.Ending.BOT_FAILED.value],
            faults=faults.get(pk, {}),
            replies=facts.get(pk, ()),
            prices=prices.get(pk, ()),
            texts=texts.get(pk, []),
        )
        for pk, name in sorted(names.items(), key=lambda item: item[1])
    }


_TEXTS = f"""
SELECT coalesce(c.bot_id, {PEOPLE}),
       coalesce(array_agg(t.position %% 2 = ANY(c.numbers) ORDER BY t.position)
                FILTER (WHERE t.text <> '{WITHDRAWN}'), '{{}}'),
       coalesce(array_agg(t.text ORDER BY t.position) FILTER (WHERE t.text <> '{WITHDRAWN}'), '{{}}')
  FROM (SELECT d.id, p.bot_id, array_agg(p.number) AS numbers, d.opening_turns,
               row_number() OVER (PARTITION BY p.bot_id ORDER BY d.id) AS number
          FROM dialogues_dialogue AS d
          JOIN dialogues_seat AS p ON p.dialogue_id = d.id
           AND (p.bot_id IS NOT NULL OR NOT EXISTS (
                SELECT FROM dialogues_seat AS s WHERE s.dialogue_id = d.id AND s.worker_id IS NULL))
         WHERE d.study_id = %s AND d.ending = 'complete'
         GROUP BY d.id, p.bot_id) AS c
  JOIN dialogues_turn AS t ON t.dialogue_id = c.id AND t.position >= c.opening_turns
 WHERE c.number <= %s
 GROUP BY c.id, c.bot_id, c.numbers
 ORDER BY c.id
"""


def _texts(study: Study) -> dict[int, list[list[tuple[bool, str]]]]:
    """The first finished conversations of each bot as (is the bot's turn, text), oldest first."""
    texts: dict[int, list[list[tuple[bool, str]]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_TEXTS, [study.pk, READ_FOR_REPETITION])
        redactor = redactor_for(study)
        for bot, by_bot, written in cursor.fetchall():
            redacted = [redactor(each) for each in written]
            texts.setdefault(bot, []).append(list(zip(by_bot, redacted, strict=True)))
    return texts


# The spacing is that of reports.answers: 1 if both speakers are judged. A text with more bytes than characters
# is not ASCII.
_PERHAPS_GREETINGS = """
SELECT t.text, d.id, t.position, d.opening_turns,
       CASE WHEN d.bot_turns = 0 OR 2 * d.bot_turns > d.turns - d.opening_turns + 1 THEN 1 ELSE 2 END,
       t.bot_version_id IS NOT NULL, answer.bot_version_id IS NOT NULL
  FROM dialogues_dialogue AS d
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
  LEFT JOIN dialogues_turn AS answer ON answer.dialogue_id = d.id AND answer.position = t.position + 1
 WHERE d.study_id = %s AND d.ending = 'complete' AND char_length(t.text) <= %s
   AND (octet_length(t.text) > char_length(t.text) OR t.text COLLATE "C" ~* %s)
"""


def replies_of_greetings(study: Study) -> frozenset[tuple[int, int]]:
    """Replies of finished conversations that belong to greetings and goodbyes, as in `greeting_replies`."""
    with connection.cursor() as cursor:
        cursor.execute(_PERHAPS_GREETINGS, [study.pk, LONGEST, STARTS_LIKE_GREETING])
        redactor = redactor_for(study)
        # A text with a redaction never only greets: bundles, whose texts are redacted, give the same.
        return greeting_replies(
            GreetingTurn(*of)
            for text, *of in cursor.fetchall()
            if only_greets(text) and redactor(text) == text
        )


# Only conversations with bots: in a conversation of two people, neither sets the pace alone.
_MESSAGES_OF_WORKERS = """
WITH own AS (
    SELECT d.id, d.opening_turns, seat.number, p.worker_id, d.ended_at - d.started_at AS took
      FROM dialogues_dialogue AS d
      JOIN dialogues_seat AS seat ON seat.dialogue_id = d.id
      JOIN crowd_assignment AS a ON a.id = seat.assignment_id
      JOIN crowd_participation AS p ON p.id = a.participation_id
     WHERE d.study_id = %s AND d.ending = 'complete'
       AND EXISTS (SELECT FROM dialogues_seat AS b WHERE b.dialogue_id = d.id AND b.bot_id IS NOT NULL)),
said AS (
    SELECT own.worker_id, t.text, count(*) AS times
      FROM own
      JOIN dialogues_turn AS t ON t.dialogue_id = own.id AND t.position %% 2 = own.number
                              AND t.position >= own.opening_turns
     GROUP BY own.worker_id, t.text),
most AS (
    SELECT DISTINCT ON (worker_id) worker_id, text, times,
           sum(times) OVER (PARTITION BY worker_id) AS messages
      FROM said ORDER BY worker_id, times DESC)
SELECT crowd_pseudonym(taken.worker_id, %s), coalesce(most.messages, 0)::integer, coalesce(most.times, 0),
       coalesce(most.text, ''),
       extract(epoch FROM taken.took)::float8
  FROM (SELECT worker_id, sum(took) AS took FROM own GROUP BY worker_id) AS taken
  LEFT JOIN most ON most.worker_id = taken.worker_id
"""


def manners(study: Study) -> dict[str, Manner] | None:
    """Conduct of each participant, by pseudonym; None for a rehearsal, whose workers are programs."""
    if study.rehearsal_of_id is not None:
        return None
    took_part = Participation.objects.filter(study=study, number=1).values_list("pseudonym", "address")
    addresses = Counter(address for _, address in took_part)
    with connection.cursor() as cursor:
        cursor.execute(_MESSAGES_OF_WORKERS, [study.pk, study.pk])
        redactor = redactor_for(study)
        talked = {
            worker: Manner(messages, times, redactor(text), seconds)
            for worker, messages, times, text, seconds in cursor.fetchall()
        }
    return {
        worker: replace(talked.get(worker, Manner()), at_address=addresses[address] if address else 0)
        for worker, address in took_part
    }
