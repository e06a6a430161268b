"""Course of a study's conversations, facts about bots' replies, and conduct of workers for quality flags."""

from collections import Counter

import numpy as np
from django.db import connection
from django.db.models import Count

from evaluation.protocols.facts import HUMAN
from evaluation.report.conduct import Manner
from evaluation.report.studies.course import READ_FOR_REPETITION, Course
from evaluation.report.studies.replies import OUTCOMES, ReplyColumns
from evaluation.statistics.labels import AnyArray, FloatArray
from evaluation.texts.cleaning import WITHDRAWN
from evaluation.texts.greetings import (
    LONGEST,
    STARTS_LIKE_GREETING,
    GreetingTurn,
    greeting_replies,
    only_greets,
)
from turnwise.bots.prices import prices_by_bot
from turnwise.crowd.models import Participation
from turnwise.dialogues.models import Dialogue, Fault
from turnwise.privacy.personal_data import redactor_for
from turnwise.reports.answers import PEOPLE, bot_names, conversations_of_people, numbers_of
from turnwise.studies.models import Study

_TOKENS = ("prompt", "completion", "reasoning", "cached")
_OUTCOMES = "ARRAY[" + ", ".join(f"'{outcome}'" for outcome in OUTCOMES) + "]"
REPLY_COLUMNS = 12
"""Number of the columns of `reply_facts_columns`."""


def reply_facts_columns(
    said_at: str, generation: str, latency_ms: str, *, is_scored: str = "true", versions: str = "1"
) -> str:
    """SQL of the facts about a reply as numbers, for `reply_columns`, from SQL of its stored values."""
    tokens = ", ".join(f"({generation}->'usage'->>'{name}')::integer" for name in _TOKENS)
    return f"""({said_at} AT TIME ZONE 'UTC')::date - DATE '1970-01-01', ({is_scored})::integer, {versions},
       array_position({_OUTCOMES}, coalesce({generation}->>'outcome', 'complete')),
       array_position({_OUTCOMES}, {generation}->>'outcome_before_stop'),
       coalesce({generation} ? 'remarks', false)::integer, {tokens},
       ({generation}->>'first_seconds')::float8, {latency_ms}"""


def reply_columns(numbers: FloatArray, bots: AnyArray | None = None) -> ReplyColumns:
    """Read facts about n replies from values of `reply_facts_columns`.

    Args:
        numbers: (`REPLY_COLUMNS`, n) values; NULL is NaN.
        bots: (n,) names of the bots, where a system may have replies of several.
    """
    day, is_scored, versions, outcome, before, has_remarks, *tokens, first_seconds, latency_ms = numbers
    outcome, before = (np.nan_to_num(each).astype(np.int64) - 1 for each in (outcome, before))
    prompt, completion, reasoning, cached = tokens
    return ReplyColumns(
        outcome=outcome,
        has_remarks=has_remarks > 0,
        prompt=prompt,
        completion=completion,
        reasoning=reasoning,
        cached=cached,
        first_seconds=first_seconds,
        last_seconds=latency_ms / 1000,
        day=day.astype("datetime64[D]"),
        is_scored=is_scored > 0,
        outcome_before_stop=before,
        versions=versions.astype(np.int64),
        bot=np.full(len(day), "", object) if bots is None else bots,
    )


_VERSIONS = """
SELECT r.turn_id, count(*) AS versions
  FROM dialogues_replyversion AS r
  JOIN dialogues_turn AS t ON t.id = r.turn_id
  JOIN dialogues_dialogue AS d ON d.id = t.dialogue_id
 WHERE d.study_id = %(study)s
 GROUP BY r.turn_id"""
_KEPT_FACTS = reply_facts_columns(
    "t.created_at",
    "t.generation",
    "t.latency_ms",
    is_scored="d.ending = 'complete'",
    versions="coalesce(given.versions, 1)",
)
_REPLIES = f"""
SELECT v.bot_id, {_KEPT_FACTS}
  FROM dialogues_dialogue AS d
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
  JOIN bots_botversion AS v ON v.id = t.bot_version_id
  LEFT JOIN ({_VERSIONS}) AS given ON given.turn_id = t.id
 WHERE d.study_id = %(study)s
 UNION ALL
SELECT v.bot_id, {reply_facts_columns("r.created_at", "r.generation", "r.latency_ms", is_scored="false")}
  FROM dialogues_dialogue AS d
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
  JOIN dialogues_replyversion AS r ON r.turn_id = t.id AND NOT r.is_kept
  JOIN bots_botversion AS v ON v.id = r.bot_version_id
 WHERE d.study_id = %(study)s
"""


def replies_of_bots(study: Study) -> dict[int, ReplyColumns]:
    """Facts about all replies in a study's conversations, by primary key of the bot.

    Versions that workers discarded are among them, for their cost.
    """
    numbers = numbers_of(_REPLIES, {"study": study.pk}, 1 + REPLY_COLUMNS)
    bots, replies = numbers[0], reply_columns(numbers[1:])
    return {int(bot): replies[bots == bot] for bot in np.unique(bots)}


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
    texts, facts, prices = _texts(study), replies_of_bots(study), prices_by_bot(names)
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


# The spacing is that of reports.answers: 1 if both speakers are judged. A text with more bytes than
# characters is not ASCII.
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
SELECT first.pseudonym, coalesce(most.messages, 0)::integer, coalesce(most.times, 0),
       coalesce(most.text, ''),
       extract(epoch FROM taken.took)::float8
  FROM (SELECT worker_id, sum(took) AS took FROM own GROUP BY worker_id) AS taken
  JOIN crowd_participation AS first
    ON first.worker_id = taken.worker_id AND first.study_id = %s AND first.number = 1
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
            worker: (messages, times, redactor(text), seconds)
            for worker, messages, times, text, seconds in cursor.fetchall()
        }
    silent = (0, 0, "", None)
    return {
        worker: Manner(*talked.get(worker, silent), at_address=addresses[address] if address else 0)
        for worker, address in took_part
    }
