"""Jobs of audits, in chunks. Interrupted questions are repeated with the same seed."""

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
from turnwise.live.jobs import AUDITS, ChunkedJob
from turnwise.responses.bot_jobs import AT_WORK, JobWork, take_up, work_slice
from turnwise.responses.bulk_replies import SLICE_SECONDS, Trouble


def ask_slice(audit_id: int, *, seconds: float = SLICE_SECONDS) -> bool:
    """Work on an audit for a while, as `work_slice` does."""
    return work_slice("Audit", AUDITS, audit_id, _begin_work, seconds=seconds)


def _begin_work(audit_id: int) -> "_AuditWork | None":
    audit = services.begin(audit_id, now=timezone.now())
    return _AuditWork(audit) if audit else None


@dataclass(slots=True)
class _AuditWork(JobWork[Missing, Audit]):
    talks: Mapping[int, Sequence[str]] = field(default_factory=dict)

    @property
    @override
    def most_at_once(self) -> int:
        """Limit of concurrent requests; low for audits by the timer, so that workers come first."""
        return 2 if self.job.by_timer else 16

    @override
    def missing(self, most: int) -> list[Missing]:
        self.talks = services.talks_of(self.job)
        return services.missing(self.job, most=most)

    @override
    def request(self, missing: Missing) -> tuple[int, Context]:
        return self.job.bot_id, services.context_of(missing, self.talks, seed=self.job.seed)

    @override
    def record(
        self,
        answered: Sequence[tuple[Missing, client.Reply]],
        failed: Sequence[tuple[Missing, Trouble]],
    ) -> None:
        services.record(self.job, answered, failed, now=timezone.now())

    @override
    def conclude(self) -> None:
        services.conclude(self.job.pk, now=timezone.now())

    @override
    def note_waiting(self, why: str) -> None:
        services.note_waiting(self.job, why, now=timezone.now())


_SLICES = ChunkedJob("audits", AUDITS)
# An audit that failed before the version was known is not begun again at once.
RETRY_AFTER = timedelta(days=1)


@shared_task
def ask(audit_id: int) -> None:
    """Run one chunk of an audit; other jobs run before the next one."""
    _SLICES.mark_received(audit_id)
    if ask_slice(audit_id):
        send(audit_id)


@shared_task
def take_up_audits() -> None:
    """Restart audits whose process has died."""
    take_up(Audit.objects.all(), _SLICES, ask)


@shared_task
def audit_new_versions() -> None:
    """Audit a bot whose version is new since its last audit, one bot after the other."""
    if bot := next_bot_to_audit():
        send(services.start(bot, by=None).pk)


def next_bot_to_audit() -> Bot | None:
    """Next bot whose newest version, seen by the daily check, has no audit."""
    if Audit.objects.filter(state__in=AT_WORK, by_timer=True).exists():
        return None
    met = CanaryRun.objects.filter(bot=OuterRef("pk"), version__isnull=False).order_by("-at")
    lately = Audit.objects.filter(by_timer=True, created_at__gt=timezone.now() - RETRY_AFTER).values("bot")
    at_work = Audit.objects.filter(state__in=AT_WORK).values("bot")
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
    """Send the next chunk of an audit; False if one is pending already."""
    return _SLICES.send(audit_id, ask)
