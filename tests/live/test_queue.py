"""What pages and the API say of jobs while Redis hangs, and what becomes of them once it is back."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from redis import Redis
from redis.exceptions import RedisError

from tests.conftest import MakeQueue
from tests.desks import judge
from tests.planted import SignIn, talked
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.audits.models import Audit
from turnwise.audits.tasks import take_up_audits
from turnwise.bots.models import Bot, CanaryRun
from turnwise.judging.items import subjects
from turnwise.judging.models import Agreement
from turnwise.live.jobs import NOT_STARTED, STARTS_LATER
from turnwise.rehearsals.models import Attempt
from turnwise.reports.models import Report
from turnwise.reports.services import lost_reports
from turnwise.studies.models import Bundle, Study

pytestmark = pytest.mark.django_db(transaction=True)


class Hanging:
    """The Redis of the tests, stopped and let go on."""

    def __init__(self) -> None:
        self.redis = Redis.from_url(settings.REDIS_URL)
        self._process: int = self.redis.info("server")["process_id"]

    def begin(self) -> None:
        os.kill(self._process, signal.SIGSTOP)

    def end(self) -> None:
        os.kill(self._process, signal.SIGCONT)
        while not _answers():
            time.sleep(0.1)

    def jobs(self) -> int:
        waiting = [self.redis.llen(queue) for queue in settings.JOB_QUEUES]
        return sum(map(int, waiting))  # type: ignore[arg-type]  # not awaited


def _answers() -> bool:
    try:
        cache.get("any")
    except RedisError:
        return False
    return True


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    made = Hanging()
    yield made
    made.end()
    made.redis.close()


@pytest.fixture
def bot(short: Study, rex: User) -> Bot:
    Bot.objects.update(owner=rex)
    found: Bot = short.study_bots.get().bot
    CanaryRun.objects.create(bot=found, verdict=CanaryRun.Verdict.FAILED, replies=[])
    return found


Call = Callable[[str], Any]


@pytest.fixture
def press(rex: User, sign_in: SignIn) -> Callable[..., str]:
    """Press a button of Rex's; the page to which it leads."""
    client = sign_in(rex)
    return lambda address, **sent: client.post(address, sent, follow=True).content.decode()


@pytest.fixture
def call(rex: User) -> Call:
    client = Client(headers={"Authorization": f"Bearer {credentials.create_token(rex, 'test')}"})
    return lambda address: client.post(f"/api/{address}").json()


def test_a_report_is_stored_and_sent_again(
    short: Study, hanging: Hanging, press: Callable[..., str], call: Call
) -> None:
    hanging.begin()
    page = press(f"/studies/{short.pk}/report/refresh/")
    answer = call(f"studies/{short.code}/report")
    hanging.end()

    assert str(STARTS_LATER) in page
    assert answer["state"] == "queued"
    assert lost_reports(timezone.now() + timedelta(minutes=1)) == [Report.objects.get().pk]


@pytest.mark.parametrize("over_api", [False, True])
def test_an_audit_is_stored_and_sent_by_the_timer(
    bot: Bot, hanging: Hanging, press: Callable[..., str], call: Call, over_api: bool
) -> None:
    hanging.begin()
    if over_api:
        assert call(f"bots/{bot.name}/audits")["state"] == "queued"
    else:
        assert str(STARTS_LATER) in press(f"/bots/{bot.name}/audits/start/")
    hanging.end()
    before = hanging.jobs()

    take_up_audits()

    assert Audit.objects.count() == 1
    assert hanging.jobs() == before + 1


def test_what_needs_a_process_at_once_is_not_started_then_or_later(
    short: Study, bot: Bot, hanging: Hanging, press: Callable[..., str]
) -> None:
    before = hanging.jobs()
    hanging.begin()
    pages = [
        press(f"/studies/{short.pk}/bundle/make/"),
        press(f"/studies/{short.pk}/rehearsal/start/", workers="3"),
        press(f"/bots/{bot.name}/watch/", wish="anew"),
    ]
    hanging.end()

    assert all(str(NOT_STARTED) in page for page in pages)
    assert not any(each.is_in_progress for each in [Bundle.objects.get(), Attempt.objects.get()])
    assert hanging.jobs() == before
    assert "about to be made" in press(f"/studies/{short.pk}/bundle/make/")


def test_a_comparison_of_parties_is_not_started(
    short: Study, make_queue: MakeQueue, hanging: Hanging, press: Callable[..., str]
) -> None:
    talked(short, [(True, True)] * 2)
    queue = make_queue(raters=1)
    subjects.add_turns(queue, short, language="en")
    judge(queue, lambda item: {"sensible": True, "specific": True})
    hanging.begin()
    page = press(f"/studies/{short.pk}/readers/compare/")
    hanging.end()

    assert str(NOT_STARTED) in page
    assert Agreement.objects.get().state == Agreement.State.FAILED
    assert "Both are being compared." in press(f"/studies/{short.pk}/readers/compare/")
