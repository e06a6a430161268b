"""How a study goes now, against people who were put where the page is to find them."""

import re
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.conftest import MakeQueue, MakeStudy, enter, start_dialogue
from tests.planted import SignIn, talked
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.bots.models import BotCopy
from turnwise.charts.templatetags.figures import seconds
from turnwise.crowd.entry import visits
from turnwise.crowd.entry.practice import practice_asks
from turnwise.crowd.models import Assignment, Outcome, Participation, Practice
from turnwise.crowd.pay.ledger import add_bonus, pay, unpaid_accounts
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.places.ending import complete, end
from turnwise.dialogues.models import Dialogue, Fault, Turn
from turnwise.monitoring.monitor import monitor
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

NOW = timezone.now()


def ago(**time: float) -> datetime:
    return NOW - timedelta(**time)


def seen(dialogue: Dialogue, *, began: datetime, last: datetime) -> Assignment:
    """The worker of this conversation got their place, and was last seen, at these times."""
    place = Assignment.objects.filter(seat__dialogue=dialogue)
    place.update(assigned_at=began, active_at=last)
    return place.get()


def test_everybody_is_where_they_are(short: Study) -> None:
    reading, never = enter(short), enter(short)
    Participation.objects.filter(pk=reading.pk).update(consented_at=ago(minutes=2))
    Participation.objects.filter(pk=never.pk).update(consented_at=ago(hours=3))
    for began in (ago(minutes=1), ago(hours=2)):  # one reads, one never said a word
        seen(start_dialogue(short), began=began, last=began)
    for last in (ago(minutes=1), ago(minutes=20), ago(hours=2)):  # at it, silent, lost
        seen(start_dialogue(short), began=ago(hours=3), last=last)
    failed = assign(enter(short).pk)
    complete(failed.pk, Outcome.BOT_FAILED, now=NOW)
    talked(short, [(True, True)])

    found = monitor(short, now=NOW)

    told = [(each.reached, each.here, each.lost) for each in found.stages]
    # 9 agreed: 2 without a place, 2 untouched, 1 whose bot failed before they wrote, 3 who wrote, 1 finished
    assert told == [(9, 0, 0), (9, 1, 1), (7, 1, 2), (4, 2, 1), (1, 0, 0)]
    assert [(each.of_all, each.loss) for each in found.stages[1:]] == [(100, 11), (78, 29), (44, 25), (11, 0)]
    assert [each.why for each in found.stages] == [
        "",
        "1 never pressed Start",
        "1 because the bot could not answer; 1 sent nothing",
        "1 silent for over an hour; 1 silent, their place is held",
        "",
    ]


def test_from_the_opened_link_to_the_pay(make_study: MakeStudy, rex: User) -> None:
    study = make_study(practice=True, pay_amount="2.00", pay_currency="EUR")
    for saw, times in (("admitted", 7), ("study_full", 2), ("odd_link", 1)):
        for _ in range(times):
            assert visits.count_visit(study, visits.visit_ticket(study, saw))
    assert not visits.count_visit(study, "9:admitted:made-up")
    people = [enter(study) for _ in range(6)]
    for each in people[2:]:  # two never practised; one of them left
        for own in practice_asks(study):
            Practice.objects.create(worker=each.worker, question_set=own.questions.key, passed_at=NOW)
    end(people[0].pk, Outcome.WITHDRAWN)
    Participation.objects.filter(pk=people[1].pk).update(consented_at=ago(hours=3))
    end(people[2].pk, Outcome.WITHDRAWN)  # who had practised
    for who, outcome in ((5, "complete"), (3, "complete"), (4, "timed_out")):
        begun = assign(people[who].pk)
        complete(begun.pk, Outcome(outcome), now=begun.assigned_at + timedelta(minutes=20))
        if who == 5:
            pay(study, total=Decimal("2.00"), by=rex)

    way = {each.title: each for each in monitor(study, now=NOW).stages}

    told = {title: (each.reached, each.lost, each.why) for title, each in way.items()}
    assert told == {
        "Opened the link": (
            10, 4,
            "2 found all places taken; 1 saw the consent page and did not agree; "
            "1 with a link that did not let them in",
        ),
        "Agreed to take part": (6, 2, "1 did not finish practice or qualification; 1 left the study"),
        "Practised or qualified": (4, 1, "1 left the study"),
        "Got a place": (3, 1, "1 ran out of time"),
        "Sent their first message": (2, 0, ""),
        "Finished": (2, 0, ""),
        "Paid": (1, 0, "1 of the finished are not paid yet"),
    }  # fmt: skip
    assert [each.of_all for each in way.values()] == [100, 60, 40, 30, 20, 20, 10]


def test_a_visit_counts_when_the_page_says_so_and_not_by_a_get(short: Study, client: Client) -> None:
    page = client.get(short.get_entry_url())
    ticket = re.search(r'name="visit" value="([^"]+)"', page.text)
    assert ticket
    assert visits.visit_counts(short) == {}

    assert client.post(f"/s/{short.code}/seen/", {"visit": ticket[1]}).status_code == 204

    assert visits.visit_counts(short) == {"admitted": 1}
    assert client.post(f"/s/{short.code}/seen/", {"visit": ticket[1] + "x"}).status_code == 422
    assert client.post(f"/s/{short.code}/seen/").status_code == 422
    refused = client.get(f"{short.get_entry_url()}?PROLIFIC_PID=x")
    assert refused.status_code >= 400
    assert 'name="visit"' in refused.text
    assert visits.visit_counts(short) == {"admitted": 1}


