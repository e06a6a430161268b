"""Long work in slices: each is a job that takes the row's key, and sends the next one when it ends."""

from dataclasses import dataclass

from celery import Task
from django.core.cache import cache

from turnwise.live.locks import is_worked_on

# A message is on its way for at most so long; then it is taken for lost and sent again.
LOST_AFTER_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Slices:
    """The slices of one kind of work.

    Attributes:
        name: of the kind.
        lock: under which one process works on a row (`turnwise.live.locks`).
    """

    name: str
    lock: int

    def send(self, pk: int, job: "Task[[int], None]") -> bool:
        """Have a worker go on with a row; False if one was told so already."""
        if not cache.add(self._on_its_way(pk), True, timeout=LOST_AFTER_SECONDS):
            return False
        job.delay(pk)
        return True

    def arrived(self, pk: int) -> None:
        """The message is there: the next one may be sent."""
        cache.delete(self._on_its_way(pk))

    def send_if_left(self, pk: int, job: "Task[[int], None]") -> bool:
        """Send a row that nobody works on and no message is under way for: its process has died."""
        return not is_worked_on(self.lock, pk) and self.send(pk, job)

    def _on_its_way(self, pk: int) -> str:
        return f"{self.name}.{pk}.on_its_way"
