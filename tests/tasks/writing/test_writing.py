"""People write responses: each context as often as wanted, each by another worker, and nothing is lost."""

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from channels.routing import URLRouter
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.utils import timezone

from tests.conftest import PATIENCE, MakeQueue, MakeVersion, MakeWriting, enter
from turnwise.accounts.models import User
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.crowd.models import Assignment, Outcome, Participation
from turnwise.crowd.places.ending import end
from turnwise.crowd.places.reservation import HOLD
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.judging.items import subjects
from turnwise.live.frames import RefusedError
from turnwise.project.sockets import websocket_urlpatterns
from turnwise.reports.services import stale_studies
from turnwise.responses.models import Response, ResponseRun, WritingPlace
from turnwise.studies.models import Study
from turnwise.studies.queries import counts_of
from turnwise.studies.services import save_study, set_state
from turnwise.tasks.writing import services as writing
from turnwise.tasks.writing.services import WriterContext
from turnwise.tasks.writing.task import Writing

SignIn = Callable[[User], Client]


def begin(study: Study) -> Assignment:
    return writing.begin(enter(study).pk)


def desk_of(assignment: Assignment) -> WriterContext:
    participation = assignment.participation
    return writing.find_writer_context(participation.study.code, participation.worker_id)


def write(assignment: Assignment, text: str = "") -> str:
    """Answer the context at hand with something of one's own, and finish after the last; returns its key."""
    place = writing.hold_place(assignment)
    assert place
    key = place.context.key
    desk = desk_of(assignment)
    written = writing.write(desk, key=key, text=text or f"My own answer to {key}, {assignment.pk}")
    if written.progress["may_finish"]:
        writing.finish(desk)
    return key


def outcome_of(assignment: Assignment) -> str:
    return Assignment.objects.get(pk=assignment.pk).outcome


def browser(assignment: Assignment) -> Client:
    client = Client()
    client.cookies[COOKIE] = signed(assignment.participation)
    return client


@pytest.mark.django_db
def test_the_context_of_a_worker_who_left_is_free_at_once(make_writing: MakeWriting) -> None:
    study = make_writing(1, batch=1)
    mallory, place = begin(study), writing.hold_place

    end(mallory.participation_id, Outcome.WITHDRAWN)
    wanda = begin(study)

    assert place(wanda)
    assert write(wanda)
    assert outcome_of(wanda) == Outcome.COMPLETE


@pytest.mark.django_db
def test_a_worker_is_done_after_their_share(make_writing: MakeWriting) -> None:
    study = make_writing(3, batch=2)
    wanda = begin(study)

    keys = {write(wanda), write(wanda)}

    assert len(keys) == 2
    assert outcome_of(wanda) == Outcome.COMPLETE
    run = ResponseRun.objects.get()
    assert (run.source, run.system, run.state) == ("person", "People", "running")
    assert set(run.responses.values_list("author", flat=True)) == {wanda.participation_id}
    assert not run.responses.filter(bot_version__isnull=False).exists()


@pytest.mark.django_db
def test_the_last_worker_is_done_when_nothing_is_left(make_writing: MakeWriting) -> None:
    study = make_writing(3, batch=2)
    first, second = begin(study), begin(study)
    for _ in range(2):
        write(first)

    write(second)

    assert outcome_of(second) == Outcome.COMPLETE
    assert ResponseRun.objects.get().state == ResponseRun.State.DONE
    assert counts_of([study]) == {study.pk: (3, 3)}
    with pytest.raises(EntryRefusedError, match="nothing left"):
        begin(study)
    assert Assignment.objects.count() == 2


@pytest.mark.django_db
def test_responses_to_one_context_come_from_different_workers(make_writing: MakeWriting) -> None:
    study = make_writing(2, responses=2, batch=4)
    workers = [begin(study), begin(study)]

    for worker in workers:
        assert {write(worker), write(worker)} == {"c1", "c2"}
        assert outcome_of(worker) == Outcome.COMPLETE

    places = sorted(Response.objects.values_list("context__key", "repetition"))
    assert places == [("c1", 1), ("c1", 2), ("c2", 1), ("c2", 2)]


