"""An audit, a slice at a time. Whatever is cut off is asked again, with the same seed."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from celery import shared_task
from django.db.models import OuterRef, Subquery
from django.utils import timezone
from typing_extensions import override

from chatbots.base import Context
from turnwise.audits import services
from turnwise.audits.models import Audit
from turnwise.audits.services import Missing
from turnwise.bots.hosting import client, presence
from turnwise.bots.models import Bot, CanaryRun
from turnwise.live.jobs import AUDITS, Slices, only_here
from turnwise.responses.bulk_replies import SLICE_SECONDS, Slice, Trouble, Work, run_slice


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


_SLICES = Slices("audits", AUDITS)
# An audit that failed before the version was known is not begun again at once.
AGAIN_AFTER = timedelta(days=1)


@shared_task
def ask(audit_id: int) -> None:
    """A slice of an audit; others get their turn before the next one."""
    _SLICES.arrived(audit_id)
    if ask_slice(audit_id):
        send(audit_id)


@shared_task
def take_up_audits() -> None:
    """Send the audits whose process has died."""
    at_work = Audit.objects.filter(state__in=services.AT_WORK)
    for audit_id in at_work.values_list("pk", flat=True):
        if _SLICES.send_if_left(audit_id, ask):
            services.taken_up(audit_id, now=timezone.now())


@shared_task
def audit_new_versions() -> None:
    """Audit a bot whose version is new since its last audit, one bot after the other."""
    if bot := due():
        send(services.start(bot, by=None).pk)


def due() -> Bot | None:
    """The next bot to be audited: the daily check has met a version of it that has no audit."""
    if Audit.objects.filter(state__in=services.AT_WORK, by_timer=True).exists():
        return None
    met = CanaryRun.objects.filter(bot=OuterRef("pk"), version__isnull=False).order_by("-at")
    lately = Audit.objects.filter(by_timer=True, created_at__gt=timezone.now() - AGAIN_AFTER).values("bot")
    at_work = Audit.objects.filter(state__in=services.AT_WORK).values("bot")
    audited = Audit.objects.exclude(version=None).values("version")
    bots = list(
        Bot.objects.filter(active=True, watched=True)
        .annotate(met=Subquery(met.values("version")[:1]))
        .exclude(met=None)
        .exclude(met__in=audited)
        .exclude(pk__in=lately)
        .exclude(pk__in=at_work)
        .order_by("pk")
    )
    available = presence.available(bots)
    return next((bot for bot in bots if bot.pk in available), None)


def send(audit_id: int) -> bool:
    """Have a worker go on with the audit; False if one was told so already."""
    return _SLICES.send(audit_id, ask)
