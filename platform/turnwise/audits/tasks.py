from datetime import timedelta

from celery import shared_task
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from turnwise.audits import services
from turnwise.audits.models import Audit
from turnwise.audits.slices import ask_slice
from turnwise.bots import presence
from turnwise.bots.models import Bot, CanaryRun
from turnwise.live.locks import AUDITS
from turnwise.live.slices import Slices

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
