"""Monitor of a running study: its funnel, response times of workers and bots, and failures."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection
from django.utils import timezone

from turnwise.bots.budgets import OVER_BUDGET
from turnwise.bots.hosting import presence
from turnwise.bots.queries import WORDS
from turnwise.crowd.places.reservation import HOLD
from turnwise.crowd.queries import progress
from turnwise.crowd.running.spending import Spend, spend_of
from turnwise.dialogues.models import Fault
from turnwise.monitoring.funnel import Progress, Stage, stages
from turnwise.studies.models import Study
from turnwise.studies.queries import progress_of
from turnwise.studies.tasks import task_of

SHOWN_FAULTS = 8
DAY = timedelta(days=1)
# Times are those of the newest conversations, or batches, so that a large study is as quick as a small one.
TIMED_CONVERSATIONS = 300
TIMED_BATCHES = 50


class Times(NamedTuple):
    """Seconds, None before there are any: of a reply, and of the worker's message after it."""

    reply: float | None = None
    slow_reply: float | None = None
    message: float | None = None


@dataclass(frozen=True, slots=True)
class BotNow:
    """Current state of a bot of the study."""

    name: str
    title: str
    state: str
    answers: bool
    is_over_budget: bool
    finished: int
    open: int
    target: int
    times: Times
    faults: int
    faults_lately: int


@dataclass(frozen=True, slots=True)
class Monitor:
    """Data of the monitor page.

    Attributes:
        stages: stages of the funnel, in order.
        stopped: (turns or items done, number of people) of people who stopped amid the work.
        bots: bots of the study.
        faults: the newest ones.
        judged_in: median seconds from seeing something to its answer; None where nothing is timed.
        spend: what it costs, by the ledger; None where nothing is paid.
        at: time of the data.
    """

    stages: Sequence[Stage]
    stopped: Sequence[tuple[int, int]]
    bots: Sequence[BotNow]
    faults: Sequence[Fault]
    judged_in: float | None
    spend: Spend | None
    at: datetime

    @property
    def most_stopped(self) -> int:
        return max((people for _, people in self.stopped), default=0)

    @property
    def silent_bots(self) -> list[str]:
        """Titles of needed bots that do not answer."""
        needed = [bot for bot in self.bots if bot.finished < bot.target or bot.open]
        return [bot.title for bot in needed if not bot.answers]


def monitor(study: Study, *, now: datetime | None = None) -> Monitor:
    """Read all data of the monitor."""
    at = now or timezone.now()
    stood = Progress(study, at)
    bots = _bots(study, at)
    faults = Fault.objects.filter(dialogue__study=study).select_related("dialogue").order_by("-at")
    return Monitor(
        stages=stages(study, stood),
        stopped=_stopped(study, at),
        bots=bots,
        faults=list(faults[:SHOWN_FAULTS]) if any(bot.faults for bot in bots) else [],
        judged_in=_judged_in(study),
        spend=_spend(study, at),
        at=at,
    )


# Work done by people who stopped: messages in a conversation, or items of a batch.
_STOPPED_TALKING = """
SELECT (d.turns - d.opening_turns + (d.opening_turns %% 2 = s.number)::integer) / 2, count(*)
  FROM crowd_assignment AS a
  JOIN dialogues_seat AS s ON s.assignment_id = a.id
  JOIN dialogues_dialogue AS d ON d.id = s.dialogue_id
 WHERE a.study_id = %s AND a.outcome = '' AND a.active_at > a.assigned_at AND a.active_at <= %s
 GROUP BY 1 ORDER BY 1
"""
_STOPPED_JUDGING = """
SELECT b.done, count(*)
  FROM crowd_assignment AS a JOIN judging_batch AS b ON b.assignment_id = a.id AND b.study_id = %s
 WHERE a.outcome = '' AND a.active_at > a.assigned_at AND a.active_at <= %s
 GROUP BY 1 ORDER BY 1
"""


def _stopped(study: Study, now: datetime) -> list[tuple[int, int]]:
    statement = _STOPPED_TALKING if task_of(study).has_conversations else _STOPPED_JUDGING
    return [(int(done), int(people)) for done, people in _rows(statement, [study.pk, now - HOLD])]


# Of each bot in the newest conversations that are over: how long it took to reply, and how long workers took
# from its reply to their next message. And how often it failed in all of them.
_TIMES_AND_FAULTS = """
SELECT bot_id, reply, slow_reply, message, coalesce(faults, 0), coalesce(lately, 0)
  FROM (SELECT bot_id,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY latency_ms) / 1000 AS reply,
               percentile_cont(0.95) WITHIN GROUP (ORDER BY latency_ms) / 1000 AS slow_reply,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY waited) AS message
          FROM (SELECT s.bot_id, t.latency_ms,
                       CASE WHEN t.position %% 2 <> s.number THEN extract(epoch FROM t.created_at
                            - lag(t.created_at) OVER (PARTITION BY d.id ORDER BY t.position)) END AS waited
                  FROM (SELECT id, opening_turns FROM dialogues_dialogue
                         WHERE study_id = %s AND ending <> '' AND origin = 'live'
                         ORDER BY started_at DESC, id DESC LIMIT %s) AS d
                  JOIN dialogues_seat AS s ON s.dialogue_id = d.id AND s.bot_id IS NOT NULL
                  JOIN dialogues_turn AS t ON t.dialogue_id = d.id AND t.position >= d.opening_turns) AS timed
         GROUP BY bot_id) AS times
  FULL JOIN (SELECT s.bot_id, count(*) AS faults, count(*) FILTER (WHERE f.at > %s) AS lately
               FROM dialogues_fault AS f
               JOIN dialogues_dialogue AS d ON d.id = f.dialogue_id AND d.study_id = %s
               JOIN dialogues_seat AS s ON s.dialogue_id = d.id AND s.bot_id IS NOT NULL
              GROUP BY s.bot_id) AS failed USING (bot_id)
"""


def _bots(study: Study, now: datetime) -> list[BotNow]:
    at = progress(study, now=now)
    if not at:
        return []
    rows = _rows(_TIMES_AND_FAULTS, [study.pk, TIMED_CONVERSATIONS, now - DAY, study.pk])
    times = {bot: map(_number, timed) for bot, *timed, _, _ in rows}
    failed = {bot: (faults, lately) for bot, _, _, _, faults, lately in rows}
    states = presence.bot_states(each.of.name for each in at if each.of.active)
    return [
        BotNow(
            bot.name,
            bot.title,
            WORDS.get(state := states.get(bot.name, "off"), state),
            state == "ready",
            state == OVER_BUDGET,
            each.finished,
            each.open,
            each.target,
            Times(*times.get(bot.pk, ())),
            *failed.get(bot.pk, (0, 0)),
        )
        for each in at
        if (bot := each.of)
    ]


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


_JUDGED_IN = """
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY l.answer_ms) / 1000
  FROM (SELECT id FROM judging_batch WHERE study_id = %s ORDER BY id DESC LIMIT %s) AS b
  JOIN judging_slot AS s ON s.batch_id = b.id
  JOIN labels_label AS l ON l.id = s.label_id
"""


def _judged_in(study: Study) -> float | None:
    if task_of(study).has_conversations:
        return None
    ((seconds,),) = _rows(_JUDGED_IN, [study.pk, TIMED_BATCHES])
    return _number(seconds)


def _spend(study: Study, now: datetime) -> Spend | None:
    found = spend_of([study], {study.pk: progress_of(study)}, now=now)[study.pk]
    return found if found.is_any else None


def _rows(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found
