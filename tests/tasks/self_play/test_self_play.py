"""Bots that talk with each other: each turn said once, whatever happens on the way."""

import json
import os
import subprocess
import sys
import threading
import time
from datetime import timedelta
from urllib.parse import urlsplit, urlunsplit

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from chatbots.base import Setting
from chatbots.hosting import requests
from chatbots.replies import Response
from tests.conftest import MakeQueue
from tests.tasks.self_play.conftest import MakeSelfPlay, SignIn, is_whole, play, reread, said, scripted
from turnwise.accounts.models import User
from turnwise.bots.hosting import resident_bots
from turnwise.bots.hosting.client import Reply
from turnwise.bots.models import Bot, BotVersion
from turnwise.dialogues.models import Dialogue, Fault, Turn
from turnwise.dialogues.queries import setting_of
from turnwise.live.jobs import SELF_PLAY, exclusive_lock
from turnwise.responses.bot_jobs import SILENCE_TIMEOUT
from turnwise.responses.tasks import seed_of
from turnwise.studies.models import Study
from turnwise.studies.services import set_state
from turnwise.tasks.self_play import jobs, services
from turnwise.tasks.self_play.jobs import play_slice
from turnwise.tasks.self_play.models import SelfPlayed, SelfPlayPlan
from turnwise.tasks.self_play.queries import progress

# The bots and the steps of a slice use connections of their own, which see only what is committed.
pytestmark = pytest.mark.django_db(transaction=True)


# --- what is said ----------------------------------------------------------------------------------


def test_two_bots_alternate_and_take_turns_to_begin(
    make_self_play: MakeSelfPlay,
) -> None:
    plan = make_self_play(conversations=2)

    play(plan)

    ann, bob = "Ann says so.", "Bob says so."
    assert said(plan) == {1: ["Hi!", ann, bob, ann, bob], 2: ["Hi!", bob, ann, bob, ann]}
    assert is_whole(plan)
    dialogue = Dialogue.objects.get(self_played__number=1)
    assert [str(seat.bot) for seat in dialogue.seats.order_by("number")] == ["Bob", "Ann"]
    assert (dialogue.opening_turns, dialogue.turns, dialogue.bot_turns) == (1, 5, 4)
    assert (dialogue.due_0, dialogue.due_1, reread(plan).reason) == ([], [], "")


def test_a_turn_stores_what_is_needed_to_reproduce_it(make_self_play: MakeSelfPlay) -> None:
    plan = make_self_play(conversations=1)
    play(plan)

    plan, turns = reread(plan), list(Turn.objects.order_by("position"))
    assert [turn.seed for turn in turns] == [
        None,
        *(seed_of(7, f"1.{position}", 1) for position in range(1, 5)),
    ]
    versions = [turn.bot_version_id for turn in turns[1:]]
    assert versions == [plan.first_version_id, plan.second_version_id] * 2
    assert None not in versions
    assert all(turn.latency_ms is not None for turn in turns[1:])


def test_a_bot_that_talks_with_itself_gives_the_first_turn(make_self_play: MakeSelfPlay) -> None:
    replies = ["First.", "Second.", "Third."]  # the n-th turn that the bot answers, as it sees it
    plan = make_self_play(
        conversations=1, utterances=5, alone=True, opener="own", script={"replies": replies}
    )

    play(plan)

    # The opening is answered and not kept; each side then counts the turns of the other.
    assert said(plan) == {1: ["First.", "First.", "First.", "Second.", "Second."]}
    assert is_whole(plan)
    assert Dialogue.objects.get().opening_turns == 0


def test_a_service_gets_one_session_for_each_seat_of_a_bot_that_talks_with_itself(
    make_self_play: MakeSelfPlay,
) -> None:
    plan = make_self_play(conversations=1, alone=True)
    (first,) = services.due(plan, limit=1, excluded=[])
    names = {services.context_of(plan, first).dialogue}
    play(plan)

    names |= {f"{first.public_id}.{seat}" for seat in (0, 1)}
    assert names == {f"{first.public_id}.0", f"{first.public_id}.1"}


# --- slices, failures, ends ------------------------------------------------------------------------


def test_conversations_continue_after_the_end_of_a_slice(make_self_play: MakeSelfPlay) -> None:
    plan = make_self_play(conversations=2, script={"seconds": 0.02})

    slices = 1
    while play_slice(plan.pk, seconds=0.03):
        slices += 1

    assert slices > 1
    assert is_whole(plan)
    assert not Fault.objects.exists()