@pytest.mark.parametrize(
    ("fields", "turns", "messages"),
    [
        ({}, 4, 2),  # the opening of the bot, then worker, bot, worker
        ({"opening_speaker": "human", "opening_text": "Hello"}, 3, 1),  # scripted, bot, worker
        ({"opening_speaker": "human", "opening_text": ""}, 3, 2),  # worker, bot, worker
    ],
)
def test_how_much_those_had_written_who_stopped(
    make_study: MakeStudy, fields: dict[str, object], turns: int, messages: int
) -> None:
    study = make_study(min_turns=2, max_turns=8, **fields)
    dialogue = start_dialogue(study)
    for position in range(dialogue.turns, turns):
        Turn.objects.create(dialogue=dialogue, position=position, text="Well", created_at=NOW)
    Dialogue.objects.filter(pk=dialogue.pk).update(turns=turns)
    seen(dialogue, began=ago(hours=3), last=ago(hours=2))

    assert monitor(study, now=NOW).stopped == [(messages, 1)]


def test_the_bots_with_their_times_and_faults(short: Study) -> None:
    dialogue = talked(short, [(True, True)] * 3, latencies=[1000, 3000, 8000])
    for position in range(1, 7):  # each message 4 s after the reply before it, each reply at once
        with rewriting():
            Turn.objects.filter(dialogue=dialogue, position=position).update(
                created_at=NOW + timedelta(seconds=4 * ((position + 1) // 2))
            )
    Fault.objects.create(dialogue=dialogue, position=2, kind="Slow", at=ago(hours=1))
    Fault.objects.create(dialogue=dialogue, position=4, kind="Slow", at=ago(days=3))

    (bot,) = monitor(short, now=NOW).bots

    # percentile_cont(0.95) of 1, 3, 8: 3 + 0.9 · 5
    assert bot.times == pytest.approx((3.0, 7.5, 4.0))
    assert (bot.faults, bot.faults_lately, bot.finished, bot.open, bot.target) == (2, 1, 1, 0, 100)
    assert monitor(short, now=NOW).silent_bots == ["Scripty"]
    BotCopy.objects.create(
        bot=short.study_bots.get().bot,
        channel="x",
        host="h",
        state="ready",
        seen_at=Now() + timedelta(hours=1),
        health={},
    )
    assert monitor(short, now=NOW).silent_bots == []


def test_a_bot_that_has_all_that_is_wanted_is_no_alarm(make_study: MakeStudy) -> None:
    study = make_study({"ann": 1}, min_turns=2, max_turns=4)
    assert monitor(study, now=NOW).silent_bots == ["Ann"]
    talked(study, [(True, True)])

    assert monitor(study, now=NOW).silent_bots == []


def test_quick_replies_are_told_in_milliseconds(short: Study, rex: User, sign_in: SignIn) -> None:
    talked(short, [(True, True)] * 3, latencies=[2, 3, 4])

    page = sign_in(rex).get(f"/studies/{short.pk}/monitor/").content.decode()

    assert ">3\u00a0ms</td>" in page
    assert "0.00\u00a0s" not in page
    assert [seconds(each) for each in (0, 0.004, 0.0994, 0.1, 2.345)] == [
        "0\u00a0ms", "4\u00a0ms", "99\u00a0ms", "0.10\u00a0s", "2.35\u00a0s",
    ]  # fmt: skip


def test_a_judging_study_has_no_conversations_to_time(make_queue: MakeQueue) -> None:
    found = monitor(make_queue(2), now=NOW)

    assert (found.bots, found.stopped, found.judged_in, found.faults) == ([], [], None, [])
    assert [each.title for each in found.stages][3] == "Began the work"


def test_what_it_costs_is_what_the_ledger_says(make_study: MakeStudy, rex: User) -> None:
    study = make_study({"ann": 10}, pay_amount="2.50", pay_currency="EUR", expected_minutes=10)
    for outcome in (Outcome.COMPLETE, Outcome.BOT_FAILED):
        complete(assign(enter(study).pk).pk, outcome, now=NOW)
    pay(study, total=Decimal("5.00"), by=rex)
    begun = assign(enter(study).pk)  # 4 of the 10 minutes: 1.00, where pay times people says 2.50
    complete(begun.pk, Outcome.TIMED_OUT, now=begun.assigned_at + timedelta(minutes=4))
    Assignment.objects.filter(pk=begun.pk).update(active_at=begun.assigned_at)
    bonus = assign(enter(study).pk)
    complete(bonus.pk, Outcome.COMPLETE, now=NOW)
    add_bonus(bonus.participation_id, Decimal("0.30"), note="Well done", by=rex)

    spend = monitor(study, now=NOW).spend

    assert spend
    owed = sum(each.due for each in unpaid_accounts(study))  # the page of payments, person by person
    assert (spend.paid, spend.owed, spend.currency) == (Decimal("5.00"), owed, "EUR")
    # Two of ten conversations are complete; eight places at 2.50 are left.
    assert spend.full == Decimal("5.00") + owed + 20


def test_the_page_asks_little_and_is_anothers_secret(
    short: Study, rex: User, mallory: User, sign_in: SignIn
) -> None:
    for _ in range(3):
        dialogue = start_dialogue(short)
        Fault.objects.create(dialogue=dialogue, position=2, kind="BotLate", detail="Slow <b>", at=NOW)
    client, path = sign_in(rex), f"/studies/{short.pk}/monitor/"
    client.get(path)  # how far it is, is kept for some seconds

    with CaptureQueriesContext(connection) as asked:
        page = client.get(path).content.decode()

    assert len(asked) <= 15
    assert "<strong>Too late</strong>" in page
    assert "Slow &lt;b&gt;" in page
    assert "No worker gets these bots at the moment:" in page
    assert sign_in(mallory).get(path).status_code == 404
