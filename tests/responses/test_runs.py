"""A bot's run: each context answered once per repetition, whatever happens on the way."""

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from chatbots.hosting import requests
from tests.conftest import MakeVersion
from tests.responses.conftest import MakeRun
from turnwise.accounts.models import User
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot, BotVersion
from turnwise.live.jobs import RUNS, exclusive_lock
from turnwise.responses import services, tasks
from turnwise.responses.bot_jobs import SILENCE_TIMEOUT
from turnwise.responses.models import Response, ResponseFault, ResponseRun
from turnwise.responses.queries import progress
from turnwise.responses.tasks import answer_slice, seed_of

SignIn = Callable[[User], Client]

# The bot and the run's steps use connections of their own, which see only what is committed.
pytestmark = pytest.mark.django_db(transaction=True)


def places(run: ResponseRun) -> list[tuple[str, int]]:
    return sorted(run.responses.values_list("context__key", "repetition"))


def reread(run: ResponseRun) -> ResponseRun:
    return ResponseRun.objects.get(pk=run.pk)


def test_a_run_answers_every_context_in_every_repetition_once(make_run: MakeRun) -> None:
    run = make_run(3, repetitions=2)

    assert answer_slice(run.pk) is False

    assert places(run) == [("c1", 1), ("c1", 2), ("c2", 1), ("c2", 2), ("c3", 1), ("c3", 2)]
    assert reread(run).state == ResponseRun.State.DONE
    response = run.responses.first()
    assert response
    assert (response.text, response.author, response.bot_version) == ("Sure.", None, reread(run).bot_version)
    assert response.latency_ms is not None


def test_each_response_has_a_seed_that_the_run_gives_again() -> None:
    seeds = [
        seed_of(run, key, repetition) for run in (1, 2) for key in ("a", "b") for repetition in (1, 2, 11)
    ]

    assert len(set(seeds)) == 12
    assert all(0 <= seed < 2**31 for seed in seeds)
    # sha256("7\n1\nc1") begins with these four bytes; one bit is dropped: printf '7\n1\nc1' | sha256sum
    assert seed_of(7, "c1", 1) == 0x202708D6 >> 1


def test_the_seed_of_a_response_is_stored_with_it(make_run: MakeRun) -> None:
    run = make_run(2, seed=7)
    answer_slice(run.pk)

    stored = dict(run.responses.values_list("context__key", "seed"))
    assert stored == {"c1": seed_of(7, "c1", 1), "c2": seed_of(7, "c2", 1)}


def test_a_run_goes_on_where_a_slice_ended(make_run: MakeRun) -> None:
    run = make_run(4, seconds=0.05)

    slices = 1
    while answer_slice(run.pk, seconds=0.01):
        slices += 1

    assert slices > 1
    assert len(places(run)) == 4


def test_a_run_waits_longer_for_a_slow_bot_than_people_do(make_run: MakeRun, settings: Settings) -> None:
    settings.BOT_DEADLINE_SECONDS = 0.1
    run = make_run(2, seconds=0.4)

    assert answer_slice(run.pk) is False

    assert places(run) == [("c1", 1), ("c2", 1)]
    assert not ResponseFault.objects.exists()


def test_nobody_works_on_a_run_that_another_has(make_run: MakeRun) -> None:
    run = make_run(2)

    with exclusive_lock(RUNS, run.pk) as ours:
        assert ours
        assert answer_slice(run.pk) is False

    assert places(run) == []
    assert answer_slice(run.pk) is False
    assert len(places(run)) == 2


def test_a_response_that_is_there_already_stays(make_run: MakeRun) -> None:
    run = make_run(2)
    context = run.context_version.contexts.get(key="c1")
    Response.objects.create(run=run, context=context, text="First.", created_at=timezone.now())

    answer_slice(run.pk)

    assert dict(run.responses.values_list("context__key", "text")) == {"c1": "First.", "c2": "Sure."}


def test_the_database_refuses_a_second_response(make_run: MakeRun) -> None:
    run = make_run(1)
    answer_slice(run.pk)
    context = run.context_version.contexts.get()

    with pytest.raises(IntegrityError, match="response_once_per_repetition"), transaction.atomic():
        Response.objects.create(run=run, context=context, text="Again", created_at=timezone.now())


def test_a_response_that_failed_is_asked_for_again(make_run: MakeRun) -> None:
    run = make_run(3, fail_on=[1], fail_times=2)

    answer_slice(run.pk)

    assert len(places(run)) == 3
    assert reread(run).state == ResponseRun.State.DONE
    assert sum(run.faults.values_list("attempts", flat=True)) == 2


