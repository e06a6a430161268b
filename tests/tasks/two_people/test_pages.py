"""The pages of a study of two people: made, opened, entered, waited in; and what it refuses in words."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from tests.conftest import MakeMeeting, MakeStudy
from tests.tasks.two_people.conftest import come
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.crowd.models import Assignment
from turnwise.crowd.running.lobby_queue import enter as wait_in
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.dialogues.services import SeatOccupant, create_dialogue
from turnwise.studies.models import Study
from turnwise.studies.services import clone
from turnwise.tasks.two_people import queries
from turnwise.tasks.two_people.models import TwoPeoplePlan

pytestmark = pytest.mark.django_db

SignIn = Callable[[User], Client]


def filled(**changed: str) -> dict[str, str]:
    return {
        "title": "Small talk of two",
        "languages": "en",
        "consent_text": "You talk with a person.",
        "pay_amount": "2.00",
        "contact": "lab@example.org",
        "pay_currency": "EUR",
        "expected_minutes": "10",
        "min_turns": "4",
        "max_turns": "9",
        "practice": "",
        "asks-rows": "1",
        "asks-0-question_set": "ssa",
        "asks-0-when": "partner_turn:each_turn",
        "asks-0-required": "on",
        "two_people-conversations": "20",
        "two_people-wait_minutes": "3",
        "two_people-alone": "leave",
        "two_people-disclosed": "on",
        "bots-TOTAL_FORMS": "0",
        "bots-INITIAL_FORMS": "0",
    } | changed


def made(client: Client, **changed: str) -> Study | None:
    client.post("/studies/new/?task=two_people", filled(**changed))
    return Study.objects.filter(task="two_people").first()


def test_a_study_is_made_opened_copied_and_entered(rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    study = made(client)
    assert study
    plan = TwoPeoplePlan.objects.get(study=study)
    assert (plan.conversations, plan.wait_minutes, plan.disclosed) == (20, 3, True)
    assert (study.opening_text, study.opening_speaker) == ("", "human")
    page = client.get(study.get_absolute_url()).content.decode()
    assert "Waiting now" in page
    client.post(f"/studies/{study.pk}/state/", {"state": "open"})
    study.refresh_from_db()
    assert study.state == "open"
    assert clone(study, owner=rex).two_people.wait_minutes == 3

    worker = Client()
    welcome = worker.get(study.get_entry_url()).content.decode()
    assert "a person, not a chatbot" in welcome
    consent = study.consent_versions.get()
    worker.post(f"/s/{study.code}/consent/", {"agree": "yes", "consent": str(consent.number)})
    assert "Find a partner" in worker.get(f"/s/{study.code}/instructions/").content.decode()
    lobby = worker.post(f"/s/{study.code}/meet/start/", follow=True)
    shown = lobby.content.decode()
    assert "Waiting for your partner" in shown
    assert "of at most 3 minutes" in shown
    assert "you are paid for the time you waited" in shown


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"two_people-wait_minutes": "0"}, "greater than or equal to 1"),
        ({"two_people-conversations": "-4"}, "greater than or equal to"),
        ({"two_people-alone": "wait"}, "not one of the available choices"),
        ({"asks-0-question_set": ""}, "Nothing is asked"),
        ({"max_turns": "2"}, "must leave room"),
    ],
)
def test_an_impossible_study_is_refused_with_a_message(
    rex: User, sign_in: SignIn, changed: dict[str, str], says: str
) -> None:
    answer = sign_in(rex).post("/studies/new/?task=two_people", filled(**changed))

    assert says in answer.content.decode()
    assert not Study.objects.exists()


def test_bots_for_workers_without_a_partner_must_be_chosen(rex: User, sign_in: SignIn, study: Study) -> None:
    client = sign_in(rex)
    draft = made(client, **{"two_people-alone": "bot"})
    assert draft

    said = client.post(f"/studies/{draft.pk}/state/", {"state": "open"}, follow=True).content.decode()

    assert "Choose at least one active bot" in said
    draft.refresh_from_db()
    assert draft.state == "draft"
    bot = Bot.objects.get(name="scripty")
    chosen = {"bots-TOTAL_FORMS": "1", "bots-0-bot": str(bot.pk), "bots-0-chosen": "on", "bots-0-target": "7"}
    client.post(f"/studies/{draft.pk}/edit/", filled(**{"two_people-alone": "bot"} | chosen))
    assert draft.study_bots.get().target == 7


def test_the_study_is_full_once_enough_people_talk_or_wait(make_meeting: MakeMeeting) -> None:
    study = make_meeting(conversations=1)
    now = timezone.now()
    first, second = come(study), come(study)
    assert not queries.is_full(study, now=now)
    wait_in(first, tab=uuid4(), now=now)
    assert not queries.is_full(study, now=now)
    create_dialogue(study, SeatOccupant(assignment=first), SeatOccupant(assignment=second), now=now)

    shown = queries.progress(study, now=now)
    assert (shown.finished, shown.open, shown.wanted) == (0, 1, 1)
    worker = Client()
    worker.post(f"/s/{study.code}/consent/", {"agree": "yes", "consent": "1"})
    assert "All places are taken" in worker.post(f"/s/{study.code}/meet/start/", follow=True).content.decode()

    Dialogue.objects.update(ending="partner_left", ended_at=now)  # which counts for nothing
    assert not queries.is_full(study, now=now)


@pytest.mark.parametrize("disclosed", [True, False])
def test_the_chat_page_describes_the_partner(make_meeting: MakeMeeting, disclosed: bool) -> None:
    study = make_meeting(disclosed=disclosed)
    worker = Client()
    worker.post(f"/s/{study.code}/consent/", {"agree": "yes", "consent": "1"})
    worker.post(f"/s/{study.code}/meet/start/")
    own = Assignment.objects.get()
    create_dialogue(
        study, SeatOccupant(assignment=own), SeatOccupant(assignment=come(study)), now=timezone.now()
    )

    page = worker.get(f"/s/{study.code}/meet/").content.decode()

    assert ("a person, not a chatbot" in page) is disclosed
    assert ("may be a person or a chatbot" in page) is not disclosed


def test_the_owner_can_read_conversations_of_two_people(
    make_meeting: MakeMeeting, rex: User, sign_in: SignIn
) -> None:
    study = make_meeting()
    dialogue = create_dialogue(
        study, SeatOccupant(assignment=come(study)), SeatOccupant(assignment=come(study)), now=timezone.now()
    )
    for place, text in enumerate(("Hello there", "Good morning")):
        Turn.objects.create(dialogue=dialogue, position=place, text=text, created_at=timezone.now())
    Dialogue.objects.update(turns=2)
    client = sign_in(rex)

    transcript = client.get(f"/dialogues/{dialogue.public_id}/").content.decode()

    assert "Hello there" in transcript
    assert "Good morning" in transcript
    for page in ("", "dialogues/", "monitor/", "participants/", "payments/", "edit/", "opening/"):
        assert client.get(f"/studies/{study.pk}/{page}").status_code == 200, page


def test_other_studies_have_no_lobby(study: Study, make_study: MakeStudy) -> None:
    worker = Client()
    worker.post(f"/s/{study.code}/consent/", {"agree": "yes", "consent": "1"})

    assert worker.post(f"/s/{study.code}/meet/start/").status_code == 404
    assert worker.get(f"/s/{study.code}/meet/").status_code == 302
