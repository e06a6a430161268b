"""A judge answers some of its items again every day; a change beyond its usual variation is an alarm."""

import json
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone

from tests.chatbots.local_service import Sent
from tests.judges.conftest import GOOD, MakeStudyOfTwo
from tests.judges.test_pages import page
from tests.judges.test_runs import finished, started
from tests.planted import SignIn
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot, BotPrice
from turnwise.judges import services, tasks
from turnwise.judges.budgets import Budget, cost_of_run
from turnwise.judges.drift_checks import services as drift_checks
from turnwise.judges.models import DriftCheck, JudgeRun, RepeatedAnswer
from turnwise.judging.models import Item
from turnwise.live.published_events import EventType
from turnwise.studies.models import Study
from turnwise.webhooks.models import Delivery, Webhook

pytestmark = pytest.mark.django_db(transaction=True)

MakeJudge = Callable[..., Bot]
BAD = '{"sensible": false, "specific": false}'


class Umpire:
    """Answers of a service that may change from one day to the next."""

    def __init__(self) -> None:
        self.turned: set[str] = set()
        self.broken = self.prose = False
        self.asked = 0

    def __call__(self, text: str) -> Any:
        self.asked += bool(text)
        if self.broken:
            return Sent({"error": {"message": "overloaded"}}, status=400)
        if self.prose:
            return "I would rather not say."
        return BAD if text in self.turned else GOOD


@pytest.fixture
def umpire() -> Umpire:
    return Umpire()


@pytest.fixture
def run(make_items: MakeStudyOfTwo, make_judge: MakeJudge, umpire: Umpire) -> JudgeRun:
    """A complete run about 24 items whose daily check is on."""
    found = finished(make_items(12), make_judge(umpire))
    drift_checks.set_watched(found.pk, watched=True)
    umpire.asked = 0
    return found


def checked_texts(run: JudgeRun) -> list[str]:
    """Texts of the items of the check."""
    items = Item.objects.filter(repeated_answers__drift_check__run=run).distinct().order_by("key")
    return [item.response.text for item in items if item.response]


def test_the_first_check_repeats_twenty_items_and_later_ones_ask_each_once(
    run: JudgeRun, umpire: Umpire
) -> None:
    first = drift_checks.check(run.pk)

    assert (first.verdict, first.agreement, first.expected, first.p) == ("repeated", 1.0, 1.0, None)
    assert umpire.asked == 80
    assert first.answers.count() == 80
    assert len(checked_texts(run)) == 20
    second = drift_checks.check(run.pk)
    assert (second.verdict, second.agreement, second.expected) == ("same", 1.0, 1.0)
    assert second.p == pytest.approx(1.0)
    assert umpire.asked == 100
    run.refresh_from_db()
    assert run.calls == 24 + 100
    assert run.labels.count() == 24
    assert not drift_checks.alarms(JudgeRun.objects.all()).exists()


def test_few_changes_are_no_alarm_and_many_are_one_until_the_judge_is_itself_again(
    run: JudgeRun, umpire: Umpire, rex: User
) -> None:
    """Of 20 items with 5 equal earlier replies, 3 changes have p = 6^-3 and 5 have 6^-5."""
    Webhook.objects.create(
        owner=rex, address="https://lab.example.org", events=["judge.drifted"], site="https://t.example.org"
    )
    drift_checks.check(run.pk)
    texts = checked_texts(run)
    umpire.turned = {*texts[:3]}
    quiet = drift_checks.check(run.pk)
    assert (quiet.verdict, quiet.reason, quiet.agreement) == ("same", "", 0.925)
    assert quiet.p == pytest.approx(6**-3)

    umpire.turned = {*texts[:12]}
    alarm = drift_checks.check(run.pk)
    drift_checks.check(run.pk)

    assert (alarm.verdict, alarm.agreement) == ("departed", 0.7)
    assert alarm.reason.startswith("12 of 20 items are answered in another way than in the run: 70")
    assert alarm.p is not None
    assert alarm.p < 0.001
    [delivery] = Delivery.objects.filter(event=EventType.JUDGE_DRIFTED)
    told = json.loads(delivery.body)["data"]
    assert (told["judge"], told["agreement"]) == (run.pk, 0.7)
    umpire.turned = set()
    assert drift_checks.alarms(JudgeRun.objects.all()).count() == 1
    assert drift_checks.check(run.pk).verdict == "same"
    assert not drift_checks.alarms(JudgeRun.objects.all()).exists()


def test_a_judge_that_varies_by_itself_raises_no_alarm(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge
) -> None:
    count = 0

    def answer(text: str) -> str:
        nonlocal count
        count += bool(text)
        return GOOD if count % 7 in (1, 2, 4) else BAD

    found = finished(make_items(12), make_judge(answer))
    drift_checks.set_watched(found.pk, watched=True)

    first, *others = [drift_checks.check(found.pk) for _ in range(4)]

    assert first.expected is not None
    assert first.expected < 0.95
    assert {each.verdict for each in others} == {"same"}


def test_a_judge_that_changed_before_its_first_check_is_found_and_asked_no_more(
    run: JudgeRun, umpire: Umpire
) -> None:
    umpire.turned = {item.response.text for item in Item.objects.all() if item.response}

    found = drift_checks.check(run.pk)

    assert (found.verdict, found.agreement, found.expected) == ("departed", 0.5, 1.0)
    DriftCheck.objects.update(at=timezone.now() - timedelta(days=2))
    assert drift_checks.runs_due() == []
    assert drift_checks.alarms(JudgeRun.objects.all()).get() == found


def test_refusals_and_prose_are_changes_too(run: JudgeRun, umpire: Umpire) -> None:
    drift_checks.check(run.pk)
    umpire.prose = True

    found = drift_checks.check(run.pk)

    assert (found.verdict, found.agreement) == ("departed", 0.0)
    assert set(found.answers.values_list("outcome", flat=True)) == {"outside"}