@pytest.mark.django_db
def test_a_context_stays_with_the_worker_until_it_is_answered(make_writing: MakeWriting) -> None:
    wanda = begin(make_writing(50))

    keys = set()
    for _ in range(3):
        place = writing.hold_place(wanda)
        assert place
        keys.add(place.context.key)

    assert len(keys) == 1


@pytest.mark.django_db
def test_the_context_of_a_silent_worker_goes_to_the_next(make_writing: MakeWriting) -> None:
    study = make_writing(1)
    silent = begin(study)
    with pytest.raises(EntryRefusedError):
        begin(study)
    Assignment.objects.filter(pk=silent.pk).update(active_at=timezone.now() - HOLD - timedelta(seconds=1))

    write(begin(study))

    with pytest.raises(RefusedError, match="given_away"):
        writing.write(desk_of(silent), key="c1", text="Late but mine")
    assert Response.objects.count() == 1
    assert writing.state(desk_of(silent))["is_over"]
    assert outcome_of(silent) == Outcome.TIMED_OUT


@pytest.mark.django_db
def test_the_same_text_sent_twice_is_stored_once(make_writing: MakeWriting) -> None:
    wanda = begin(make_writing(3))
    key = write(wanda, "Only once, please")

    again = writing.write(desk_of(wanda), key=key, text=" Only once, please\n")

    assert again.progress == {"done": 1, "size": 2, "may_finish": False}
    assert Response.objects.get().text == "Only once, please"


@pytest.mark.django_db
def test_a_response_can_be_changed_until_it_is_judged_or_the_work_is_finished(
    make_writing: MakeWriting, make_queue: MakeQueue
) -> None:
    wanda = begin(make_writing(3))
    key = write(wanda, "A first thought")
    version = Study.objects.get().results_version

    writing.write(desk_of(wanda), key=key, text="A better thought")

    assert Response.objects.get().text == "A better thought"
    assert Study.objects.get().results_version > version
    shown = writing.state(desk_of(wanda))
    assert [(each["key"], each["text"]) for each in shown["written"]] == [(key, "A better thought")]
    with pytest.raises(RefusedError, match="like an assistant"):
        writing.write(desk_of(wanda), key=key, text="As an AI I have no thoughts")
    with pytest.raises(RefusedError, match="unwritten"):
        writing.finish(desk_of(wanda))

    subjects.add_responses(make_queue(), ResponseRun.objects.get())
    with pytest.raises(RefusedError, match="judged_already"):
        writing.write(desk_of(wanda), key=key, text="A third thought")
    write(wanda)
    with pytest.raises(RefusedError, match="finished"):
        writing.write(desk_of(wanda), key=key, text="A fourth thought")
    assert Response.objects.filter(text="A better thought").exists()


@pytest.mark.django_db(transaction=True)
def test_many_at_once_write_each_context_exactly_as_often_as_wanted(make_writing: MakeWriting) -> None:
    study = make_writing(10, responses=3, batch=5)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            worker = begin(study)
            while outcome_of(worker) == "":
                write(worker)
        except EntryRefusedError:
            pass  # as many are there as are needed
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    places = list(Response.objects.values_list("context__key", "repetition"))
    assert sorted(places) == sorted((f"c{n}", repetition) for n in range(1, 11) for repetition in (1, 2, 3))
    authors = list(Response.objects.values_list("context", "author"))
    assert len(set(authors)) == 30
    assert not WritingPlace.objects.exists()


