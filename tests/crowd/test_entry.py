"""The way of a worker through the pages, over HTTP."""

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from tests.conftest import MakeQueue, MakeStudy, enter
from turnwise.bots.models import Bot
from turnwise.crowd.entry.sessions import COOKIE
from turnwise.crowd.models import Assignment, Outcome, Participation, StudyPanel, Worker
from turnwise.crowd.panels.study_panels import save_panels
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.places.ending import complete
from turnwise.crowd.places.reservation import keep_place
from turnwise.studies.models import Study
from turnwise.studies.services import set_state

COMPLETE = Outcome.COMPLETE


PROLIFIC = "PROLIFIC_PID=5f2c9d"


def agree(client: Client, study: Study, link: str = "", **fields: str) -> Any:
    """Open the link, with this query if any, and agree on the page."""
    sent = {"agree": "yes", "consent": "1", **fields}
    if link:
        page = client.get(f"/s/{study.code}/?{link}").content.decode()
        carried = re.search(r'name="arrival" value="([^"]+)"', page)
        assert carried, page
        sent["arrival"] = carried[1]
    return client.post(f"/s/{study.code}/consent/", sent)


@pytest.fixture
def study(study: Study) -> Study:
    """One that takes whoever has the link, and people from Prolific."""
    return taking(study)


def taking(study: Study) -> Study:
    rows = [StudyPanel(panel="open"), StudyPanel(panel="prolific", codes={"complete": "C0MPLETE"})]
    save_panels(study, rows, closed_to=())
    return study


def test_a_worker_goes_from_the_link_to_the_chat(study: Study) -> None:
    client = Client()

    welcome = client.get(f"/s/{study.code}/")
    consented = agree(client, study)
    instructions = client.get(consented.headers["Location"])
    started = client.post(f"/s/{study.code}/start/")
    chat = client.get(started.headers["Location"])

    assert "experimental chatbot" in welcome.content.decode()
    assert "You talk to a machine." in welcome.content.decode()
    assert "tennis" in instructions.content.decode()
    assert re.search(r'"socket": "/ws/dialogues/[0-9a-f-]{36}/"', chat.content.decode())
    assert "Scripty" not in chat.content.decode()


def test_a_panel_may_check_the_link_without_reading_the_page(study: Study) -> None:
    assert Client().head(f"/s/{study.code}/").status_code == 200


def test_an_open_study_shows_the_name_of_the_bot(make_study: MakeStudy) -> None:
    study = make_study(blind=False)
    client = Client()
    agree(client, study)

    assert "Scripty" in client.post(f"/s/{study.code}/start/", follow=True).content.decode()


def test_the_cookie_is_hidden_from_scripts_and_other_sites(study: Study) -> None:
    client = Client()
    agree(client, study)

    cookie = client.cookies[COOKIE]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert int(cookie["max-age"]) > 30 * 24 * 3600


@pytest.mark.parametrize("path", ["", "instructions/", "chat/"])
def test_a_returning_worker_continues_where_they_were(study: Study, path: str) -> None:
    client = Client()
    agree(client, study)
    client.post(f"/s/{study.code}/start/")

    assert client.get(f"/s/{study.code}/", follow=True).request["PATH_INFO"] == f"/s/{study.code}/chat/"
    assert client.get(f"/s/{study.code}/{path}", follow=True).status_code == 200


def test_consent_twice_is_one_participation(study: Study) -> None:
    client = Client()
    agree(client, study)
    agree(client, study)

    assert Participation.objects.count() == Worker.objects.count() == 1


def test_without_agreement_nothing_is_stored(study: Study) -> None:
    response = Client().post(f"/s/{study.code}/consent/", {"consent": "1"})

    assert response.status_code == 422
    assert "tick that you agree" in response.content.decode()
    assert Worker.objects.count() == 0


def test_consent_to_a_text_that_changed_meanwhile_is_asked_again(study: Study) -> None:
    response = agree(Client(), study, consent="7")

    assert response.status_code == 422
    assert "has changed" in response.content.decode()


def test_a_resume_code_continues_on_another_device(study: Study) -> None:
    phone, laptop = Client(), Client()
    agree(phone, study)
    code = Participation.objects.get().resume_code

    response = laptop.post(f"/s/{study.code}/resume/", {"code": code.lower().replace("-", " ")})

    assert response.headers["Location"] == f"/s/{study.code}/instructions/"
    assert laptop.get(response.headers["Location"]).status_code == 200
    assert Worker.objects.count() == 1


@pytest.mark.parametrize("code", ["", "AAAAA-AAAAA", "x" * 5000, "'; DROP TABLE crowd_worker; --"])
def test_a_wrong_resume_code_is_explained(study: Study, code: str) -> None:
    response = Client().post(f"/s/{study.code}/resume/", {"code": code})

    assert response.status_code == 422
    assert "Codes look like" in response.content.decode()


