"""Events: stored with their cause, once, for those who work on the study or have to do with the bot."""

import json
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from tests.conftest import MakeStudy
from tests.planted import computed, talked
from turnwise.accounts.models import User
from turnwise.bots import budgets
from turnwise.bots.models import BotCopy, BotPrice, BotUsage
from turnwise.exports import bundle_jobs
from turnwise.live.published_events import Event, EventType, publish
from turnwise.studies.models import Study
from turnwise.studies.sharing.services import share_with_person
from turnwise.webhooks import services, watching
from turnwise.webhooks.models import Delivery, Webhook

pytestmark = pytest.mark.django_db
ALL = list(EventType)


def make_webhook(owner: User, study: Study | None = None, events: list[EventType] = ALL) -> Webhook:
    return services.create(
        owner, address="https://lab.example.org/", events=events, study=study, site="https://t.example.org"
    )


def stored(webhook: Webhook) -> list[tuple[str, dict[str, Any]]]:
    """Kind and data of each event that was stored for a webhook, the oldest first."""
    bodies = [json.loads(each.body) for each in webhook.deliveries.order_by("pk")]
    return [(each["type"], each["data"]) for each in bodies]


def fill(study: Study) -> None:
    """Finish a conversation, and lower the targets to that."""
    talked(study, [(True, True), (True, False)])
    study.study_bots.update(target=1)


def test_a_study_is_filled_once_until_it_wants_more(short: Study, rex: User) -> None:
    webhook, now = make_webhook(rex), timezone.now()
    watching.watch(now=now)
    assert stored(webhook) == []

    fill(short)
    for seconds in (10, 20):
        watching.watch(now=now + timedelta(seconds=seconds))
    (kind, data), *more = stored(webhook)

    assert (kind, more) == ("study.filled", [])
    assert data == {
        "study": short.code,
        "finished": 1,
        "wanted": 1,
        "page": f"https://t.example.org/studies/{short.pk}/",
        "api": f"https://t.example.org/api/studies/{short.code}",
    }

    short.study_bots.update(target=2)
    watching.watch(now=now + timedelta(hours=1))
    short.study_bots.update(target=1)
    watching.watch(now=now + timedelta(hours=2))
    assert len(stored(webhook)) == 2


def test_a_failing_bot_is_one_event_for_its_owner_and_for_those_whose_studies_use_it(
    make_study: MakeStudy, rex: User, mallory: User, ada: User
) -> None:
    study = make_study({"failing": 5})
    bot = study.study_bots.get().bot
    bot.owner = ada
    bot.save()
    other = make_study({"other": 1})
    owners, users, of_other, strangers = (
        make_webhook(ada), make_webhook(rex), make_webhook(rex, other), make_webhook(mallory),
    )  # fmt: skip
    BotCopy.objects.create(bot=bot, channel="x", host="gpu", state="failing", health={}, seen_at=Now())

    watching.watch()
    watching.watch()

    assert [kind for kind, _ in stored(owners)] == [kind for kind, _ in stored(users)] == ["bot.failing"]
    assert stored(users)[0][1]["bot"] == "failing"
    assert stored(of_other) == stored(strangers) == []


def test_events_of_a_study_reach_those_who_work_on_it(
    short: Study, rex: User, mallory: User, ada: User
) -> None:
    share_with_person(short, "mallory", "reader")
    readers, admins = make_webhook(mallory), make_webhook(ada)
    owners, other_events = make_webhook(rex, short), make_webhook(rex, events=[EventType.BOT_FAILING])
    admins_of_this = make_webhook(ada, short)
    event = Event(EventType.BUNDLE_READY, study_id=short.pk)

    publish(event)
    share_with_person(short, "mallory", "editor", may_pay=True)
    publish(event)
    Study.objects.filter(pk=short.pk).update(rehearsal_of=short)
    publish(event)

    numbers = [each.deliveries.count() for each in (owners, admins_of_this, readers, admins, other_events)]
    assert numbers == [2, 2, 1, 0, 0]


def test_an_event_is_stored_with_its_cause_or_not_at_all(short: Study, rex: User) -> None:
    make_webhook(rex)
    with transaction.atomic():
        publish(Event(EventType.BUNDLE_READY, study_id=short.pk))
        assert Delivery.objects.count() == 1
        transaction.set_rollback(True)

    assert not Delivery.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_reports_bundles_and_participants_who_wait(short: Study, rex: User) -> None:
    webhook = make_webhook(rex)
    dialogue = talked(short, [(True, True)] * 4, text="The same")  # four times, which is a sign
    for _ in range(2):  # while the study fills, an hour has one event
        computed(short)
    assert [kind for kind, _ in stored(webhook)] == ["report.ready", "participant.waiting"]

    short.study_bots.update(target=1)
    for _ in range(2):
        computed(short)
    bundle, _is_new = bundle_jobs.request_bundle(short, by=rex)
    bundle_jobs.make(bundle.pk)

    (_, interim), (_, waiting), *later = stored(webhook)
    assert [kind for kind, _ in later] == ["report.ready", "report.ready", "bundle.ready"]
    assert [interim["complete"], later[0][1]["complete"]] == [False, True]
    assert waiting == {
        "study": short.code,
        "participants": 1,
        "page": f"https://t.example.org/studies/{short.pk}/participants/?state=signs",
        "api": f"https://t.example.org/api/studies/{short.code}/participants",
    }
    texts = " ".join(Delivery.objects.values_list("body", flat=True))
    assert "The same" not in texts
    assert dialogue.participation
    assert dialogue.participation.pseudonym not in texts


def test_a_reached_budget_is_one_event(short: Study, rex: User) -> None:
    webhook, bot = make_webhook(rex), short.study_bots.get().bot
    BotPrice.objects.create(bot=bot, valid_from=date(2000, 1, 1), prompt="1", completion="1")
    budgets.set_budget(bot.pk, Decimal("2.00"), currency="USD", by=rex)
    assert stored(webhook) == []

    BotUsage.objects.create(bot=bot, day=budgets.today(), replies=1, prompt=10**7)
    for _ in range(2):
        budgets.update_state(bot.pk)

    ((kind, data),) = stored(webhook)
    assert kind == "bot.budget_reached"
    assert (data["bot"], data["budget"], data["currency"]) == (bot.name, "2.00", "USD")