def test_a_silent_service_is_no_alarm(run: JudgeRun, umpire: Umpire) -> None:
    drift_checks.check(run.pk)
    umpire.broken = True

    found = drift_checks.check(run.pk)

    assert found.verdict == "failed"
    assert found.reason.startswith("It answered 0 of 20 items.")
    assert not found.answers.exists()
    assert not drift_checks.alarms(JudgeRun.objects.all()).exists()


def test_another_version_of_the_bot_is_another_judge_and_is_asked_once(run: JudgeRun, umpire: Umpire) -> None:
    drift_checks.check(run.pk)
    asked = umpire.asked
    other = run.judge.bot
    assert other
    other.configuration = {**other.configuration, "model": "judge-2"}
    other.save()
    resident_bots.update_hosted_bots()

    found = drift_checks.check(run.pk)

    assert found.verdict == "other"
    assert "another judge" in found.reason
    assert umpire.asked == asked + 1


def test_the_budget_of_the_run_pays_the_check_or_there_is_none(run: JudgeRun, umpire: Umpire) -> None:
    services.set_budget(run.pk, Budget(most_calls=24 + 80))
    assert drift_checks.check(run.pk).verdict == "repeated"

    found = drift_checks.check(run.pk)

    assert found.verdict == "failed"
    assert "needs 20 requests, which the budget of this run does not pay" in found.reason
    assert umpire.asked == 80


def test_the_cost_of_a_run_has_that_of_its_checks(run: JudgeRun, rex: User) -> None:
    bot = run.judge.bot
    assert bot
    BotPrice.objects.create(
        bot=bot, currency="USD", prompt=Decimal(1000), completion=Decimal(0), valid_from="2020-01-01",
        typed_by=rex,
    )  # fmt: skip
    before = cost_of_run(run)
    drift_checks.check(run.pk)
    after = cost_of_run(run)

    assert before
    assert after
    assert (before.priced, after.priced) == (24, 104)


def test_a_run_is_due_once_a_day_and_a_queued_check_is_done_once(run: JudgeRun, umpire: Umpire) -> None:
    assert drift_checks.runs_due() == [run.pk]
    tasks.check_drift(run.pk)
    tasks.check_drift(run.pk)
    assert DriftCheck.objects.count() == 1
    DriftCheck.objects.update(at=timezone.now() - timedelta(hours=25))
    assert drift_checks.runs_due() == [run.pk]
    Study.objects.update(state=Study.State.CLOSED, archived_at=timezone.now())
    assert drift_checks.runs_due() == []
    Study.objects.update(archived_at=None)
    drift_checks.set_watched(run.pk, watched=False)
    assert drift_checks.runs_due() == []


def test_answers_go_with_their_item_and_too_few_items_are_drawn_anew(run: JudgeRun) -> None:
    drift_checks.check(run.pk)
    gone = Item.objects.filter(repeated_answers__isnull=False).distinct().order_by("pk")[:11]
    Item.objects.filter(pk__in=[item.pk for item in gone]).delete()
    assert RepeatedAnswer.objects.values("item").distinct().count() == 9

    found = drift_checks.check(run.pk)

    assert (found.verdict, found.answers.values("item").distinct().count()) == ("repeated", 13)


def test_what_cannot_be_checked_is_refused_in_words(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge
) -> None:
    small = finished(make_items(4), make_judge())
    with pytest.raises(ValidationError, match="needs 10 answers of the run; it has 8"):
        drift_checks.set_watched(small.pk, watched=True)
    begun = started(make_items(4), make_judge(name="other"))
    with pytest.raises(ValidationError, match="not complete"):
        drift_checks.set_watched(begun.pk, watched=True)


def test_the_card_shows_the_series_and_the_alarm_stands_on_every_page(
    run: JudgeRun, umpire: Umpire, rex: User, sign_in: SignIn
) -> None:
    client, address = sign_in(rex), run.get_absolute_url()
    assert "it is due within minutes" in page(client, address)
    drift_checks.check(run.pk)
    umpire.turned = {*checked_texts(run)}
    drift_checks.check(run.pk)

    shown = page(client, address)
    assert "It may no longer be the judge it was." in shown
    assert "Repeated answers to compare with" in shown
    assert "Answers have changed" in shown
    assert 'class="chart__narrow"><svg' in shown.replace("> <svg", "><svg")
    study = f"/studies/{run.study_id}"
    for other in ("/home/", f"{study}/judges/", f"{study}/report/", f"{study}/monitor/"):
        assert "may no longer be the judge it was" in page(client, other)

    client.post(f"{address}watch/", {"wish": "end"})
    assert "Switch the check on" in page(client, address)
    assert "may no longer be" not in page(client, f"{study}/judges/")


def test_the_api_switches_the_check_and_lists_the_series(run: JudgeRun, rex: User) -> None:
    client = Client(headers={"Authorization": f"Bearer {credentials.create_token(rex, 'test')}"})
    drift_checks.check(run.pk)
    address = f"/api/studies/{run.study.code}/judges/{run.pk}"

    [row] = client.get(f"{address}/checks").json()["items"]
    assert (row["verdict"], row["agreement"], row["p"]) == ("repeated", 1.0, None)
    off = client.put(f"{address}/watch", {"watched": False}, content_type="application/json")
    assert (off.status_code, off.json()["watched"]) == (200, False)
    Item.objects.filter(repeated_answers__isnull=False).delete()
    refused = client.put(f"{address}/watch", {"watched": True}, content_type="application/json")
    assert refused.status_code == 409
    assert "needs 10 answers" in refused.content.decode()