def test_a_process_that_is_killed_loses_and_doubles_nothing(make_self_play: MakeSelfPlay) -> None:
    plan = make_self_play(conversations=8, utterances=10, script={"seconds": 0.02})
    database = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{settings.DATABASES['default']['NAME']}")
    code = (
        "import django; django.setup(); "
        f"from turnwise.tasks.self_play.jobs import play_slice; play_slice({plan.pk})"
    )
    environment = {
        "DATABASE_URL": urlunsplit(database), "DJANGO_SETTINGS_MODULE": "turnwise.project.settings",
        "PYTHONPATH": os.pathsep.join([str(settings.ROOT / "platform"), str(settings.ROOT)]),
    }  # fmt: skip
    process = subprocess.Popen([sys.executable, "-c", code], env=os.environ | environment)
    while Turn.objects.filter(bot_version__isnull=False).count() < 20:
        assert process.poll() is None
        time.sleep(0.01)

    process.kill()
    process.wait(120)
    kept = dict(Turn.objects.values_list("pk", "created_at"))
    assert not is_whole(plan)
    play(plan)

    assert is_whole(plan)
    assert dict(Turn.objects.filter(pk__in=kept).values_list("pk", "created_at")) == kept


def test_only_one_process_works_on_a_study(make_self_play: MakeSelfPlay) -> None:
    plan = make_self_play()

    with exclusive_lock(SELF_PLAY, plan.pk):
        assert play_slice(plan.pk) is False

    assert not SelfPlayed.objects.exists()
    play(plan)
    assert is_whole(plan)


def test_a_stored_turn_is_not_replaced(make_self_play: MakeSelfPlay) -> None:
    plan = make_self_play(conversations=1, utterances=2)
    (due,) = services.due(plan, limit=1, excluded=[])
    play(plan)
    reply = Reply(Response("Too late."), reread(plan).first_version_id or 0, latency_ms=1, seed=1)

    services.record(plan, [services.AnsweredTurn(due, reply)], [], now=timezone.now())

    assert said(plan) == {1: ["Hi!", "Ann says so.", "Bob says so."]}


def test_a_failed_turn_is_tried_again(make_self_play: MakeSelfPlay) -> None:
    plan = make_self_play(alone=True, script={"fail_on": [2], "fail_times": 2})

    play(plan)

    assert is_whole(plan)
    assert Fault.objects.count() == 2
    assert progress(plan).failing == 0


def test_a_turn_that_keeps_failing_is_given_up_until_the_study_is_reopened(
    make_self_play: MakeSelfPlay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "FAILURES_TO_OPEN", 100)  # as if others were answered in between
    plan = make_self_play(conversations=2, alone=True, script={"fail_on": [1], "fail_times": 7})

    play(plan)

    # Two conversations, three attempts each: six of the seven failures are used up.
    assert reread(plan).study.state == Study.State.CLOSED
    assert reread(plan).reason == "2 conversations could not continue: a turn failed 3 times."
    assert (progress(plan).given_up, progress(plan).ended) == (2, 0)
    set_state(plan.study_id, Study.State.OPEN)
    play(plan)
    assert is_whole(plan)
    assert reread(plan).reason == ""


def test_a_bot_that_always_fails_stops_the_study_early(make_self_play: MakeSelfPlay) -> None:
    plan = make_self_play(conversations=100, script={"fail_on": [1]})

    play(plan)

    assert reread(plan).study.state == Study.State.CLOSED
    assert "times in a row" in reread(plan).reason
    assert "Turn 1 was configured to fail" in reread(plan).reason


def test_a_silent_bot_ends_the_conversation_and_is_counted(make_self_play: MakeSelfPlay) -> None:
    wanted = 8  # three attempts each: more silences in a row than broken bots are allowed failures
    plan = make_self_play(conversations=wanted, alone=True, script={"replies": ["Well.", " "]})

    play(plan)

    found = progress(plan)
    # Each side answers once; the third turn is the second of the side that began, and says nothing.
    assert said(plan) == {number: ["Hi!", "Well.", "Well."] for number in range(1, wanted + 1)}
    assert (found.silent, found.ended, found.wanted, found.turns) == (wanted, wanted, wanted, 2 * wanted)
    assert set(Dialogue.objects.values_list("ending", flat=True)) == {Dialogue.Ending.BOT_FAILED}
    assert (reread(plan).study.state, reread(plan).reason) == (Study.State.CLOSED, "")


