"""How a study goes now: who is where (funnel.py), how quick workers and bots are, what fails."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, Q
from django.utils import timezone

from bots import presence
from bots.queries import WORDS
from crowd.places import HOLD
from crowd.queries import progress
from dialogues.models import Fault
from monitoring.funnel import Stage, Stood, stages
from studies.models import Study
from studies.tasks import task_of

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
    """A bot of the study now."""

    name: str
    title: str
    state: str
    answers: bool
    finished: int
    open: int
    target: int
    times: Times
    faults: int
    faults_lately: int


@dataclass(frozen=True, slots=True)
class Monitor:
    """What the page shows.

    Attributes:
        stages: the way of workers, in its order.
        stopped: how far those got who stopped amid the work: (turns or items done, how many people).
        bots: of the study.
        faults: the newest ones.
        judged_in: median seconds from seeing something to its answer; None where nothing is timed.
        pay: what everybody who is through is to be paid; empty where nothing is paid.
        at: of when all this is.
    """

    stages: Sequence[Stage]
    stopped: Sequence[tuple[int, int]]
    bots: Sequence[BotNow]
    faults: Sequence[Fault]
    judged_in: float | None
    pay: str
    at: datetime

    @property
    def most_stopped(self) -> int:
        return max((people for _, people in self.stopped), default=0)

    @property
    def silent_bots(self) -> list[str]:
        """Those which workers are still wanted for and which do not answer."""
        return [bot.title for bot in self.bots if bot.target and not bot.answers]


def monitor(study: Study, *, now: datetime | None = None) -> Monitor:
    """Read all of it."""
    at = now or timezone.now()
    stood = Stood(study, at)
    faults = Fault.objects.filter(dialogue__study=study).select_related("dialogue")
    return Monitor(
        stages=stages(study, stood),
        stopped=_stopped(study, at),
        bots=_bots(study, at),
        faults=list(faults.order_by("-at")[:SHOWN_FAULTS]),
        judged_in=_judged_in(study),
        pay=_pay(study, stood.through),
        at=at,
    )


# How much was done by those who stopped: messages of the worker in a conversation, or items of a batch.
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
# from its reply to their next message.
_TIMES = """
SELECT bot_id,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY latency_ms) / 1000,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY latency_ms) / 1000,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY waited)
  FROM (SELECT s.bot_id, t.latency_ms,
               CASE WHEN t.position %% 2 <> s.number THEN extract(epoch FROM t.created_at
                    - lag(t.created_at) OVER (PARTITION BY d.id ORDER BY t.position)) END AS waited
          FROM (SELECT id, opening_turns FROM dialogues_dialogue
                 WHERE study_id = %s AND ending <> '' AND origin = 'live'
                 ORDER BY started_at DESC, id DESC LIMIT %s) AS d
          JOIN dialogues_seat AS s ON s.dialogue_id = d.id AND s.bot_id IS NOT NULL
          JOIN dialogues_turn AS t ON t.dialogue_id = d.id AND t.position >= d.opening_turns) AS timed
 GROUP BY bot_id
"""


def _bots(study: Study, now: datetime) -> list[BotNow]:
    times = {bot: map(_number, timed) for bot, *timed in _rows(_TIMES, [study.pk, TIMED_CONVERSATIONS])}
    faults = Fault.objects.filter(dialogue__study=study).values_list("dialogue__seats__bot").order_by()
    counted = faults.annotate(n=Count("pk"), lately=Count("pk", filter=Q(at__gt=now - DAY)))
    failed = {bot: (n, lately) for bot, n, lately in counted}
    at = progress(study, now=now)
    states = presence.states(each.of.name for each in at if each.of.active)
    return [
        BotNow(
            bot.name,
            bot.title,
            WORDS.get(state := states.get(bot.name, "off"), state),
            state == "ready",
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


def _pay(study: Study, through: int) -> str:
    if not study.pay_amount:
        return ""
    due: Decimal = study.pay_amount * through
    return f"{due} {study.pay_currency}"


def _rows(statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        found: list[tuple[Any, ...]] = cursor.fetchall()
    return found
