"""Webhooks against a real receiver: signed, retried, never lost, and never sent to the inside."""

import json
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from tests.conftest import MakeStudy
from tests.planted import SignIn
from tests.webhooks.receiver import Receiver, Reply, is_genuine
from turnwise.accounts.models import User
from turnwise.webhooks import sending, services
from turnwise.webhooks.models import Delivery, Webhook
from turnwise.webhooks.signing import signature

pytestmark = pytest.mark.django_db
MakeReceiver = Callable[[Callable[[int], Reply]], Receiver]
EXAMPLE = Path(__file__).parents[2] / "docs" / "webhooks.md"
SITE = "https://turnwise.example.org"
LATER = timedelta(days=1)


@pytest.fixture
def receive(monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeReceiver]:
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")
    made: list[Receiver] = []

    def make(answer: Callable[[int], Reply]) -> Receiver:
        made.append(Receiver(answer))
        return made[-1]

    yield make
    for each in made:
        each.close()


def webhook_to(address: str, owner: User) -> Webhook:
    return services.create(owner, address=address, events=["study.filled"], study=None, site=SITE)


def fresh(delivery: Delivery) -> Delivery:
    return Delivery.objects.get(pk=delivery.pk)


def test_the_signature_is_that_of_the_specification() -> None:
    # From the tests of its reference implementation: standard-webhooks/libraries/javascript.
    made = signature(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
    )

    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_failed_delivery_is_sent_again_with_the_same_id_and_body(receive: MakeReceiver, rex: User) -> None:
    receiver = receive(lambda number: Reply(500, b"busy\x00") if number == 1 else Reply(204))
    webhook = webhook_to(receiver.url, rex)
    delivery = services.send_test(webhook)

    assert sending.send_due() == 1
    failed = fresh(delivery)
    assert (failed.state, failed.attempts, failed.status, failed.says) == ("waiting", 1, 500, "busy\ufffd")
    assert sending.send_due() == 0  # not before its pause is over
    assert sending.send_due(now=failed.due_at) == 1
    assert sending.send_due(now=timezone.now() + LATER) == 0  # nothing is sent after it was delivered

    assert (fresh(delivery).state, fresh(delivery).status) == ("delivered", 204)
    first, second = receiver.received
    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == delivery.message_id
    assert first.headers["content-type"] == "application/json"
    assert json.loads(first.body)["data"] == {"page": f"{SITE}{webhook.get_absolute_url()}"}
    for each in receiver.received:
        assert is_genuine(webhook.secret, each.headers, each.body)
        assert not is_genuine(webhook.secret, each.headers, each.body + b" ")
    manual: dict[str, Any] = {}
    exec(EXAMPLE.read_text().partition("```python\n")[2].partition("```")[0], manual)
    assert all(manual["is_genuine"](webhook.secret, each.headers, each.body) for each in receiver.received)
    assert not manual["is_genuine"](services.new_secret(), first.headers, first.body)
    stale = {**first.headers, "webhook-timestamp": str(int(first.headers["webhook-timestamp"]) - 301)}
    assert not manual["is_genuine"](webhook.secret, stale, first.body)


def test_both_secrets_sign_for_a_day_after_a_rotation(receive: MakeReceiver, rex: User) -> None:
    receiver = receive(lambda _: Reply())
    webhook = webhook_to(receiver.url, rex)
    old, new = webhook.secret, services.rotate_secret(webhook)
    services.send_test(webhook)
    sending.send_due()
    Webhook.objects.update(rotated_at=timezone.now() - LATER)
    services.send_test(webhook)
    sending.send_due()

    during, after = receiver.received
    assert old != new
    assert [is_genuine(each, during.headers, during.body) for each in (old, new)] == [True, True]
    assert [is_genuine(each, after.headers, after.body) for each in (old, new)] == [False, True]