@pytest.mark.django_db
def test_a_worker_goes_through_the_pages_to_the_completion_code(make_writing: MakeWriting) -> None:
    study = make_writing(2, batch=2, turns=[("Do you paint?",), ("Hi", "Hello", "How are you?")])
    client = Client()
    start = study.get_entry_url()

    welcome = client.get(start).content.decode()
    assert "Write what you would say" in welcome
    assert "chatbot, not to a person" not in welcome
    client.post(f"{start}consent/", {"agree": "yes", "consent": "1"})
    assert "Start writing" in client.get(f"{start}instructions/").content.decode()
    assert client.post(f"{start}write/start/").headers["Location"] == f"{start}write/"
    page = client.get(f"{start}write/")
    assert page.context["settings"]["socket"] == f"/ws/writing/{study.code}/"
    wanda = Assignment.objects.get()
    write(wanda, "Something\nof mine")
    write(wanda)

    done = client.get(f"{start}write/", follow=True).content.decode()
    assert "All your responses are saved." in done
    assert Participation.objects.get().completion_code in done
    assert Response.objects.filter(text="Something\nof mine").exists()
    assert client.get(start).headers["Location"] == f"{start}thanks/"


class Tab(ApplicationCommunicator):
    """A browser tab of a worker who writes: speaks frames through the real consumer."""

    def __init__(self, study: Study, cookie: str) -> None:
        scope = {
            "type": "websocket",
            "path": f"/ws/writing/{study.code}/",
            "headers": [(b"cookie", f"{COOKIE}={cookie}".encode())],
            "subprotocols": [],
        }
        super().__init__(URLRouter(websocket_urlpatterns), scope)

    async def told(self) -> dict[str, Any]:
        message = await self.receive_output(timeout=PATIENCE)
        assert message["type"] == "websocket.send", message
        return json.loads(message["text"])

    async def opened(self) -> dict[str, Any]:
        await self.send_input({"type": "websocket.connect"})
        assert (await self.receive_output(timeout=PATIENCE))["type"] == "websocket.accept"
        return await self.told()

    async def say(self, **frame: Any) -> dict[str, Any]:
        await self.send_input({"type": "websocket.receive", "text": json.dumps(frame), "bytes": None})
        return await self.told()

    async def closed(self) -> None:
        await self.send_input({"type": "websocket.disconnect", "code": 1005})
        await self.wait(timeout=PATIENCE)


@pytest.mark.django_db(transaction=True)
async def test_a_worker_writes_goes_back_and_finishes_over_the_socket(make_writing: MakeWriting) -> None:
    study = await sync_to_async(make_writing)(3, batch=2)
    wanda = await sync_to_async(begin)(study)
    tab = Tab(study, await sync_to_async(lambda: signed(wanda.participation))())

    first = await tab.opened()
    (item,) = first["items"]
    assert (first["written"], first["progress"]) == ([], {"done": 0, "size": 2, "may_finish": False})
    for wrong, reason in (
        ({"item": item["key"], "text": "As an AI I have no kitchen"}, "unfit"),
        ({"item": item["key"], "text": " \n "}, "unfit"),
        ({"item": item["key"], "text": "NUL\x00"}, "unfit"),
        ({"item": item["key"]}, "malformed"),
        ({"item": 7, "text": "Hello"}, "malformed"),
    ):
        assert (await tab.say(type="write", **wrong))["reason"] == reason
    refused = await tab.say(type="write", item="c99", text="Hello")
    assert (refused["reason"], (await tab.told())["items"]) == ("given_away", [item])
    assert await Response.objects.acount() == 0

    saved = await tab.say(type="write", item=item["key"], text="I would say hello")
    (second,) = saved["items"]
    assert (saved["type"], saved["item"], saved["progress"]["done"]) == ("written", item["key"], 1)
    changed = await tab.say(type="write", item=item["key"], text="I would say good day")
    assert (changed["items"], changed["progress"]["done"]) == ([second], 1)
    assert (await tab.say(type="finish"))["reason"] == "unwritten"
    await tab.told()  # the state after it
    last = await tab.say(type="write", item=second["key"], text="And then good night")
    assert (last["items"], last["progress"]["may_finish"]) == ([], True)
    over = await tab.say(type="finish")

    assert over["finished"] == f"/s/{study.code}/thanks/"
    assert await sync_to_async(outcome_of)(wanda) == Outcome.COMPLETE
    assert [each["text"] for each in over["written"]] == ["I would say good day", "And then good night"]
    await tab.closed()


