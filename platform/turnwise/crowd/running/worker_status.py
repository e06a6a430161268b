"""Status of workers' open pages: pause, message of the team, and time limits.

One query per second reads the status of all open pages in this process. So pages learn of a pause, a message
or the end of their time in every process, even without Redis, and active workers keep their places.
"""

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from django.db import connection
from django.utils import timezone

from turnwise.crowd.models import PAID, Outcome
from turnwise.crowd.places.reservation import hold_places, keep_places
from turnwise.crowd.running import limits
from turnwise.crowd.running.limits import GRACE, WARN_MESSAGE, WARN_SESSION
from turnwise.languages.live_texts import is_in_use, refresh_async
from turnwise.live.database import in_database
from turnwise.live.frames import Frame

# Outcomes that the page knows already, as its own work led to them.
_KNOWN_ENDS = frozenset({"", *PAID, Outcome.NO_PARTNER})


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    """Status of an assignment besides its work.

    Attributes:
        is_paused: True if the study admits no new workers.
        is_held: True if the worker is on hold, too.
        notice: key and text of the team's message; key 0 if there is none.
        message_ends, session_ends: deadlines; None if no clock runs.
        message_limit, session_limit: True if the study has such a limit.
        more: number of extensions left.
        ended: outcome if the assignment was ended from outside; otherwise empty.
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
    def page_state(self) -> tuple[Any, ...]:
        """Values whose change is sent to the page; of the clocks, only the deadlines."""
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


NO_STATUS = WorkerStatus()
"""Status of most assignments: no pause, message or limit."""


_STATUSES = """
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


def worker_statuses(assignments: Collection[int]) -> dict[int, WorkerStatus]:
    """Status by assignment key; assignments left out have `NO_STATUS`.

    One statement for all open pages, which mostly returns no rows.
    """
    with connection.cursor() as cursor:
        cursor.execute(_STATUSES, [list(assignments), list(_KNOWN_ENDS)])
        return {key: _status_from_row(*row) for key, *row in cursor.fetchall()}


def _status_from_row(
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
) -> WorkerStatus:
    """Build the status from a row of `_STATUSES`."""
    return WorkerStatus(
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


log = logging.getLogger(__name__)

SECONDS = 1.0


class Watched(Protocol):
    """Open page of a worker."""

    assignment_id: int | None

    async def update_status(self, status: WorkerStatus) -> None: ...

    def gives_sign_of_life(self) -> bool: ...

    def gives_sign_of_page(self) -> bool: ...


class _Watch:
    """Watch over the open pages of one event loop: checks them every second."""

    def __init__(self) -> None:
        self.pages: set[Watched] = set()
        self._rounds: asyncio.Task[None] | None = None

    def add(self, page: Watched) -> None:
        self.pages.add(page)
        if self._rounds is None:
            self._rounds = asyncio.get_running_loop().create_task(self._go_round())

    def remove(self, page: Watched) -> None:
        self.pages.discard(page)
        if not self.pages and self._rounds:
            self._rounds.cancel()
            self._rounds = None

    async def _go_round(self) -> None:
        while True:
            await asyncio.sleep(SECONDS)
            try:
                await self.look()
            except Exception:
                log.exception("Open pages could not be checked. Trying again.")

    async def look(self) -> None:
        """Check all pages once: send status changes, end overdue work, extend places, renew translations."""
        if is_in_use():
            await refresh_async()
        watched = {page.assignment_id for page in self.pages if page.assignment_id}
        statuses = await in_database(worker_statuses, watched)
        late = [key for key, status in statuses.items() if status.is_late(timezone.now())]
        if late:
            await in_database(limits.end_overdue, only=late)
            statuses |= await in_database(worker_statuses, late)
        for page in list(self.pages):
            if page.assignment_id:
                await page.update_status(statuses.get(page.assignment_id, NO_STATUS))
        unbegun = [page.assignment_id for page in self.pages if page.gives_sign_of_page()]
        if waiting := [key for key in unbegun if key]:
            await in_database(hold_places, waiting)
        signs = [page.assignment_id for page in self.pages if page.gives_sign_of_life()]
        if at_work := [key for key in signs if key]:
            await in_database(keep_places, at_work)


_watches: WeakKeyDictionary[asyncio.AbstractEventLoop, _Watch] = WeakKeyDictionary()


def watch() -> _Watch:
    """Watch of the running event loop."""
    return _watches.setdefault(asyncio.get_running_loop(), _Watch())