def test_a_redirect_is_not_followed_and_an_inner_address_gets_nothing(
    receive: MakeReceiver, rex: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = receive(lambda _: Reply())
    outside = receive(lambda _: Reply(307, location=inside.url))
    redirected = services.send_test(webhook_to(outside.url, rex))
    sending.send_due()

    assert fresh(redirected).state == "failed"
    assert fresh(redirected).says.startswith(f"It redirects to {inside.url}, which is not followed.")
    assert inside.received == []

    # The name is resolved when it is connected to, so a name cannot hide an inner address.
    named = services.send_test(webhook_to(inside.url.replace("127.0.0.1", "localhost"), rex))
    monkeypatch.delenv("TURNWISE_ALLOWED_NETWORKS")
    sending.send_due()

    assert fresh(named).state == "failed"
    assert "is not an address of the public internet" in fresh(named).says
    assert inside.received == []
    with pytest.raises(ValidationError, match=r"10\.0\.0\.1 is not an address of the public internet"):
        webhook_to("http://10.0.0.1/", rex)


def test_hanging_and_dead_receivers_hold_up_no_other(
    receive: MakeReceiver, rex: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "TIMEOUT_SECONDS", 0.3)
    over = threading.Event()
    hangs, works, dead = receive(lambda _: Reply(waits_for=over)), receive(lambda _: Reply()), receive(Reply)
    dead.close()
    sent = [services.send_test(webhook_to(each.url, rex)) for each in (hangs, dead, works)]

    assert sending.send_due() == 3
    over.set()

    assert [fresh(each).state for each in sent] == ["waiting", "waiting", "delivered"]
    assert fresh(sent[0]).says.startswith("No answer within 0.3 seconds.")
    assert fresh(sent[1]).says.startswith("The address cannot be reached")


def test_a_killed_sender_loses_nothing_and_eight_failures_end_it(receive: MakeReceiver, rex: User) -> None:
    receiver = receive(lambda number: Reply(200 if number == 10 else 503))
    delivery = services.send_test(webhook_to(receiver.url, rex))
    now = timezone.now()
    assert len(sending._claim(now)) == 1  # and the sender dies here
    assert sending.send_due(now=now) == 0
    begun, now = now, now + sending.LEASE

    for _ in range(sending.MOST_ATTEMPTS - 1):
        assert sending.send_due(now=now) == 1
        now = fresh(delivery).due_at
    assert fresh(delivery).state == "failed"
    assert timedelta(hours=23) < now - begun < timedelta(hours=50)
    assert sending.send_due(now=now) == 0

    services.resend(fresh(delivery))
    sending.send_due()
    sending.send_due(now=fresh(delivery).due_at)
    sending.send_due(now=fresh(delivery).due_at)

    assert fresh(delivery).state == "delivered"
    assert {each.headers["webhook-id"] for each in receiver.received} == {delivery.message_id}


def test_the_page_makes_tests_and_switches_off_a_webhook(
    receive: MakeReceiver, rex: User, mallory: User, make_study: MakeStudy, sign_in: SignIn
) -> None:
    receiver, client, study = receive(lambda _: Reply()), sign_in(rex), make_study(title="Of Rex")
    refused = client.post("/webhooks/", {"address": "http://127.0.0.1#x", "events": ["study.filled", "no"]})
    assert refused.status_code == 422
    assert Webhook.objects.count() == 0
    strange = sign_in(mallory).post(
        "/webhooks/", {"address": receiver.url, "events": ["study.filled"], "study": study.pk}
    )
    assert strange.status_code == 422

    made = client.post(
        "/webhooks/", {"address": receiver.url, "events": ["study.filled"], "study": study.pk}
    ).content.decode()
    webhook = Webhook.objects.get()
    page = webhook.get_absolute_url()
    assert webhook.secret in made.replace("&#x2B;", "+")
    assert webhook.site == "http://testserver"

    client.post(f"{page}test/")
    waiting = client.get(page)
    assert waiting["Refresh"] == "2"
    assert webhook.secret not in waiting.content.decode()
    sending.send_due()
    assert "Delivered" in client.get(page).content.decode()

    client.post(f"{page}switch/", {"active": "no"})
    assert "Send a test event" not in client.get(page).content.decode()
    delivery = webhook.deliveries.get()
    refused = client.post(f"{page}deliveries/{delivery.pk}/send/", follow=True)
    assert "This webhook is switched off." in refused.content.decode()
    assert sending.send_due(now=timezone.now() + LATER) == 0

    client.post(f"{page}delete/")
    assert not Delivery.objects.exists()