def test_endless_repetition_is_no_error_but_is_counted(make_self_play: MakeSelfPlay) -> None:
    again = "I like long walks on the beach."
    plan = make_self_play(conversations=2, utterances=6, alone=True, script={"replies": [again]})

    play(plan)

    # Of six equal turns of seven words five repeat an earlier one; "Hi!" is too short to count.
    assert list(plan.played.values_list("repeated", flat=True)) == [5, 5]
    found = progress(plan)
    assert (found.repeats, found.of_turns, found.in_circles) == (10, 12, 2)


def test_short_answers_do_not_count_as_repetition(make_self_play: MakeSelfPlay) -> None:
    plan = make_self_play(conversations=1)
    play(plan)

    assert (progress(plan).repeats, progress(plan).in_circles) == (0, 0)


def test_candidates_are_stored_as_in_any_other_conversation(make_self_play: MakeSelfPlay) -> None:
    plan = make_self_play(alone=True)
    adapter = {"adapter": "meena-base", "configuration": {"samples": 3}}
    Bot.objects.filter(pk=plan.first_id).update(**adapter)

    play(plan)

    turn = Turn.objects.filter(candidates__isnull=False).first()
    assert turn
    assert turn.candidates
    assert [set(each) for each in turn.candidates] == [{"text", "score"}] * len(turn.candidates)


def test_a_bot_that_changes_during_the_study_stops_it(make_self_play: MakeSelfPlay) -> None:
    plan = make_self_play()
    other = BotVersion.objects.create(bot=plan.first, number=9, fingerprint="0" * 64, details={})
    SelfPlayPlan.objects.update(first_version=other)

    play(plan)

    assert reread(plan).study.state == Study.State.CLOSED
    assert reread(plan).reason.startswith("Ann changed while it talked.")


def test_closing_ends_a_running_slice_and_reopening_continues(make_self_play: MakeSelfPlay) -> None:
    plan = make_self_play(conversations=50, script={"seconds": 0.01})
    slices = threading.Thread(target=play_slice, args=(plan.pk,))
    slices.start()
    while not Turn.objects.exists():
        time.sleep(0.01)

    set_state(plan.study_id, Study.State.CLOSED)
    slices.join(120)
    had = Turn.objects.count()
    assert not slices.is_alive()
    assert reread(plan).study.state == Study.State.CLOSED
    assert play_slice(plan.pk) is False
    assert Turn.objects.count() == had < 250

    resident_bots.close()
    Bot.objects.update(configuration={"replies": ["Sure."]})
    SelfPlayPlan.objects.update(first_version=None, second_version=None)
    set_state(plan.study_id, Study.State.OPEN)
    play(plan)
    assert is_whole(plan)


def test_an_unavailable_bot_is_retried_and_then_given_up(make_self_play: MakeSelfPlay) -> None:
    plan, now = make_self_play(), timezone.now()
    services.note_recovery(plan.pk, now=now)

    services.note_waiting(plan, "It is still loading.", now=now + SILENCE_TIMEOUT)
    assert (reread(plan).study.state, reread(plan).reason) == (Study.State.OPEN, "It is still loading.")

    services.note_waiting(plan, "It is still loading.", now=now + SILENCE_TIMEOUT + timedelta(seconds=1))
    assert reread(plan).study.state == Study.State.CLOSED
    assert reread(plan).reason == (
        "No bot has said anything for 15 minutes. The last error: It is still loading."
    )


def test_starting_sends_a_job_and_the_timer_sends_it_again_if_it_is_lost(
    make_self_play: MakeSelfPlay,
) -> None:
    plan = make_self_play()

    assert not jobs.send(plan.pk)  # opening the study has sent one
    jobs.play(plan.pk)  # what a worker does with the message
    assert is_whole(plan)
    set_state(plan.study_id, Study.State.OPEN)
    jobs._SLICES.mark_received(plan.pk)  # taken by a worker that dies
    jobs.take_up()
    assert not jobs.send(plan.pk)


# --- pages, and what others do with it -------------------------------------------------------------


