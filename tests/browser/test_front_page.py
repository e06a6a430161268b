"""The first page for people who are not signed in, and its demo conversation by keyboard."""

import pytest
from playwright.async_api import expect

from tests.browser.conftest import Visit
from turnwise.bots.services import register_bot
from turnwise.dialogues.models import Dialogue

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture
def demo_bots(transactional_db: None) -> None:
    replies = ["I bake bread on Sundays.", "Yes."]
    register_bot(name="generic", title="GenericBot", adapter="generic")
    register_bot(name="scripty", title="Scripty", adapter="scripted", configuration={"replies": replies})


@pytest.mark.usefixtures("demo_bots")
async def test_a_stranger_talks_and_judges_by_keyboard(visit: Visit) -> None:
    visitor = await visit(viewport={"width": 390, "height": 844})
    page = visitor.page
    await visitor.go("/")
    await expect(page.get_by_role("heading", name="Try it for a minute")).to_be_visible()
    assert await page.evaluate("[scrollY, document.activeElement.tagName]") == [0, "BODY"]
    assert await visitor.flaws_at(1280, 320) == []

    box, result = page.get_by_label("Your message"), page.get_by_role("status")
    await expect(page.get_by_role("button", name="Send")).to_be_enabled()
    for number, (sensible, specific) in enumerate([("Yes", "No"), ("Yes", "Yes"), ("No", ""), ("Yes", "No")]):
        await box.fill("What do you do today?")
        await page.keyboard.press("Enter")
        await expect(page.locator("#demo-turns li.is-bot")).to_have_count(number + 1)
        for wording, answer in (("Does it make sense?", sensible), ("Is it specific?", specific)):
            if answer:
                await expect(page.get_by_role("group", name=wording)).to_be_visible()
                await page.get_by_role("group", name=wording).get_by_role("button", name=answer).focus()
                await page.keyboard.press("Enter")
        await expect(page.get_by_role("group")).to_have_count(0)
        await expect(box).to_be_focused()
    # Three of four replies made sense, one of four was specific.
    await expect(result).to_have_text(
        "Sensible 75\u00a0%, specific 25\u00a0%: their mean, SSA, is 50\u00a0%."
    )
    assert await visitor.flaws_at(1280, 320) == []

    await box.fill("Bye")
    await page.keyboard.press("Enter")
    await page.get_by_role("group").get_by_role("button", name="No").click()
    await expect(result).to_contain_text("A study asks many people")
    await expect(box).to_be_hidden()
    await page.get_by_role("button", name="Start over").click()
    await expect(box).to_be_focused()
    await expect(page.locator("#demo-turns li")).to_have_count(0)
    assert not await Dialogue.objects.aexists()