@pytest.mark.django_db(transaction=True)
async def test_another_workers_session_is_refused(make_writing: MakeWriting) -> None:
    study = await sync_to_async(make_writing)(3)
    await sync_to_async(begin)(study)
    late = await sync_to_async(enter)(study)  # consented, and has not begun

    for cookie in ("", await sync_to_async(signed)(late)):
        tab = Tab(study, cookie)
        assert (await tab.opened())["type"] == "refused"
        await tab.closed()


@pytest.mark.django_db
def test_nobody_writes_without_having_entered(make_writing: MakeWriting) -> None:
    study = make_writing(3)

    assert Client().get(f"{study.get_entry_url()}write/").status_code == 401
    assert Client().post(f"{study.get_entry_url()}write/").status_code == 405
    assert Client().post(f"{study.get_entry_url()}write/start/").status_code == 401


@pytest.mark.django_db
def test_a_full_study_says_so_before_consent(make_writing: MakeWriting) -> None:
    study = make_writing(2, batch=2)
    assert "agree to take part" in Client().get(study.get_entry_url()).content.decode()
    wanda, late = begin(study), enter(study)
    write(wanda)

    page = Client().get(study.get_entry_url()).content.decode()
    assert "try again in an hour" in page
    write(wanda)

    page = Client().get(study.get_entry_url()).content.decode()
    assert "All places are taken" in page
    assert "in an hour" not in page
    with pytest.raises(EntryRefusedError, match="nothing left"):
        writing.begin(late.pk)


@pytest.mark.django_db
def test_a_worker_who_comes_while_others_write_the_rest_may_return_later(make_writing: MakeWriting) -> None:
    study = make_writing(1, batch=1)
    begin(study)

    with pytest.raises(EntryRefusedError, match="doing what is left") as refusal:
        begin(study)

    assert "try again in an hour" in refusal.value.cure


@pytest.mark.django_db
def test_a_writing_study_has_no_report_but_its_own_page(
    make_writing: MakeWriting, rex: User, sign_in: SignIn
) -> None:
    study = make_writing(2)

    response = sign_in(rex).get(f"/studies/{study.pk}/report/")

    assert response.headers["Location"] == study.get_absolute_url()


@pytest.mark.django_db
def test_the_page_says_that_the_pay_is_for_the_whole_batch(
    make_writing: MakeWriting, rex: User, sign_in: SignIn
) -> None:
    study = make_writing(2, batch=2)
    Study.objects.update(pay_amount=3, pay_currency="EUR")

    assert "3.00 EUR in total" in Client().get(study.get_entry_url()).content.decode()
    assert "3.00 EUR per worker" in sign_in(rex).get(study.get_absolute_url()).content.decode()


@pytest.mark.django_db
def test_a_share_larger_than_the_set_takes_no_places_from_others(make_writing: MakeWriting) -> None:
    # 2 contexts x 5 responses: nobody can write more than 2, so that five people are wanted, not one.
    study = make_writing(2, responses=5, batch=10)
    for _ in range(5):
        assert "agree to take part" in Client().get(study.get_entry_url()).content.decode()
        worker = begin(study)
        write(worker)
        write(worker)

    assert "All places are taken" in Client().get(study.get_entry_url()).content.decode()