def test_the_page_shows_progress_and_quality(
    make_self_play: MakeSelfPlay, rex: User, sign_in: SignIn
) -> None:
    plan, client = make_self_play(start=False), sign_in(rex)
    address = f"/studies/{plan.study_id}/"
    assert "Start</button>" in client.get(address).content.decode()

    page = client.post(f"{address}state/", {"state": "open"}, follow=True).content.decode()
    assert "0 of 3" in page
    assert "Stop</button>" in page
    before = client.get(f"{address}self-play/stamp/").json()["stamp"]
    play(plan)

    page = client.get(address).content.decode()
    assert "3 of 3" in page
    # 1 and 3 begin alike; 2 says the same from the second turn on, so all pairs share three and none five.
    assert page.count("3 of 3 (100.0&nbsp;%)") == 1
    assert "0 of 3 (0.0&nbsp;%)" in page
    assert client.get(f"{address}self-play/stamp/").json()["stamp"] != before
    assert "3 of 3" in client.get("/studies/").content.decode()
    assert "No results yet" in client.get(f"{address}report/").content.decode()
    transcripts = client.get(f"{address}dialogues/").content.decode()
    assert transcripts.count("Ann, Bob") + transcripts.count("Bob, Ann") == 3
    dialogue = Dialogue.objects.get(self_played__number=1)
    transcript = client.get(f"/dialogues/{dialogue.public_id}/").content.decode()
    assert "1</a> · Ann" in transcript
    assert "2</a> · Bob" in transcript
    assert "Not labelled" not in transcript


def test_the_plan_is_fixed_once_the_study_has_started(
    make_self_play: MakeSelfPlay, rex: User, sign_in: SignIn
) -> None:
    plan = make_self_play()

    sent = {"title": "Bots 2", "languages": "en", "self_play-conversations": 9, "self_play-utterances": 40}
    assert sign_in(rex).post(f"/studies/{plan.study_id}/edit/", sent).status_code == 302

    plan = reread(plan)
    assert (plan.study.title, plan.conversations, plan.utterances) == ("Bots 2", 3, 4)
    assert (plan.study.min_turns, plan.study.opening_text) == (4, "Hi!")


def test_the_form_gives_bots_a_scenario_and_a_persona(rex: User, sign_in: SignIn) -> None:
    ann = scripted("Ann")
    plan = {"first": ann.pk, "second": ann.pk, "opener": "text", "opening_text": "Hi!", "seed": 7}
    plan |= {"conversations": 1, "utterances": 2}
    sent = {f"self_play-{name}": value for name, value in plan.items()} | {"title": "Bots", "languages": "en"}
    browser = sign_in(rex)

    form = browser.get("/studies/new/?task=self_play").content.decode()
    made = browser.post("/studies/new/?task=self_play", sent | {"scenario": "A tea shop", "persona": "Two"})

    assert "They read it under" not in form  # no people take part
    assert made.status_code == 302
    study = Study.objects.get()
    assert setting_of(study) == Setting("English", "A tea shop", "Two")
    assert "A tea shop" in browser.get(f"/studies/{study.pk}/").content.decode()


@pytest.mark.parametrize(
    ("fields", "said_of_it"),
    [
        ({"opening_text": ""}, "A text that is the first turn cannot be empty."),
        ({"utterances": 1}, "greater than or equal to 2"),
        ({"conversations": 0}, "greater than or equal to 1"),
        ({"conversations": 10_001}, "less than or equal to 10000"),
        ({"second": 999}, "Select a valid choice"),
    ],
)
def test_an_impossible_plan_is_refused_with_advice(
    rex: User, sign_in: SignIn, fields: dict[str, object], said_of_it: str
) -> None:
    ann = scripted("Ann")
    plan = {"first": ann.pk, "second": ann.pk, "opener": "text", "opening_text": "Hi!", "seed": 7}
    plan |= {"conversations": 3, "utterances": 4} | fields
    sent = {f"self_play-{name}": value for name, value in plan.items()} | {"title": "Bots", "languages": "en"}

    refused = sign_in(rex).post("/studies/new/?task=self_play", sent)

    assert refused.status_code == 422
    assert said_of_it in refused.content.decode()
    assert not Study.objects.exists()


def test_an_odd_number_of_turns_fits(make_self_play: MakeSelfPlay) -> None:
    plan = make_self_play(conversations=1, utterances=3)
    play(plan)

    assert is_whole(plan)


