"""The open pages of this process are looked after together: one look at the database a second for all.

So a page learns of a pause, a message or the end of its time at once, in any process, and whether Redis is up
or not; and whoever is at work keeps their place without waiting for that to be noted.
"""

import asyncio
import logging
from typing import Protocol
from weakref import WeakKeyDictionary

from django.utils import timezone

from turnwise.crowd import limits
from turnwise.crowd.places import hold_places, keep_places
from turnwise.crowd.standing import PLAIN, Standing, standings
from turnwise.live.database import in_database

log = logging.getLogger(__name__)

SECONDS = 1.0


class Watched(Protocol):
    """An open page."""

    assignment_id: int | None

    async def heed(self, standing: Standing) -> None: ...

    def gives_sign_of_life(self) -> bool: ...

    def gives_sign_of_page(self) -> bool: ...


class _Watch:
    """Over the pages of one event loop, for as long as there are any."""

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
        """One round: what the pages are to be told, and what is to be noted of them."""
        watched = {page.assignment_id for page in self.pages if page.assignment_id}
        found = await in_database(standings, watched)
        late = [key for key, standing in found.items() if standing.is_late(timezone.now())]
        if late:
            await in_database(limits.end_overdue, only=late)
            found |= await in_database(standings, late)
        for page in list(self.pages):
            if page.assignment_id:
                await page.heed(found.get(page.assignment_id, PLAIN))
        unbegun = [page.assignment_id for page in self.pages if page.gives_sign_of_page()]
        if waiting := [key for key in unbegun if key]:
            await in_database(hold_places, waiting)
        signs = [page.assignment_id for page in self.pages if page.gives_sign_of_life()]
        if at_work := [key for key in signs if key]:
            await in_database(keep_places, at_work)


_watches: WeakKeyDictionary[asyncio.AbstractEventLoop, _Watch] = WeakKeyDictionary()


def watch() -> _Watch:
    """That of this event loop."""
    return _watches.setdefault(asyncio.get_running_loop(), _Watch())
