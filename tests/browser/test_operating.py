"""One operator, two people at once who take them for a chatbot, on the real server."""

import re

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import Client
from playwright.async_api import expect

from tests.browser.conftest import Visit
from turnwise.accounts.models import User
from turnwise.bots.services import register_bot
from turnwise.dialogues.models import Seat, Turn
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study
from turnwise.studies.services import save_study, set_state

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


def make_wizard(owner: User) -> Study:
    bot = register_bot(
        name="wizard",
        title="Wizard",
        adapter="operator",
        configuration={
            "prepared": ["Hello there!", "Let me look that up."],
            "instructions": "Be brief.",
            "seconds": 0.2,
            "seconds_per_character": 0,
        },
        owner=owner,
    )
    study = Study(
        title="Oz", languages=["en"], practice=False, min_turns=2, max_turns=6, debriefing="It was a person."
    )
    asks = [AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN)]
    save_study(study, owner=owner, consent_text="You talk to a machine.", targets={bot: 10}, asks=asks)
    return set_state(study.pk, Study.State.OPEN)


async def test_one_operator_answers_two_people_at_once(visit: Visit, rex: User) -> None:
    study = await sync_to_async(make_wizard)(rex)
    wanda, walter = await visit(), await visit()
    await wanda.go(study.get_entry_url())
    await expect(wanda.page.get_by_text("The chatbots are not running")).to_be_visible()
    oz = await visit()
    client = Client()
    await sync_to_async(client.force_login)(rex)
    name = settings.SESSION_COOKIE_NAME
    signed_in = client.cookies[name].value
    await oz.page.context.add_cookies([{"name": name, "value": signed_in, "url": oz.site}])
    await oz.go("/bots/wizard/operate/")
    await expect(oz.page.get_by_text("Nobody is here yet.")).to_be_visible()
    assert await oz.flaws() == []

    for worker in (wanda, walter):
        await worker.start(study)
    await wanda.say("Where is the station?")
    await expect(oz.page).to_have_title(re.compile(r"^\(1\) "))
    await walter.say("Are you a robot?")
    await expect(oz.page.locator("#waiting")).to_have_text("2 wait for a reply")
    await expect(oz.page.locator(".queue__said")).to_have_text(["Where is the station?", "Are you a robot?"])

    await oz.page.keyboard.press("Alt+j")
    await expect(oz.page.locator("#turns .turn__text")).to_have_text(["Hi!", "Where is the station?"])
    await oz.page.keyboard.press("Alt+2")
    message = oz.page.get_by_role("textbox", name="Your reply")
    await expect(message).to_have_value("Let me look that up.")
    assert await oz.flaws() == []
    await message.press_sequentially(" It is near.")
    await message.press("Enter")
    await oz.page.keyboard.press("Alt+j")
    await expect(oz.page.locator("#turns .turn__text")).to_have_text(["Hi!", "Are you a robot?"])
    await message.fill("Who knows?")
    await message.press("Enter")

    for worker, said in ((wanda, "Let me look that up. It is near."), (walter, "Who knows?")):
        await expect(worker.bubbles).to_have_count(3)
        assert (await worker.texts())[-1] == said
        await worker.answer("Yes", "No")
        await worker.finish()
        await expect(worker.page.get_by_text("It was a person.")).to_be_visible()
    await expect(oz.page.get_by_text("This conversation is over")).to_be_visible()
    spoke = Seat.objects.filter(bot__name="wizard").values_list("operator__username", "dialogue__ending")
    assert [each async for each in spoke] == [("rex", "complete")] * 2
    assert await Turn.objects.filter(bot_version__bot__name="wizard").acount() == 2