def test_a_bot_that_is_switched_off_cannot_be_started(
    make_self_play: MakeSelfPlay, rex: User, sign_in: SignIn
) -> None:
    plan = make_self_play(start=False)
    Bot.objects.filter(name="bob").update(active=False)

    page = sign_in(rex).post(f"/studies/{plan.study_id}/state/", {"state": "open"}, follow=True)

    assert "Bob is switched off." in page.content.decode()
    assert reread(plan).study.state == Study.State.DRAFT


def test_workers_cannot_enter(make_self_play: MakeSelfPlay, client: Client) -> None:
    plan = make_self_play()

    entered = client.get(plan.study.get_entry_url())

    assert entered.status_code == 404
    assert "does not lead to a study" in entered.content.decode()


def test_other_users_cannot_see_the_study(
    make_self_play: MakeSelfPlay, mallory: User, sign_in: SignIn
) -> None:
    plan, client = make_self_play(), sign_in(mallory)

    for path in ("", "self-play/stamp/", "self-play/conversations.jsonl", "dialogues/"):
        assert client.get(f"/studies/{plan.study_id}/{path}").status_code == 404


def test_its_conversations_and_turns_are_judged(
    make_self_play: MakeSelfPlay, make_queue: MakeQueue, rex: User, sign_in: SignIn
) -> None:
    plan = make_self_play()
    play(plan)
    wholes = make_queue(question_set="likert", title="Judge whole conversations")
    of_turns = make_queue()
    client = sign_in(rex)
    form = {"source": plan.study_id, "language": "en", "conversations": ""}

    client.post(f"/studies/{of_turns.pk}/queue/add/", form | {"subject": "turn"})
    client.post(f"/studies/{wholes.pk}/queue/add/", form | {"subject": "dialogue"})

    assert of_turns.items.filter(turn__isnull=False).count() == 3 * 4  # the opening is not judged
    systems = [row.system for row in client.get(f"/studies/{of_turns.pk}/queue/").context["systems"]]
    assert systems == ["Ann", "Bob"]
    assert wholes.items.filter(dialogue__isnull=False).count() == 3


def test_its_file_is_imported_as_the_same_conversations(
    make_self_play: MakeSelfPlay, rex: User, sign_in: SignIn
) -> None:
    plan, client = make_self_play(), sign_in(rex)
    play(plan)

    sent = client.get(f"/studies/{plan.study_id}/self-play/conversations.jsonl")
    lines = sent.getvalue()

    rows = [json.loads(line) for line in lines.splitlines()]
    assert [row["number"] for row in rows] == [1, 2, 3]
    assert {row["ending"] for row in rows} == {"complete"}
    told = {row["number"]: [turn["text"] for turn in row["turns"]] for row in rows}
    assert told == said(plan)
    client.post("/studies/new/", conversation_form())
    into = Study.objects.get(title="Elsewhere")
    upload = SimpleUploadedFile("bots.jsonl", lines)
    page = client.post(f"/studies/{into.pk}/imports/upload/", {"file": upload}, follow=True).content.decode()
    assert "Import 3 conversations" in page


def conversation_form() -> dict[str, object]:
    return {
        "title": "Elsewhere", "languages": "en", "consent_text": "Yes?", "pay_amount": "0",
        "pay_currency": "EUR",
        "expected_minutes": "5", "opening_speaker": "bot", "opening_text": "Hi!", "min_turns": "4",
        "max_turns": "8", "asks-rows": "1", "asks-0-question_set": "ssa",
        "asks-0-when": "partner_turn:each_turn", "asks-0-required": "on", "bots-TOTAL_FORMS": "0",
        "bots-INITIAL_FORMS": "0",
    }  # fmt: skip


def test_its_page_offers_no_rehearsal_and_says_how_to_try_it_on_a_small_scale(
    make_self_play: MakeSelfPlay, rex: User, sign_in: SignIn
) -> None:
    study, client = make_self_play(start=False).study, sign_in(rex)

    page = client.get(f"/studies/{study.pk}/").content.decode()

    assert "/rehearsal/" not in page
    assert "make a copy, set it to 2 conversations" in page
    assert client.get(f"/studies/{study.pk}/rehearsal/").headers["Location"] == f"/studies/{study.pk}/"
    set_state(study.pk, Study.State.OPEN)
    assert "2 conversations" not in client.get(f"/studies/{study.pk}/").content.decode()