@pytest.mark.django_db
def test_a_writing_study_is_made_in_its_form_and_opened(
    make_version: MakeVersion, rex: User, sign_in: SignIn
) -> None:
    version, client = make_version(4), sign_in(rex)
    form = {
        "title": "Answers", "languages": "en", "consent_text": "You write.", "contact": "lab@example.org",
        "pay_amount": "1",
        "pay_currency": "EUR", "expected_minutes": "5", "writing-context_version": str(version.pk),
        "writing-responses_per_context": "2", "writing-batch_size": "4",
    }  # fmt: skip

    made = client.post("/studies/new/?task=writing", form)
    study = Study.objects.get()
    assert (study.task, study.writing.target) == (Writing.key, 8)
    page = client.post(f"/studies/{study.pk}/state/", {"state": "open"}, follow=True).content.decode()

    assert "0 of 8" in page
    assert "0 of 8" in client.get("/studies/").content.decode()
    assert made.url == f"/studies/{study.pk}/"
    changed = client.post(f"/studies/{study.pk}/edit/", form | {"writing-batch_size": "9", "title": "New"})
    assert changed.status_code == 302
    study = Study.objects.get()
    assert (study.title, study.writing.batch_size) == ("New", 4)


@pytest.mark.django_db
def test_a_writing_study_takes_no_set_of_others(
    make_version: MakeVersion, mallory: User, sign_in: SignIn
) -> None:
    form = {
        "title": "Answers", "languages": "en", "consent_text": "You write.", "contact": "lab@example.org",
        "pay_amount": "1",
        "pay_currency": "EUR", "expected_minutes": "5", "writing-responses_per_context": "2",
        "writing-context_version": str(make_version(1).pk), "writing-batch_size": "4",
    }  # fmt: skip

    assert sign_in(mallory).post("/studies/new/?task=writing", form).status_code == 422
    assert Study.objects.count() == 0


@pytest.mark.django_db
def test_a_writing_study_without_contexts_cannot_be_opened(rex: User) -> None:
    study = Study(title="Answers", languages=["en"], task=Writing.key)
    save_study(study, owner=rex, consent_text="You write.", targets={})

    with pytest.raises(ValidationError, match="Choose the contexts"):
        set_state(study.pk, Study.State.OPEN)


@pytest.mark.django_db
def test_a_writing_study_has_no_report(make_writing: MakeWriting, rex: User, sign_in: SignIn) -> None:
    study = make_writing(1)
    write(begin(study))
    study.refresh_from_db()

    assert study.results_version > 0
    assert study not in stale_studies(timezone.now())
    assert sign_in(rex).get(f"/studies/{study.pk}/report/").url == study.get_absolute_url()
    assert sign_in(rex).get(f"/studies/{study.pk}/bundle.zip").status_code == 404


@pytest.mark.django_db(transaction=True)
async def test_each_text_has_its_time(make_writing: MakeWriting) -> None:
    study = await sync_to_async(make_writing)(3, batch=2)
    await Study.objects.filter(pk=study.pk).aupdate(message_minutes=2)
    wanda = await sync_to_async(begin)(study)
    tab = Tab(study, await sync_to_async(lambda: signed(wanda.participation))())
    (item,) = (await tab.opened())["items"]
    (clock,) = (await tab.told())["clocks"]
    assert clock["of"] == "message"
    await wanda.arefresh_from_db()
    before = wanda.step_due_at

    assert (await tab.say(type="write", item=item["key"], text="Good day"))["type"] == "written"

    assert (await tab.told())["type"] == "standing"
    await wanda.arefresh_from_db()
    assert before
    assert wanda.step_due_at
    assert wanda.step_due_at > before
    await tab.closed()


@pytest.mark.django_db
def test_the_studys_page_says_how_many_responses_are_planned(
    make_writing: MakeWriting, rex: User, sign_in: SignIn
) -> None:
    study = make_writing()
    planned = study.writing.context_version.size * study.writing.responses_per_context
    write(begin(study))

    assert f"1 of {planned}</span>" in sign_in(rex).get(study.get_absolute_url()).content.decode()