def test_a_response_that_keeps_failing_stops_the_run_until_somebody_takes_it_up(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "FAILURES_TO_OPEN", 100)  # as if others were answered in between
    run = make_run(2, fail_on=[1], fail_times=7)

    answer_slice(run.pk)

    # Two contexts, three attempts each: six of the seven failures are used up.
    stopped = reread(run)
    assert stopped.state == ResponseRun.State.FAILED
    assert "2 responses failed 3 times" in stopped.reason
    assert "Turn 1 was configured to fail" in run.faults.first().detail
    assert progress(stopped).given_up == 2

    assert services.retry(run.pk).state == ResponseRun.State.QUEUED
    answer_slice(run.pk)
    assert len(places(run)) == 2
    assert reread(run).state == ResponseRun.State.DONE


def test_a_bot_that_always_fails_stops_the_run_early(make_run: MakeRun) -> None:
    run = make_run(100, fail_on=[1])

    answer_slice(run.pk)

    stopped = reread(run)
    assert stopped.state == ResponseRun.State.FAILED
    assert "times in a row" in stopped.reason
    assert "Turn 1 was configured to fail" in stopped.reason
    assert run.faults.count() < 100


def test_a_bot_that_cannot_be_loaded_stops_the_run_with_its_error(make_run: MakeRun) -> None:
    run = make_run(30)
    Bot.objects.update(adapter="missing")

    answer_slice(run.pk)

    assert reread(run).state == ResponseRun.State.FAILED
    assert "No bot is registered as 'missing'" in reread(run).reason


def test_a_run_waits_for_a_bot_that_no_host_has_loaded_yet(make_run: MakeRun, settings: Settings) -> None:
    run = make_run(2)
    settings.BOTS_HERE = []

    assert answer_slice(run.pk) is True  # there is more to do

    assert reread(run).state == ResponseRun.State.RUNNING
    assert "Scripty is not hosted anywhere. Start a host for it" in reread(run).reason
    assert not ResponseFault.objects.exists()
    settings.BOTS_HERE = None
    assert answer_slice(run.pk) is False
    assert reread(run).state == ResponseRun.State.DONE
    assert len(places(run)) == 2


def test_a_bot_that_changes_on_the_way_stops_the_run(make_run: MakeRun) -> None:
    run = make_run(2)
    other = BotVersion.objects.create(bot=Bot.objects.get(), number=9, fingerprint="0" * 64, details={})
    ResponseRun.objects.filter(pk=run.pk).update(bot_version=other)

    answer_slice(run.pk)

    assert reread(run).state == ResponseRun.State.FAILED
    assert reread(run).reason.startswith("Scripty changed while it responded.")
    assert places(run) == []


def test_a_cancelled_run_keeps_what_it_has_and_can_be_taken_up(make_run: MakeRun) -> None:
    run = make_run(3, seconds=0.02)
    answer_slice(run.pk, seconds=0.01)
    had = len(places(run))

    assert services.cancel(run, now=timezone.now())
    assert answer_slice(run.pk) is False
    assert len(places(run)) == had < 3

    services.retry(run.pk)
    answer_slice(run.pk)
    assert len(places(run)) == 3


def test_cancelling_ends_a_slice_under_way(make_run: MakeRun) -> None:
    run = make_run(500, seconds=0.02)
    slices = threading.Thread(target=answer_slice, args=(run.pk,))
    slices.start()
    while not run.responses.exists():
        pass

    services.cancel(run, now=timezone.now())
    slices.join(120)

    assert not slices.is_alive()
    assert reread(run).state == ResponseRun.State.CANCELLED
    assert 0 < len(places(run)) < 500


def test_a_silent_bot_is_waited_for_and_then_given_up(make_run: MakeRun) -> None:
    run = make_run(1)
    now = timezone.now()
    assert services.begin(run.pk, now=now)
    run = reread(run)

    services.note_waiting(run, "It is still loading.", now=now + SILENCE_TIMEOUT)
    assert (reread(run).state, reread(run).reason) == (ResponseRun.State.RUNNING, "It is still loading.")

    services.note_waiting(run, "It is still loading.", now=now + SILENCE_TIMEOUT + timedelta(seconds=1))
    assert reread(run).state == ResponseRun.State.FAILED
    assert reread(run).reason == (
        "The bot gave no response for 15 minutes. Its last message: It is still loading."
    )


