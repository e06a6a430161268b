"""Store events as deliveries, in the transaction of their cause (transactional outbox)."""

import json
from collections.abc import Mapping
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from turnwise.bots.models import Bot
from turnwise.live.published_events import Event, subscribe
from turnwise.studies.models import Study
from turnwise.studies.sharing.permissions import Permission, held_by, shares_granting
from turnwise.webhooks.models import Delivery, Webhook


@subscribe
def store(event: Event) -> None:
    """Store an event for each webhook whose owner works on its study, or has to do with its bot."""
    now, subject = timezone.now(), subject_of(event)
    found = recipients(event)
    if event.at_most_every:
        recent = Delivery.objects.filter(
            webhook=OuterRef("pk"), event=event.kind, subject=subject,
            created_at__gt=now - event.at_most_every,
        )  # fmt: skip
        found = found.exclude(Exists(recent))
    Delivery.objects.bulk_create(
        Delivery(
            webhook=each,
            event=event.kind,
            subject=subject,
            body=body_of(each, event.kind, event.data, event.links, now=now),
            due_at=now,
            created_at=now,
        )
        for each in found
    )


def subject_of(event: Event) -> str:
    """Name of the study or bot in our tables."""
    return f"study {event.study_id}" if event.study_id else f"bot {event.bot_id}"


def body_of(
    webhook: Webhook, kind: str, data: Mapping[str, object], links: Mapping[str, str], *, now: datetime
) -> str:
    """JSON of an event; links begin with the address of this installation."""
    absolute = {name: webhook.site + path for name, path in links.items()}
    return json.dumps(
        {"type": str(kind), "timestamp": now.isoformat(timespec="seconds"), "data": {**data, **absolute}}
    )


def recipients(event: Event) -> QuerySet[Webhook]:
    """Webhooks that get this event.

    A webhook for all studies gets those on which its owner works; an admin, who may change every study, gets
    the events of other people's studies only from webhooks for one study. Rehearsals have no events.
    """
    studies, own_bot = _studies_concerned(event), Q()
    if event.bot_id:
        own_bot = Q(study=None, owner__in=Bot.objects.filter(pk=event.bot_id).values("owner"))
    shares = shares_granting(Permission.CHANGE).filter(held_by(OuterRef("owner")), study__in=studies)
    owned = studies.filter(owner=OuterRef("owner"))
    of_all = Q(study=None) & (Exists(owned) | Exists(shares))
    this_one = Q(study__in=studies) & (
        Q(owner__is_superuser=True)
        | Exists(owned.filter(pk=OuterRef("study")))
        | Exists(shares.filter(study=OuterRef("study")))
    )
    active = Webhook.objects.filter(active=True, owner__is_active=True, events__contains=[event.kind])
    return active.filter(own_bot | of_all | this_one if event.bot_id else of_all | this_one)


def _studies_concerned(event: Event) -> QuerySet[Study]:
    """The event's study, or the open and paused studies that use its bot."""
    real = Study.objects.filter(rehearsal_of=None)
    if event.study_id:
        return real.filter(pk=event.study_id)
    taking = real.filter(state__in=(Study.State.OPEN, Study.State.PAUSED))
    return taking.filter(study_bots__bot=event.bot_id, study_bots__target__gt=0)
