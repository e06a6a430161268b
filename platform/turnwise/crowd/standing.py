"""What an open page of a worker is told beside its work: a pause, a message of the team, the time left."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from turnwise.crowd.limits import GRACE, WARN_MESSAGE, WARN_SESSION
from turnwise.crowd.models import PAID, Outcome
from turnwise.live.frames import Frame

# Of these the page itself knows, since its work led there.
_KNOWN_ENDS = frozenset({"", *PAID, Outcome.NO_PARTNER})


@dataclass(frozen=True, slots=True)
class Standing:
    """How it stands with somebody's work, but for the work itself.

    Attributes:
        is_paused: nobody new is admitted.
        is_held: nothing of theirs is taken either.
        notice: what the research team tells them, and its key; 0: nothing.
        message_ends, session_ends: when their time is over; None: no clock runs.
        message_limit, session_limit: whether the study has one at all.
        more: how often they can still ask for more time.
        ended: how their work was ended from outside; empty: it was not.
    """

    is_paused: bool = False
    is_held: bool = False
    notice: tuple[int, str] = (0, "")
    message_ends: datetime | None = None
    session_ends: datetime | None = None
    message_limit: bool = False
    session_limit: bool = False
    more: int = 0
    ended: str = ""

    @property
    def is_limited(self) -> bool:
        return self.message_limit or self.session_limit

    @property
    def told(self) -> tuple[Any, ...]:
        """What the page is told; of the time, only when it ends."""
        ends = self.message_ends, self.session_ends
        return (self.is_paused, self.is_held, self.notice, *ends, self.more if any(ends) else 0)

    def is_late(self, now: datetime) -> bool:
        ends = self.message_ends, self.session_ends
        return not self.is_held and any(end is not None and end + GRACE <= now for end in ends)

    def frame(self, now: datetime) -> Frame:
        clocks = []
        for of, ends, warn in (
            ("message", self.message_ends, WARN_MESSAGE),
            ("session", self.session_ends, WARN_SESSION),
        ):
            if ends:
                left = max(ends - now, timedelta()).total_seconds()
                clocks.append({"of": of, "left": left, "warn": warn.total_seconds(), "more": self.more})
        return {
            "type": "standing",
            "paused": self.is_paused,
            "held": self.is_held,
            "notice": self.notice[1],
            "clocks": clocks,
        }


PLAIN = Standing()
"""How it stands with nearly all."""


_STANDINGS = """
SELECT a.id, a.outcome, a.step_due_at, a.due_at, s.extensions - a.extensions, s.state = 'paused',
       s.message_minutes > 0, s.session_minutes > 0, held.id IS NOT NULL,
       coalesce(n.id, 0), coalesce(n.text, '')
  FROM crowd_assignment AS a
  JOIN crowd_participation AS p ON p.id = a.participation_id
  JOIN studies_study AS s ON s.id = p.study_id
  LEFT JOIN crowd_notice AS n ON n.study_id = s.id AND n.ended_at IS NULL
  LEFT JOIN crowd_pause AS held ON held.study_id = s.id AND held.ended_at IS NULL AND held.holds
 WHERE a.id = ANY(%s)
   AND (a.outcome <> ALL(%s) OR a.step_due_at IS NOT NULL OR a.due_at IS NOT NULL OR s.state = 'paused'
        OR s.message_minutes > 0 OR s.session_minutes > 0 OR held.id IS NOT NULL OR n.id IS NOT NULL)
"""


def standings(assignments: Collection[int]) -> dict[int, Standing]:
    """How it stands with those who have anything to be told, by their keys; with all others it is `PLAIN`.

    One statement, which finds nobody most of the time: every open page asks again and again.
    """
    with connection.cursor() as cursor:
        cursor.execute(_STANDINGS, [list(assignments), list(_KNOWN_ENDS)])
        return {key: _standing(*row) for key, *row in cursor.fetchall()}


def _standing(
    outcome: str,
    message_ends: datetime | None,
    session_ends: datetime | None,
    more: int,
    is_paused: bool,
    message_limit: bool,
    session_limit: bool,
    is_held: bool,
    notice: int,
    text: str,
) -> Standing:
    """What a row of `_STANDINGS` says."""
    return Standing(
        is_paused=is_paused,
        is_held=is_held,
        notice=(notice, text),
        message_ends=message_ends,
        session_ends=session_ends,
        message_limit=message_limit,
        session_limit=session_limit,
        more=max(0, more),
        ended="" if outcome in _KNOWN_ENDS else outcome,
    )