def test_a_mistyped_resume_code_can_be_corrected_where_it_was_typed(study: Study) -> None:
    page = Client().post(f"/s/{study.code}/resume/", {"code": 'ABCDE-"FGHJ'}).content.decode()

    box = re.search(r'<input id="code"[^>]*>', page)
    assert box
    assert 'value="ABCDE-&quot;FGHJ"' in box[0]
    assert "autofocus" in box[0]  # the box is far below the fold on a phone


def test_without_consent_the_page_leads_to_the_checkbox(study: Study) -> None:
    page = Client().post(f"/s/{study.code}/consent/", {"consent": "1"}).content.decode()

    assert re.search(r'<input type="checkbox" id="agree"[^>]* autofocus', page)


@pytest.mark.usefixtures("one_minute")
def test_guesses_of_resume_codes_are_rate_limited(study: Study) -> None:
    client = Client(REMOTE_ADDR="198.51.100.7")
    statuses = [
        client.post(f"/s/{study.code}/resume/", {"code": "AAAAA-AAAAA"}).status_code for _ in range(21)
    ]

    assert statuses[0] == 422
    assert statuses[-1] == 429


def test_a_panel_names_its_worker_in_the_link(study: Study) -> None:
    agree(Client(), study, PROLIFIC)

    worker = Worker.objects.get()
    assert (worker.panel, worker.panel_id) == ("prolific", "5f2c9d")


def at_work(study: Study) -> None:
    """The worker has sent something."""
    keep_place(Assignment.objects.get(participation__study=study).pk)


def test_knowing_a_panel_id_does_not_open_its_owners_work(study: Study) -> None:
    owner = Client()
    agree(owner, study, PROLIFIC)
    owner.post(f"/s/{study.code}/start/")
    at_work(study)

    response = agree(Client(), study, PROLIFIC)

    assert response.status_code == 409
    assert "resume code" in response.content.decode()
    assert COOKIE not in response.cookies


def test_using_a_panel_id_first_without_work_does_not_lock_out_its_owner(study: Study) -> None:
    thief, owner = Client(), Client()
    agree(thief, study, PROLIFIC)
    thief.post(f"/s/{study.code}/start/")

    assert agree(owner, study, PROLIFIC).status_code == 302

    assert owner.post(f"/s/{study.code}/start/", follow=True).status_code == 200
    assert thief.get(f"/s/{study.code}/chat/").status_code == 401


def test_a_lost_answer_to_the_consent_form_can_be_requested_again(study: Study) -> None:
    """As after a second click on the button, or a line that broke."""
    first, second = Client(), Client()
    agree(first, study, PROLIFIC)

    assert agree(second, study, PROLIFIC).status_code == 302

    assert second.post(f"/s/{study.code}/start/", follow=True).status_code == 200
    assert first.get(f"/s/{study.code}/chat/").status_code == 401
    assert first.post(f"/s/{study.code}/start/").status_code == 401
    assert Participation.objects.count() == Worker.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_worker_who_agrees_many_times_at_once_takes_part_once(study: Study) -> None:
    with ThreadPoolExecutor(5) as clicks:
        answers = list(clicks.map(lambda _: _agree_in_a_thread(study, PROLIFIC), range(5)))

    assert [answer.status_code for answer in answers] == [302] * 5
    assert Participation.objects.count() == Worker.objects.count() == 1


def _agree_in_a_thread(study: Study, link: str) -> Any:
    try:
        return agree(Client(), study, link)
    finally:
        connection.close()


@pytest.mark.parametrize("panel", ["PROLIFIC_PID=5f2c9d", ""])
def test_a_known_panel_id_in_one_study_opens_no_other(make_study: MakeStudy, panel: str) -> None:
    first, second = taking(make_study(title="First")), taking(make_study(title="Second"))
    owner, other = Client(), Client()
    agree(owner, first, PROLIFIC)
    owner.post(f"/s/{first.code}/start/")
    at_work(first)

    agree(other, second, PROLIFIC)

    assert other.get(f"/s/{second.code}/instructions/").status_code == 200
    assert other.get(f"/s/{first.code}/chat/").status_code == 401
    assert other.get(f"/s/{first.code}/thanks/").status_code == 401
    assert agree(other, first, panel=panel).status_code == 409
    assert Worker.objects.count() == 1


def test_a_worker_of_two_studies_keeps_both_in_one_browser(make_study: MakeStudy) -> None:
    first, second = make_study(title="First"), make_study(title="Second")
    client = Client()
    for study in (first, second):
        agree(client, study)

    assert client.get(f"/s/{first.code}/instructions/").status_code == 200
    assert client.get(f"/s/{second.code}/instructions/").status_code == 200
    assert Worker.objects.count() == 1


def test_the_next_worker_on_a_shared_computer_starts_a_new_session(study: Study) -> None:
    client = Client()
    agree(client, study, "PROLIFIC_PID=wanda")

    again = client.get(f"/s/{study.code}/?PROLIFIC_PID=wanda")
    other = client.get(f"/s/{study.code}/?PROLIFIC_PID=willy")
    agree(client, study, "PROLIFIC_PID=willy")

    assert again.status_code == 302
    assert "Your consent" in other.content.decode()
    assert [worker.panel_id for worker in Worker.objects.order_by("pk")] == ["wanda", "willy"]


