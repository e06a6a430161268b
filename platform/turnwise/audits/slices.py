"""An audit, a slice at a time. Whatever is cut off is asked again, with the same seed."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.utils import timezone
from typing_extensions import override

from chatbots.base import Context
from turnwise.audits import services
from turnwise.audits.models import Audit
from turnwise.audits.services import Missing
from turnwise.bots import client
from turnwise.live.locks import AUDITS, only_here
from turnwise.responses.asking import SLICE_SECONDS, Slice, Trouble, Work, run_slice


def ask_slice(audit_id: int, *, seconds: float = SLICE_SECONDS) -> bool:
    """Work on an audit for a while. Does nothing if another process does. Safe to repeat.

    Returns:
        Whether there is more to do.
    """
    with only_here(AUDITS, audit_id) as ours:
        audit = services.begin(audit_id, now=timezone.now()) if ours else None
        if audit is None:
            return False
        work = _Asking(audit)
        return run_slice(f"Audit {audit_id}", Slice(work, time.monotonic() + seconds).work(), work.give_up)


@dataclass(slots=True)
class _Asking(Work[Missing]):
    audit: Audit
    talks: Mapping[int, Sequence[str]] = field(default_factory=dict)

    @property
    @override
    def most_at_once(self) -> int:
        """Workers come first: what nobody waits for never has more than this many requests in a queue."""
        return 2 if self.audit.by_timer else 16

    @override
    def has_ended(self) -> bool:
        return not Audit.objects.filter(pk=self.audit.pk, state__in=services.AT_WORK).exists()

    @override
    def missing(self, most: int) -> list[Missing]:
        self.talks = services.talks_of(self.audit)
        return services.missing(self.audit, most=most)

    @override
    def request(self, missing: Missing) -> tuple[int, Context]:
        return self.audit.bot_id, services.context_of(missing, self.talks, seed=self.audit.seed)

    @override
    def record(
        self,
        answered: Sequence[tuple[Missing, client.Reply]],
        failed: Sequence[tuple[Missing, Trouble]],
    ) -> None:
        services.record(self.audit, answered, failed, now=timezone.now())

    @override
    def conclude(self) -> None:
        services.conclude(self.audit.pk, now=timezone.now())

    @override
    def give_up(self, why: str) -> None:
        services.fail(self.audit.pk, why, timezone.now())

    @override
    def note_waiting(self, why: str) -> None:
        services.note_waiting(self.audit, why, now=timezone.now())
