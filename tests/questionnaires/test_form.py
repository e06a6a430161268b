"""Which questions about the person a study asks is chosen with the study, and stays once it is open."""

from typing import Any

import pytest
from django.test import Client

from tests.conftest import MakeQueue, MakeStudy, MakeWriting
from tests.questionnaires.test_path import HOW, SSA, WHO
from tests.studies.test_studies import FORM
from turnwise.studies.models import Study

CHOSEN = {
    "people-rows": "3",
    "people-0-question_set": "feedback", "people-0-when": "person:after_work",
    "people-1-question_set": "demographics", "people-1-when": "person:before_work", "people-1-required": "on",
    "people-2-question_set": "", "people-2-when": "",
}  # fmt: skip


@pytest.fixture
def researcher(rex: Any, sign_in: Any) -> Client:
    client: Client = sign_in(rex)
    return client


def test_a_new_study_asks_people_about_themselves(researcher: Client, bot: Any) -> None:
    page = researcher.get("/studies/new/?task=conversation").content.decode()
    assert "Questions about the people" in page
    assert "Age, gender, language, and use of chatbots" in page

    made = researcher.post("/studies/new/", {**FORM, "bots-0-bot": bot.pk, **CHOSEN})

    assert made.status_code == 302
    study = Study.objects.latest("pk")
    assert [each.declared for each in study.every_ask] == [SSA, WHO, HOW]
    edited = researcher.get(f"/studies/{study.pk}/edit/").content.decode()
    assert edited.count('value="person:before_work" selected') == 1
    told = researcher.get(f"/studies/{study.pk}/opening/").content.decode()
    assert "“demographics”" in told or "Age, gender, language" in told


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"people-0-when": ""}, "Choose when these questions are asked."),
        ({"people-0-question_set": "ssa"}, "is asked about single replies"),
        ({"people-0-when": "partner_turn:each_turn"}, "Select a valid choice"),
        ({"people-0-question_set": "demographics"}, "this is asked twice"),
    ],
)
def test_an_unsuitable_questionnaire_is_refused_with_a_message(
    researcher: Client, bot: Any, wrong: dict[str, str], says: str
) -> None:
    sent = {**FORM, "bots-0-bot": bot.pk, **CHOSEN, **wrong}

    response = researcher.post("/studies/new/", sent)

    assert response.status_code == 422
    assert says in response.content.decode()


def test_questionnaires_are_fixed_once_the_study_is_open(researcher: Client, make_study: MakeStudy) -> None:
    study = make_study(asks=[SSA, WHO])

    page = researcher.get(f"/studies/{study.pk}/edit/").content.decode()

    assert 'name="people-0-question_set"' in page
    assert 'name="people-1-question_set"' not in page
    copy = researcher.post(f"/studies/{study.pk}/clone/", follow=True)
    assert copy.status_code == 200
    assert [each.declared for each in Study.objects.latest("pk").every_ask] == [SSA, WHO]


def test_readers_and_writers_can_get_questionnaires(
    researcher: Client, make_queue: MakeQueue, make_writing: MakeWriting
) -> None:
    for study in (make_queue(2), make_writing()):
        study.state = Study.State.DRAFT
        study.save()
        page = researcher.get(f"/studies/{study.pk}/edit/")
        assert b"Questions about the people" in page.content
