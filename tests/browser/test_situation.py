"""The worker's situation beside the chat: a column on a wide page, a fold on a phone."""

import pytest
from asgiref.sync import sync_to_async
from playwright.async_api import expect

from tests.browser.conftest import Visit
from tests.chatbots.growing import LONG
from tests.conftest import MakeStudy

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SCENARIO = "You are in a tea shop in <Lisbon>.\nYou look for a present, and have 20 euros.\n\nBe friendly."
TOP_OF_REPLY = "document.querySelector('.turn--bot:last-child').getBoundingClientRect().top"
BOTTOM_OF_FOLD = "document.querySelector('#situation').getBoundingClientRect().bottom"


async def test_it_stands_beside_the_chat(visit: Visit, make_study: MakeStudy) -> None:
    wanda = await visit(color_scheme="dark")
    study = await sync_to_async(make_study)(scenario=SCENARIO)
    await wanda.start(study)
    situation = wanda.page.locator("#situation")

    await expect(situation).to_contain_text("tea shop in <Lisbon>")
    chat = await wanda.page.locator("#chat").bounding_box()
    beside = await situation.bounding_box()
    assert chat
    assert beside
    assert beside["x"] >= chat["x"] + chat["width"]
    await wanda.exchange("Hello", "No")
    await expect(situation.get_by_text("20 euros")).to_be_in_viewport()
    assert await wanda.flaws_at(1280, 1024) == []


async def test_on_a_phone_it_folds_once_the_conversation_has_begun(
    visit: Visit, make_study: MakeStudy
) -> None:
    phone = await visit(viewport={"width": 320, "height": 700}, has_touch=True, is_mobile=True)
    study = await sync_to_async(make_study)(
        scenario=SCENARIO, script={"replies": [LONG[:3000].strip(), "Yes."]}
    )
    await phone.start(study)
    text = phone.page.locator(".situation__text")
    await expect(text).to_be_visible()
    assert await phone.fits()

    await phone.say("Hello")
    await expect(phone.open_question).to_be_visible()
    await expect(text).to_be_hidden()
    # The beginning of the reply stands below the fold, not under it.
    assert await phone.page.evaluate(TOP_OF_REPLY) >= await phone.page.evaluate(BOTTOM_OF_FOLD)

    await phone.page.get_by_text("Your situation").click()
    await expect(text).to_be_in_viewport()
    await phone.to_the_end()
    await phone.answer("No")
    await phone.exchange("And now?", "No")
    await expect(text).to_be_visible()  # whoever unfolded it may read on
    assert await phone.flaws_at(320) == []


async def test_without_a_scenario_nothing_stands_there(visit: Visit, make_study: MakeStudy) -> None:
    wanda = await visit()
    await wanda.start(await sync_to_async(make_study)())

    await expect(wanda.page.locator("#situation")).to_have_count(0)
