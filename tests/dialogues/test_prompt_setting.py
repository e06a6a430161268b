"""Variables of system prompts: what a study gives to its bots, shows to people, and says in its bundle."""

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from chatbots.base import Setting
from tests.conftest import MakeMeeting, MakeStudy, OpenTab, session_cookie, start_dialogue, worker_of
from tests.outcome_bot import CONTEXTS, register_outcome_bot, replies_of_all_bots
from tests.planted import SignIn
from tests.studies.test_presets import called
from turnwise.accounts.models import User
from turnwise.bots.hosting.remote import decode_context, encode_context
from turnwise.bots.services import register_bot
from turnwise.crowd.entry.sessions import COOKIE
from turnwise.exports.bundle import describe_study
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)
SCENARIO, PERSONA = "You are in a tea shop.", "Ada, who sells tea"


@pytest.fixture(autouse=True)
def _outcome_bot_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    register_outcome_bot(monkeypatch)


async def test_a_conversation_gives_the_bot_what_its_study_decides(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    study = await sync_to_async(make_study)(scenario=SCENARIO, persona=PERSONA, languages=["de"])
    await sync_to_async(replies_of_all_bots)({"text": "Guten Tag."})

    tab = await open_tab(await sync_to_async(start_dialogue)(study))
    await tab.say("Hallo")

    assert CONTEXTS[-1].setting == Setting("German", SCENARIO, PERSONA)
    assert decode_context(encode_context(CONTEXTS[-1])) == CONTEXTS[-1]  # as hosts elsewhere get it


def test_the_bundle_says_what_was_filled_in(make_study: MakeStudy) -> None:
    study = make_study(scenario=SCENARIO, persona=PERSONA)

    protocol = describe_study(study)["protocol"]

    assert (protocol["scenario"], protocol["persona"]) == (SCENARIO, PERSONA)


def test_the_preview_shows_the_filled_prompt_and_the_form_names_an_unknown_variable(
    rex: User, sign_in: SignIn
) -> None:
    browser = sign_in(rex)
    sent = {
        "name": "b", "title": "B", "setting-base_url": "https://api.example.org/v1", "setting-model": "m",
        "setting-system": 'Be {persona} in {language}. Answer as {"a": {}}.', "preview": "messages",
    }  # fmt: skip

    shown = browser.post("/bots/new/openai-chat/", sent).content.decode()
    refused = browser.post(
        "/bots/new/openai-chat/", sent | {"setting-system": "Speak {langauge}.", "preview": ""}
    )

    assert "Be Example of the persona that a study gives to the bot. in English." in shown
    assert "{langauge}" in refused.content.decode()
    assert "{language}, {scenario}, {persona}, {material}" in refused.content.decode()


def test_the_registered_template_is_kept_as_typed(rex: User) -> None:
    """Its values stand with the study, so an export has both."""
    bot = register_bot(
        name="b", title="B", adapter="openai-chat", owner=rex,
        configuration={"base_url": "https://api.example.org/v1", "model": "m", "system": "In {language}."},
    )  # fmt: skip

    assert bot.configuration["system"] == "In {language}."


def test_the_pages_of_a_conversation_show_the_scenario_and_not_the_persona(make_study: MakeStudy) -> None:
    dialogue = start_dialogue(make_study(scenario=SCENARIO, persona=PERSONA))
    worker = Client()
    worker.cookies[COOKIE] = session_cookie(worker_of(dialogue))
    address = dialogue.study.get_entry_url()

    chat = worker.get(f"{address}chat/").content.decode()
    instructions = worker.get(f"{address}instructions/").content.decode()

    for page in (chat, instructions):
        assert "Your situation" in page
        assert SCENARIO in page
        assert "Ada" not in page


def test_the_preview_has_the_situation(make_study: MakeStudy, rex: User, sign_in: SignIn) -> None:
    study = make_study(scenario=SCENARIO)

    page = sign_in(rex).get(f"/studies/{study.pk}/preview/work/").content.decode()

    assert '<details class="situation"' in page


@pytest.mark.parametrize("task", ["conversation", "two_people", "self_play"])
def test_the_api_takes_scenario_and_persona_where_somebody_talks(rex: User, task: str) -> None:
    sent = {"title": "By API", "task": task, "scenario": SCENARIO, "persona": PERSONA}

    made = called(rex, "POST", "/api/studies", sent)

    assert made.status_code == 201, made.content
    study = Study.objects.get(code=made.json()["code"])
    assert (study.scenario, study.persona) == (SCENARIO, PERSONA)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"task": "judging", "scenario": SCENARIO}, "leave out scenario"),
        ({"scenario": "x" * 2001}, "2000"),
        ({"persona": "x" * 4001}, "4000"),
    ],
)
def test_the_api_refuses_what_no_bot_or_person_could_get(rex: User, sent: dict[str, str], said: str) -> None:
    made = called(rex, "POST", "/api/studies", {"title": "By API"} | sent)

    assert made.status_code == 422
    assert said in made.content.decode()


def test_two_people_read_it_and_a_bot_for_a_lonely_one_gets_it(
    make_meeting: MakeMeeting, rex: User, sign_in: SignIn
) -> None:
    study = make_meeting(scenario=SCENARIO, persona=PERSONA)

    form = sign_in(rex).get(f"/studies/{study.pk}/edit/").content.decode()
    overview = sign_in(rex).get(f"/studies/{study.pk}/").content.decode()

    assert 'name="scenario"' in form
    assert 'name="persona"' in form
    assert SCENARIO in overview
    assert PERSONA in overview
