"""Studies that ask a researcher's set: which they may choose, and that it stays."""

from html import unescape
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from tests.conftest import MakeStudy
from tests.planted import SignIn
from tests.questions.conftest import TONE
from turnwise.accounts.models import User
from turnwise.bots.services import register_bot
from turnwise.crowd.entry.worker_views import instructions_context
from turnwise.questions.question_sets import questions_json
from turnwise.questions.services import add_version, create_set
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study
from turnwise.studies.services import save_study

pytestmark = pytest.mark.django_db

WHOLE = TONE | {"key": "whole", "title": "Whole", "subjects": ["dialogue"]}
CONTEXTS = TONE | {"key": "contexts", "title": "Contexts", "subjects": ["context"]}


@pytest.fixture
def client(rex: User, sign_in: SignIn) -> Client:
    return sign_in(rex)


def sent(client: Client, key: str, *, task: str = "conversation") -> Any:
    bot = register_bot(
        name="scripty", title="Scripty", adapter="scripted", configuration={"replies": ["Go on."]}
    )
    asked = {
        "asks-rows": "1", "asks-0-question_set": key, "asks-0-required": "on", "question_set": key,
        "asks-0-when": "partner_turn:each_turn" if task == "conversation" else "",
    }  # fmt: skip
    chosen = {
        "bots-TOTAL_FORMS": "1", "bots-INITIAL_FORMS": "1", "bots-0-bot": bot.pk, "bots-0-target": "5",
    }  # fmt: skip
    protocol = {"opening_speaker": "bot", "opening_text": "Hi!", "min_turns": "2", "max_turns": "4"}
    said = {"title": "Own", "languages": "en", "consent_text": "Yes.", "expected_minutes": "5"}
    pay = {"pay_amount": "0", "pay_currency": "USD"}
    return client.post(f"/studies/new/?task={task}", asked | chosen | protocol | said | pay)


def test_the_form_offers_sets_in_groups_the_newest_of_each(client: Client, rex: User, mallory: User) -> None:
    own = create_set(TONE, owner=rex)
    add_version(own.own_set_id, TONE | {"title": "Newer"}, by=rex)
    create_set(TONE | {"key": "private"}, owner=mallory)
    create_set(CONTEXTS, owner=rex)

    chat = client.get("/studies/new/?task=conversation").content.decode()
    judging = client.get("/studies/new/?task=judging").content.decode()

    assert '<optgroup label="Yours">' in chat
    assert ["tone-v2" in chat, "tone-v1" in chat, "private-v1" in chat, "contexts-v1" in chat] == [
        True,
        False,
        False,
        False,
    ]
    assert ["tone-v2" in judging, "contexts-v1" in judging] == [True, True]


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (
            "contexts-v1",
            "“Contexts” is asked about contexts without a response; this study judges single replies, whole",
        ),
        ("whole-v1", "“Whole” can be asked about whole conversations only. Choose other questions"),
        ("private-v1", "There is no question set “private-v1” that you can use."),
        ("nothing", "There is no question set “nothing” that you can use."),
    ],
)
def test_a_set_that_does_not_fit_or_is_not_theirs_is_refused(
    client: Client, rex: User, mallory: User, key: str, said: str
) -> None:
    create_set(WHOLE, owner=rex)
    create_set(CONTEXTS, owner=rex)
    create_set(TONE | {"key": "private"}, owner=mallory)

    answer = sent(client, key)

    assert answer.status_code == 422
    assert said in unescape(answer.content.decode())
    assert not Study.objects.exists()


@pytest.mark.parametrize("task", ["conversation", "judging"])
def test_a_study_is_saved_with_an_own_set(client: Client, rex: User, task: str) -> None:
    create_set(TONE, owner=rex)

    assert sent(client, "tone-v1", task=task).status_code == 302

    assert Study.objects.get().question_set == "tone-v1"
    assert "Tone of a reply (tone-v1)" in client.get(Study.objects.get().get_absolute_url()).content.decode()


def test_the_set_stays_once_the_study_has_been_opened(make_study: MakeStudy, rex: User) -> None:
    own = create_set(TONE, owner=rex)
    study = make_study(question_set="tone-v1")
    add_version(own.own_set_id, TONE | {"title": "Newer"}, by=rex)

    with pytest.raises(ValidationError, match="so its protocol is fixed"):
        save_study(
            study,
            owner=rex,
            consent_text="You talk to a machine.",
            targets={},
            asks=[AskSpec("tone-v2", About.PARTNER_TURN, Moment.EACH_TURN)],
        )

    assert Study.objects.get().question_set == "tone-v1"


def test_workers_read_the_questions_in_the_language_of_the_study(make_study: MakeStudy, rex: User) -> None:
    create_set(TONE, owner=rex)
    study = make_study(question_set="tone-v1", languages=["zh"])

    assert [each["wording"] for each in questions_json("tone-v1", "zh")][:2] == [
        "它礼貌吗?",
        "How warm is it?",
    ]
    assert instructions_context(study, {})["asks"][0]["questions"][0].wording == "它礼貌吗?"
