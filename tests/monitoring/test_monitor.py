"""How a study goes now, against people who were put where the page is to find them."""

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from bots.models import BotCopy
from crowd.models import Assignment, Participation
from crowd.services import assign, complete
from dialogues.models import Dialogue, Fault, Turn
from monitoring.monitor import monitor
from studies.models import Study
from tests.conftest import MakeQueue, MakeStudy, enter, start_dialogue
from tests.planted import SignIn, talked

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
    complete(failed.pk, Assignment.Outcome.BOT_FAILED, now=NOW)
    talked(short, [(True, True)])

    found = monitor(short, now=NOW)

    told = [(each.reached, each.here, each.lost) for each in found.stages]
    # agreed: 2 without a place, 2 untouched, 3 who wrote, 1 whose bot failed, 1 finished
    assert told == [(9, 1, 1), (7, 1, 1), (5, 2, 2), (1, 0, 0)]
    assert [(each.of_all, each.loss) for each in found.stages] == [(100, 11), (78, 14), (56, 40), (11, 0)]
    assert found.stages[2].why == (
        "1 because the bot could not answer; 1 silent for over an hour; 1 silent, their place is held"
    )


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
        bot=short.study_bots.get().bot, channel="x", host="h", state="ready", seen_at=Now(), health={}
    )
    assert monitor(short, now=NOW).silent_bots == []


def test_a_judging_study_has_no_conversations_to_time(make_queue: MakeQueue) -> None:
    found = monitor(make_queue(2), now=NOW)

    assert (found.bots, found.stopped, found.judged_in, found.faults) == ([], [], None, [])
    assert [each.title for each in found.stages][2] == "Began the work"


def test_pay_is_due_to_whoever_is_through(make_study: MakeStudy) -> None:
    study = make_study(pay_amount="2.50", pay_currency="EUR")
    for outcome in (Assignment.Outcome.COMPLETE, Assignment.Outcome.BOT_FAILED):
        complete(assign(enter(study).pk).pk, outcome, now=NOW)
    start_dialogue(study)

    assert monitor(study, now=NOW).pay == "5.00 EUR"


def test_the_page_asks_little_and_is_anothers_secret(
    short: Study, rex: User, mallory: User, sign_in: SignIn
) -> None:
    for _ in range(3):
        dialogue = start_dialogue(short)
        Fault.objects.create(dialogue=dialogue, position=2, kind="Slow <b>", at=NOW)
    client, path = sign_in(rex), f"/studies/{short.pk}/monitor/"

    with CaptureQueriesContext(connection) as asked:
        page = client.get(path).content.decode()

    assert len(asked) <= 15
    assert "Slow &lt;b&gt;" in page
    assert "No worker gets these bots now:" in page
    assert sign_in(mallory).get(path).status_code == 404