def test_the_remaining_time_follows_the_pace_of_the_last_minute(make_run: MakeRun) -> None:
    run = make_run(10)
    now = timezone.now()
    for context, seconds in zip(run.context_version.contexts.all(), (600, 20, 15, 10), strict=False):
        at = now - timedelta(seconds=seconds)
        Response.objects.create(run=run, context=context, text="Sure.", created_at=at)

    # Two more came in the 20 s since the first of the last minute: 0.1 a second, and six are lacking.
    assert progress(run, now=now).seconds_left == 60


@pytest.mark.parametrize("repetitions", [0, 8])
def test_a_run_has_one_to_seven_repetitions(make_run: MakeRun, repetitions: int) -> None:
    with pytest.raises(ValidationError, match="choose 1 to 7"):
        make_run(1, repetitions=repetitions)


def test_a_run_is_begun_and_read_through_its_pages(
    make_version: MakeVersion, rex: User, sign_in: SignIn
) -> None:
    version = make_version(2)
    bot = Bot.objects.create(
        name="s", title="Scripty", adapter="scripted", configuration={"replies": ["=1"]}, owner=rex
    )
    client = sign_in(rex)

    begun = client.post(
        "/responses/new/", {"context_version": version.pk, "bot": bot.pk, "repetitions": 1, "seed": ""}
    )
    run = ResponseRun.objects.get()
    assert begun.headers["Location"] == f"/responses/{run.pk}/"
    assert "Waiting to start" in client.get(begun.headers["Location"]).content.decode()
    before = client.get(f"{begun.headers['Location']}stamp/").json()["stamp"]
    answer_slice(run.pk)

    page = client.get(begun.headers["Location"]).content.decode()
    assert "Complete" in page
    assert "Question number 2?" in page
    assert client.get(f"{begun.headers['Location']}stamp/").json()["stamp"] != before
    exported = client.get(f"{begun.headers['Location']}responses.csv").content.decode().splitlines()
    assert [line.split(",")[:4] for line in exported[1:]] == [
        ["c1", "1", "'=1", "Scripty"],
        ["c2", "1", "'=1", "Scripty"],
    ]


def test_a_run_is_cancelled_and_taken_up_through_its_page(
    make_run: MakeRun, rex: User, sign_in: SignIn
) -> None:
    run, client = make_run(1), sign_in(rex)

    client.post(f"/responses/{run.pk}/cancel/")
    assert reread(run).state == ResponseRun.State.CANCELLED

    client.post(f"/responses/{run.pk}/retry/")
    assert reread(run).state == ResponseRun.State.QUEUED
    page = client.post(f"/responses/{run.pk}/retry/", follow=True)
    assert "there is nothing to continue" in page.content.decode()


def test_others_see_nothing_of_a_run(make_run: MakeRun, mallory: User, sign_in: SignIn) -> None:
    run, client = make_run(1), sign_in(mallory)

    for path in ("", "stamp/", "responses.csv", "responses.jsonl"):
        assert client.get(f"/responses/{run.pk}/{path}").status_code == 404
    for path in ("cancel/", "retry/"):
        assert client.post(f"/responses/{run.pk}/{path}").status_code == 404
    assert client.get("/responses/").context["runs"] == []
    form = {"context_version": run.context_version_id, "bot": run.bot_id, "repetitions": 1}
    assert client.post("/responses/new/", form).status_code == 422
    assert ResponseRun.objects.count() == 1
    assert reread(run).state == ResponseRun.State.QUEUED


def test_a_fault_is_kept_when_the_response_came_after_all(make_run: MakeRun) -> None:
    run = make_run(1, fail_on=[1], fail_times=1)
    answer_slice(run.pk)
    resident_bots.close()

    assert ResponseFault.objects.get().attempts == 1
    assert (progress(run).had, progress(run).failing) == (1, 0)


def test_a_run_is_sent_once_until_a_worker_takes_it(make_run: MakeRun) -> None:
    run = make_run(1)

    assert tasks.send(run.pk)
    assert not tasks.send(run.pk)
    tasks.answer(run.pk)  # what a worker does with the message

    assert reread(run).state == ResponseRun.State.DONE
    assert tasks.send(run.pk)


def test_only_runs_that_nobody_works_on_are_taken_up(make_run: MakeRun) -> None:
    run = make_run(2)
    services.begin(run.pk, now=timezone.now() - timedelta(hours=5))

    with exclusive_lock(RUNS, run.pk):
        tasks.take_up_runs()
    assert timezone.now() - reread(run).active_at > timedelta(hours=4)
    tasks.take_up_runs()

    # It lay still for hours, which must not count as the bot's silence.
    assert timezone.now() - reread(run).active_at < timedelta(minutes=1)
    assert not tasks.send(run.pk)