@pytest.mark.parametrize("path", ["", "instructions/", "chat/", "thanks/"])
def test_an_unknown_study_gets_an_explanation(db: None, path: str) -> None:
    response = Client().get(f"/s/nosuchcode/{path}")

    assert response.status_code == 404
    assert "does not lead to a study" in response.content.decode()


@pytest.mark.parametrize("other", ["write/start", "judge/start"])
def test_a_conversation_study_starts_no_other_work(study: Study, other: str) -> None:
    client = Client()
    agree(client, study)
    client.post(f"/s/{study.code}/start/")

    assert client.post(f"/s/{study.code}/{other}/").status_code == 404


def test_a_judging_study_starts_no_conversation(make_queue: MakeQueue) -> None:
    study = make_queue(1)
    client = Client()
    agree(client, study)
    client.post(f"/s/{study.code}/judge/start/")

    assert client.post(f"/s/{study.code}/start/").status_code == 404


def test_a_closed_study_admits_no_new_worker(study: Study) -> None:
    set_state(study.pk, Study.State.CLOSED)
    client = Client()

    assert client.get(f"/s/{study.code}/").status_code == 403
    assert agree(client, study).status_code == 403
    assert Worker.objects.count() == 0


def test_a_full_study_says_so_on_its_first_page(make_study: MakeStudy) -> None:
    study = make_study({"only": 1})
    inside = Client()
    agree(inside, study)
    inside.post(f"/s/{study.code}/start/")

    page = Client().get(f"/s/{study.code}/")

    assert page.status_code == 409
    assert "try again in an hour" in page.content.decode()
    assert "resume code" in page.content.decode()
    assert inside.get(f"/s/{study.code}/").headers["Location"] == f"/s/{study.code}/chat/"


def test_a_study_with_all_conversations_done_offers_nothing(make_study: MakeStudy) -> None:
    study = make_study({"one": 1, "two": 1})
    for _ in range(2):
        assign(enter(study).pk)
    Bot.objects.filter(name="two").update(active=False)  # nobody gets its place, who ever leaves it
    assert "again in an hour" in Client().get(f"/s/{study.code}/").content.decode()

    complete(Assignment.objects.get(study_bot__bot__name="one").pk, COMPLETE, now=timezone.now())

    page = Client().get(f"/s/{study.code}/").content.decode()
    assert "All places are taken" in page
    assert "in an hour" not in page


def test_workers_are_asked_to_come_back_while_all_bots_are_off(make_study: MakeStudy) -> None:
    study = make_study({"one": 1, "two": 1})
    agreed, arrival = Client(), Client()
    agree(agreed, study)
    assign(enter(study).pk)  # with the first; the second has room
    Bot.objects.update(active=False)

    page = arrival.get(f"/s/{study.code}/")
    assert page.status_code == 503
    assert "The chatbots are not running" in page.content.decode()
    assert "All places are taken" not in page.content.decode()
    assert agree(Client(), study).status_code == 503
    start = agreed.post(f"/s/{study.code}/start/")
    assert start.status_code == 503
    assert "Your place in the study is kept" in start.content.decode()

    Bot.objects.update(active=True)
    assert arrival.get(f"/s/{study.code}/").status_code == 200
    assert agreed.post(f"/s/{study.code}/start/").headers["Location"] == f"/s/{study.code}/chat/"


def test_a_full_study_says_so_at_the_start(make_study: MakeStudy) -> None:
    study = make_study({"only": 1})
    first, second = Client(), Client()
    for client in (first, second):
        agree(client, study)
    first.post(f"/s/{study.code}/start/")

    response = second.post(f"/s/{study.code}/start/")

    assert response.status_code == 409
    assert "places are taken" in response.content.decode()
    assert "try again in an hour" in response.content.decode()

    complete(Assignment.objects.get().pk, COMPLETE, now=timezone.now())
    response = second.post(f"/s/{study.code}/start/")

    assert response.status_code == 409
    assert "There is nothing left for you to do here." in response.content.decode()
    assert "in an hour" not in response.content.decode()


@pytest.mark.parametrize("cookie", ["", "forged", "eyJ3b3JrZXIiOjF9:1abc:def"])
@pytest.mark.parametrize("path", ["instructions/", "chat/", "thanks/"])
def test_a_forged_session_is_refused_with_an_explanation(study: Study, path: str, cookie: str) -> None:
    client = Client()
    client.cookies[COOKIE] = cookie

    response = client.get(f"/s/{study.code}/{path}")

    assert response.status_code == 401
    assert "your work is safe" in response.content.decode()


def test_the_completion_code_is_shown_only_at_the_end(study: Study) -> None:
    client = Client()
    agree(client, study)
    client.post(f"/s/{study.code}/start/")

    response = client.get(f"/s/{study.code}/thanks/", follow=True)

    assert response.request["PATH_INFO"] == f"/s/{study.code}/chat/"
    assert Participation.objects.get().completion_code not in response.content.decode()
