"""Find filled studies and failing bots, and publish each once.

No single write fills a study: judgments of many raters are saved side by side, and a target may be lowered.
Both conditions stay in the database, so a watch that was interrupted finds them later.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from chatbots.hosting.health import State
from turnwise.bots.hosting.presence import bot_states
from turnwise.bots.models import Bot
from turnwise.live.published_events import Event, EventType, publish
from turnwise.studies.models import Study
from turnwise.studies.queries import counts_of
from turnwise.webhooks.models import Sighting
from turnwise.webhooks.outbox import subject_of

FAILING = (State.FAILING, State.FAILED, State.STUCK)
OVER_AFTER = timedelta(minutes=5)
"""Time without a condition after which it is over. A failing bot is probed again and again meanwhile."""


def watch(*, now: datetime | None = None) -> None:
    """Publish conditions that hold and have not been published."""
    now = now or timezone.now()
    events = [*_filled_studies(), *_failing_bots()]
    known = {(each.kind, each.subject): each.pk for each in Sighting.objects.all()}
    keys = [known[each.kind, subject_of(each)] for each in events if (each.kind, subject_of(each)) in known]
    Sighting.objects.filter(pk__in=keys).update(seen_at=now)
    for event in events:
        if (event.kind, subject_of(event)) not in known:
            _publish_once(event, now)
    Sighting.objects.filter(seen_at__lt=now - OVER_AFTER).delete()


@transaction.atomic
def _publish_once(event: Event, now: datetime) -> None:
    """Publish an event unless a watch at the same time does."""
    _sighting, is_new = Sighting.objects.get_or_create(
        kind=event.kind, subject=subject_of(event), defaults={"seen_at": now}
    )
    if is_new:
        publish(event)


def _filled_studies() -> Iterator[Event]:
    taking = Study.objects.filter(state__in=(Study.State.OPEN, Study.State.PAUSED), rehearsal_of=None)
    studies = {study.pk: study for study in taking}
    for pk, (finished, wanted) in counts_of(studies.values()).items():
        if 0 < wanted <= finished:
            study = studies[pk]
            yield Event(
                EventType.STUDY_FILLED,
                study_id=pk,
                data={"study": study.code, "finished": finished, "wanted": wanted},
                links={"page": study.get_absolute_url(), "api": f"/api/studies/{study.code}"},
            )


def _failing_bots() -> Iterator[Event]:
    failing = {name: state for name, state in bot_states().items() if state in FAILING}
    for bot in Bot.objects.filter(name__in=failing):
        yield Event(
            EventType.BOT_FAILING,
            bot_id=bot.pk,
            data={"bot": bot.name, "state": str(failing[bot.name])},
            links={"page": reverse("bots:bot", args=[bot.name]), "api": f"/api/bots/{bot.name}/health"},
        )
