"""Variables of system prompts: what a study gives to its bots, shows to people, and says in its bundle."""

import pytest
from asgiref.sync import sync_to_async

from chatbots.base import Setting
from tests.conftest import MakeStudy, OpenTab, start_dialogue
from tests.outcome_bot import CONTEXTS, register_outcome_bot, replies_of_all_bots
from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.bots.hosting.remote import decode_context, encode_context
from turnwise.bots.services import register_bot
from turnwise.exports.bundle import describe_study

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
